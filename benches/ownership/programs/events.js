// Listeners by name: closures in arrays in a map.
class Emitter {
  constructor() { this.listeners = new Map(); }
  on(name, f) { const list = this.listeners.get(name); if (list) list.push(f); else this.listeners.set(name, [f]); return this; }
  emit(name, a, b) { const list = this.listeners.get(name); if (!list) return false; for (const f of list) f(a, b); return true; }
}
export function main() {
  const e = new Emitter();
  let sum = 0;
  for (let i = 0; i < 4; i++) e.on("tick", (a, b) => { sum += a * i + b; });
  for (let i = 0; i < 20000; i++) e.emit("tick", i, 1);
  return sum;
}
