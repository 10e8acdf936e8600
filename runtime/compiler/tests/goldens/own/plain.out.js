// Code that only computes.
$own.module(() => {});function fib(n) {
  let a = 0, b = 1;
  for (let i = 0; i < n; i++) {
    const t = a + b;
    a = b;
    b = t;
  }
  return a * 2;
/*$own*/}
export const size = (xs, i) => (xs[i] * xs.length + fib(i)/*$own*/);

import * as $own from "ext:mlrun/ownership.js";