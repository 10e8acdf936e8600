"use yield";
const { steps, step } = bench;
bench.begin();
for (let i = 0; i < steps; i++) step();
bench.end();
