// A part of the training, and what it has learned of digits that it has not seen.
const { accuracy } = await import(process.env.EXAMPLE);
console.log(accuracy >= 0.6 ? "learned" : `only ${accuracy}`);
