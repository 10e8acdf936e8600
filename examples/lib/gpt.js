// A small GPT in the shape of nanoGPT's, for char-gpt.js and lora.js.
import { arange, concat, nn, noGrad, rand, tensor } from "mlrun";

const F = nn.functional;

class Attention extends nn.Module {
  constructor(width, heads) {
    super();
    this.heads = heads;
    this.qkv = new nn.Linear(width, 3 * width);
    this.proj = new nn.Linear(width, width);
  }

  /** With a `cache`, `x` continues the characters whose keys and values it holds. */
  forward(x, cache) {
    const [batch, length, width] = x.shape;
    const heads = (t) => t.reshape([batch, length, this.heads, width / this.heads]).transpose(1, 2);
    const [q, newK, newV] = this.qkv.forward(x).chunk(3, -1).map(heads);
    const k = cache?.k ? concat([cache.k, newK], 2) : newK;
    const v = cache?.v ? concat([cache.v, newV], 2) : newV;
    if (cache) {
      cache.k = k;
      cache.v = v;
    }
    const y = F.scaledDotProductAttention(q, k, v, { isCausal: length > 1 });
    return this.proj.forward(y.transpose(1, 2).reshape([batch, length, width]));
  }
}

class MLP extends nn.Module {
  constructor(width) {
    super();
    this.fc = new nn.Linear(width, 4 * width);
    this.proj = new nn.Linear(4 * width, width);
  }

  forward(x) {
    return this.proj.forward(this.fc.forward(x).gelu({ approximate: "tanh" }));
  }
}

class Block extends nn.Module {
  constructor(width, heads) {
    super();
    this.ln1 = new nn.LayerNorm(width);
    this.attn = new Attention(width, heads);
    this.ln2 = new nn.LayerNorm(width);
    this.mlp = new MLP(width);
  }

  forward(x, cache) {
    x = x.add(this.attn.forward(this.ln1.forward(x), cache));
    return x.add(this.mlp.forward(this.ln2.forward(x)));
  }
}

export class GPT extends nn.Module {
  constructor({ vocabulary, context = 64, layers = 4, heads = 4, width = 128 }) {
    super();
    this.context = context;
    this.wte = new nn.Embedding(vocabulary, width);
    this.wpe = new nn.Embedding(context, width);
    this.blocks = new nn.ModuleList(Array.from({ length: layers }, () => new Block(width, heads)));
    this.lnf = new nn.LayerNorm(width);
    this.head = new nn.Linear(width, vocabulary, { bias: false });
    for (const [name, p] of this.namedParameters()) {
      if (name.endsWith("bias")) nn.init.zeros_(p);
      else if (p.ndim === 2) nn.init.normal_(p, 0, name.endsWith("proj.weight") ? 0.02 / Math.sqrt(2 * layers) : 0.02);
    }
  }

  /** Indices `[batch, length]` to logits `[batch, length, vocabulary]`. */
  forward(ids, caches) {
    const start = caches?.[0].k?.shape[2] ?? 0;
    let x = this.wte.forward(ids).add(this.wpe.forward(arange(start, start + ids.shape[1])));
    let i = 0;
    for (const block of this.blocks) x = block.forward(x, caches?.[i++]);
    return this.head.forward(this.lnf.forward(x));
  }

  /** Mean loss of predicting `targets [batch, length]` from `ids`. */
  loss(ids, targets) {
    const logits = this.forward(ids);
    return F.crossEntropy(logits.reshape([-1, logits.shape[2]]), targets.flatten());
  }

  /** Continues the indices in `text` by `count` more, which it yields one by one. */
  *generate(text, count, { temperature = 0.8 } = {}) {
    const all = [...text];
    let caches = null, known = 0;
    for (let i = 0; i < count; i++) {
      if (caches === null || known === this.context) {
        // No position is left: go on from the later half of what was seen.
        caches = this.blocks.children().map(() => ({}));
        known = 0;
      }
      const next = known === 0 ? all.slice(-(this.context / 2)) : all.slice(-1);
      known += next.length;
      all.push(noGrad(() => this.pick(next, caches, temperature)));
      yield all.at(-1);
    }
  }

  /** One index, drawn by the probabilities after `next`. */
  pick(next, caches, temperature) {
    const logits = this.forward(tensor([next], { dtype: "int64" }), caches).select(1, -1).flatten();
    // The largest of logits with Gumbel noise is a draw from their softmax.
    const noise = rand(logits.shape).log().neg().log().neg();
    return Number(logits.div(temperature).add(noise).argmax().item());
  }
}
