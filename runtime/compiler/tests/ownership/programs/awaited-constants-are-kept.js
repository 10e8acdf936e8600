// What an await gives is dropped behind its statement: a constant that outlives that, since closures or
// importers have it, keeps a count of its own.
import { full } from "mlrun";
const { print } = globalThis.harness;

const later = [];
const task = async (x) => { await null; return x.add(1); };
const guarded = async (x) => {
  const y = x.add(1);
  try { throw y; } catch (e) { return e.add(x); } finally { print(y); }
};

const a = await task(full([2], 1));
later.push(() => a);
export const b = await guarded(full([2], 2));
const promise = task(full([2], 3));
const c = await promise;
later.push(() => c);
{
  const d = (0, await task(a)), e = a ? await task(b) : b, f = (await task(c)).add(1);
  later.push(() => d, () => e.add(f));
}
async function inside(x) {
  const g = await task(x);
  return () => g.add(x);
}
later.push(await inside(full([2], 4)));
for (let i = 0; i < 2; i++) for (const f of later) print(f());
print(b);
