"use yield";
const { steps, step } = bench;
for (let i = 0; i < steps; i++) step();
