try {
  null.x;
} catch (error) {
  throw new Error("loading failed", { cause: error });
}
