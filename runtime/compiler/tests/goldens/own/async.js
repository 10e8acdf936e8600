export async function task(x, n) {
  let acc = x;
  for (let i = 0; i < n; i++) acc = acc.add(await next(i));
  return acc;
}
export function* batches(x, n) {
  for (let i = 0; i < n; i++) yield x.narrow(0, i, 1);
}
