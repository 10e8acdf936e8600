const both = (t) => ({ up: t.add(1), down: t.sub(1) });
export function use(x, o) {
  const { up, ...rest } = both(x);
  const list = [up, ...[x]];
  o.best ??= up;
  o[x.size] = rest.down;
  for (const p of list) p.sum();
  list.push(x.neg());
  return list[0];
}
export const update = (state, g) => ({ ...state, w: state.w.sub(g), all: [...state.all, g] });
