const a: number = 1;
console.log(a as number);
