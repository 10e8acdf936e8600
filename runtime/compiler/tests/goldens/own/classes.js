export class Cache {
  #steps = 0;
  constructor(k) { this.keys = k; }
  append(k) { this.keys = join([this.keys, k]); this.#steps++; return this.keys; }
}
class Plain { constructor() { this.t = null; } set(t) { this.t = t; } }
export const plain = new Plain();
