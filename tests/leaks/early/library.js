// Release timing attacks on library internals and register staleness
import { full, nn, noGrad, ones, optim, tidy, keep, stack, concat, where, valueAndGrad, grad, autograd, checkpoint, tensor, randn, manualSeed } from "mlrun";
manualSeed(3);
let n = 0; const T = () => full([2], ++n); const v = (t) => t.sum().item(); const out = [];
const F = nn.functional;
// uncompiled code that makes tensors and keeps them
const un = new Function("ones", "globalThis.a = ones([2]); return globalThis.a");
const u1 = un(ones); u1.add_(1); out.push(v(u1), v(globalThis.a)); (0, eval)("globalThis.b = globalThis.a.add(1)"); const bb = globalThis.b.add_(1); out.push(v(bb), v(globalThis.b)); { const c = globalThis.b.requiresGrad_(); out.push(v(c)); } out.push(v(globalThis.b));
const mkr = (0, eval)("(f) => { const t = f(); globalThis.c = t; return t; }"); mkr(T); out.push(v(globalThis.c)); { const z = mkr(T); z.contiguous(); z.to("float32"); } out.push(v(globalThis.c));
// self-returning ops in chains
{ const s = T(); const r = s.contiguous().to("float32").contiguous(); out.push(v(r), v(s)); } { let s = T(); s = s.contiguous(); s = s.add_(1); out.push(v(s)); } out.push(v(T().add_(1).mul_(2).contiguous()));
// identity through library
out.push(v(noGrad(() => u1)), v(u1), v(tidy(() => u1)), v(u1), v(keep(u1)), v(u1));
const d = new nn.Dropout(0.5).eval(); { const x = T(); const y = d.forward(x); out.push(v(y), v(x)); } const id = new nn.Identity(); { const x = T(); out.push(v(id.forward(x)), v(x)); }
// containers from library
{ const { values, indices } = tensor([3, 1, 2]).sort(); out.push(values.toArray(), indices.toArray().map(Number)); } { const r = tensor([[1, 2], [3, 4]]).max(1); const keepR = r; out.push(keepR.values.toArray(), v(r.indices)); } { const ps = tensor([1, 2, 3, 4]).chunk(2); const [p] = ps; ps.length = 0; out.push(p.toArray()); } { const rows = tensor([[1, 2], [3, 4]]).unbind(0); const r0 = rows[0]; rows[0] = null; out.push(r0.toArray(), rows[1].toArray()); } { const it = tensor([[1, 2], [3, 4]]); const l = [...it]; out.push(l.map(v)); for (const r of it) out.push(v(r)); }
// gradients
{ const w = T().requiresGrad_(); const loss = w.mul(w).sum(); loss.backward(); const g1 = w.grad, g2 = w.grad; out.push(v(g1), v(g2)); w.grad = g1.add(1); out.push(v(w.grad), v(g1)); w.grad = w.grad; out.push(v(w.grad)); w.grad = null; out.push(w.grad, v(g2)); }
{ const f = valueAndGrad((p) => { globalThis.leaf = p; return p.square().sum(); }); const [l, g] = f(T()); out.push(v(l), v(g), v(globalThis.leaf)); const h = grad(grad2); function grad2(p) { return p.pow(3).sum(); } out.push(v(h(T()))); const keepers = []; const k = valueAndGrad((p) => { keepers.push(p); return p.sum(); }); k(T()); k(T()); out.push(keepers.map(v)); }
{ const w = T().requiresGrad_(); const [g] = autograd.grad(w.pow(3).sum(), [w], { createGraph: true }); const [gg] = autograd.grad(g.sum(), [w]); out.push(v(g), v(gg)); }
{ const w = T().requiresGrad_(); const y = checkpoint((x) => { const a = x.mul(2); return a.exp().sum(); }, w.mul(0.1)); y.backward(); out.push(Number.isFinite(v(w.grad))); }
class Sq extends autograd.Function { static forward(ctx, x) { ctx.saveForBackward(x); return x.square(); } static backward(ctx, g) { const [x] = ctx.savedTensors; return g.mul(x).mul(2); } } { const w = T().requiresGrad_(); Sq.apply(w).sum().backward(); out.push(v(w.grad)); }
// modules: weights through every door
class Net extends nn.Module { constructor() { super(); this.a = new nn.Linear(2, 2); this.list = [new nn.Linear(2, 2)]; this.scale = new nn.Parameter(ones([2])); this.registerBuffer("seen", ones([1])); } forward(x) { this.last = this.a.forward(x).mul(this.scale); for (const l of this.list) this.last = l.forward(this.last); this.seen = this.seen.add(1); return this.last; } }
const makeNet = () => new Net(); const net = makeNet(); for (const [mk, o] of [[(p) => new optim.SGD(p, { lr: 0.1, momentum: 0.9 }), 0], [(p) => new optim.Adam(p), 1], [(p) => new optim.AdamW(p), 2]]) { const opt = mk(net.parameters()); for (let i = 0; i < 3; i++) { opt.zeroGrad(); const l = net.forward(ones([3, 2])).square().mean(); l.backward(); opt.step(); } out.push(v(net.last).toFixed(4), v(net.seen)); }
const swap = net.a; net.a = new nn.Linear(2, 2); out.push(swap.weight.shape.join(), v(swap.forward(ones([1, 2]))).toFixed(4), v(net.forward(ones([1, 2]))).toFixed(4)); const st = net.stateDict(); net.list[0].weight = null; out.push(Object.keys(st).join(), Object.values(st).every((t) => Number.isFinite(v(t)))); const w0 = (() => { const m = new nn.Linear(2, 1); return m.weight; })(); out.push(w0.shape.join(), Number.isFinite(v(w0))); const weights = () => { const m = new nn.Sequential(new nn.Linear(2, 1)); return m.parameters(); }; out.push(weights().map((t) => Number.isFinite(v(t))));
// functional with options holding tensors
out.push(v(F.mseLoss(T(), T())), v(F.crossEntropy(randn([2, 3]), tensor([0n, 1n]), { weight: ones([3]) })) > 0, v(where(tensor([true, false]), T(), T())), v(stack([T(), T()])), v(concat([T(), T()])), v(F.softmax(T(), 0)).toFixed(3));
const opts = { weight: ones([3]) }; F.crossEntropy(randn([2, 3]), tensor([0n, 1n]), opts); out.push(v(opts.weight)); const tup = [T(), T()]; stack(tup); concat(tup); out.push(tup.map(v)); const big = Array.from({ length: 3000 }, () => T()); out.push(v(concat(big)), v(big[2999]));
// errors inside library calls leave operands intact
const e1 = T(); try { e1.matmul(ones([5, 5])); } catch {} try { concat([e1, ones([2, 2])]); } catch {} try { F.linear(ones([2, 3]), e1.reshape([1, 2])); } catch {} try { e1.add("x"); } catch {} try { tidy(() => { globalThis.td = e1; throw 1; }); } catch {} out.push(v(e1), v(globalThis.td)); try { valueAndGrad(() => e1)(e1); } catch {} try { grad(() => { throw 1; })(e1); } catch {} out.push(v(e1));
// valueOf conversions
out.push(T().sum() + T().sum() * 2, `${T()}`, T().sum() > 3, [T()].join(), JSON.stringify({ a: v(T()) }), e1 == e1, T().sum() - 1);
out.push(await e1.data(), Promise.resolve(e1) instanceof Promise, v(await e1)); await Promise.all([1, 2].map(async (k) => { const t = T(); await null; out.push(v(t.mul(k))); })); for await (const x of (async function* () { const base = T(); for (let i = 0; i < 3; i++) { yield base; base.add_(1); } })()) out.push(v(x)); const gens = (function* () { const t = T(); for (;;) yield t; })(); const ga = gens.next().value; for (const t of gens) { out.push(v(t)); break; } out.push(v(ga));
out.forEach((x, i) => console.log(i, typeof x === "object" && x !== null ? JSON.stringify(x) : String(x)));
