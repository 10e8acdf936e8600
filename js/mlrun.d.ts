/**
 * Types of the module "mlrun". Names and meaning are PyTorch's, in camelCase; a shape in a comment
 * is written `[batch, features]`.
 */
declare module "mlrun" {
  export type DType =
    | "float32" | "float16" | "bfloat16" | "float64"
    | "int8" | "uint8" | "int16" | "int32" | "int64" | "bool";
  export type Device = "cpu";
  export type Shape = readonly number[];
  export type TypedArray =
    | Float32Array | Float64Array | Int8Array | Uint8Array | Uint8ClampedArray
    | Int16Array | Int32Array | BigInt64Array;
  /** Nested arrays of numbers, BigInts or booleans, all of one kind and of equal lengths. */
  export type NestedArray = number | bigint | boolean | readonly NestedArray[];
  /** What an elementwise op takes beside a tensor; numbers do not change the tensor's dtype. */
  export type Operand = Tensor | number | bigint | boolean;
  /** One of what `index` takes. */
  export type IndexSpec = number | string | null | Tensor;

  export interface TensorOptions {
    dtype?: DType;
    device?: Device;
    requiresGrad?: boolean;
  }
  export interface ReduceOptions {
    /** Keep reduced dimensions with extent 1. */
    keepdim?: boolean;
  }
  export interface WithIndices {
    values: Tensor;
    /** int64 */
    indices: Tensor;
  }
  export interface SortOptions {
    descending?: boolean;
    /** Taken for PyTorch's sake; sorting is always stable. */
    stable?: boolean;
  }
  type Dims = number | readonly number[];

  /** A handle on a tensor in the native heap. Make one with {@link tensor}, {@link zeros}, ... */
  export class Tensor {
    private constructor();
    /** Extents per dimension; frozen. */
    readonly shape: Shape;
    readonly dtype: DType;
    readonly device: Device;
    readonly ndim: number;
    /** Number of elements. */
    readonly size: number;
    requiresGrad: boolean;
    readonly isLeaf: boolean;
    /** Gathered gradient of a leaf. Set it to null to forget it. */
    grad: Tensor | null;
    /** Dimensions in reverse order, without a copy. */
    readonly T: Tensor;
    readonly isDisposed: boolean;

    /**
     * The only element: a number, for int64 a BigInt where a number would lose bits, for bool a
     * boolean. The type says number; `item<bigint>()` and `item<boolean>()` say otherwise.
     * @throws RangeError where there is more or less than one element
     */
    item<T extends number | bigint | boolean = number>(): T;
    /** Nested arrays; int64 gives BigInts, bool booleans. */
    toArray(): any;
    /** The elements row-major; float16 and bfloat16 as Float32Array. */
    toTypedArray(): TypedArray;
    data(): Promise<TypedArray>;
    toString(): string;
    /** Nested arrays, int64 in full. */
    toJSON(): any;
    [Symbol.toPrimitive](hint: string): number | bigint | boolean | string;
    [Symbol.iterator](): IterableIterator<Tensor>;
    /**
     * Frees the handle now; a later use is a ReferenceError that says where this was, and where the
     * tensor was made (of the first 256 in a program; of all with --trace-leaks).
     */
    dispose(): void;
    [Symbol.dispose](): void;

    add(other: Operand): Tensor;
    sub(other: Operand): Tensor;
    mul(other: Operand): Tensor;
    /** Integers give float32. */
    div(other: Operand): Tensor;
    pow(other: Operand): Tensor;
    /** The sign of the divisor, as Python's `%`. */
    remainder(other: Operand): Tensor;
    /** Rounded down, as Python's `//`. */
    floorDivide(other: Operand): Tensor;
    maximum(other: Operand): Tensor;
    minimum(other: Operand): Tensor;
    atan2(other: Operand): Tensor;
    eq(other: Operand): Tensor;
    ne(other: Operand): Tensor;
    lt(other: Operand): Tensor;
    le(other: Operand): Tensor;
    gt(other: Operand): Tensor;
    ge(other: Operand): Tensor;
    logicalAnd(other: Operand): Tensor;
    logicalOr(other: Operand): Tensor;
    logicalNot(): Tensor;
    bitwiseAnd(other: Operand): Tensor;
    bitwiseOr(other: Operand): Tensor;
    bitwiseXor(other: Operand): Tensor;
    neg(): Tensor;
    abs(): Tensor;
    sign(): Tensor;
    square(): Tensor;
    exp(): Tensor;
    expm1(): Tensor;
    log(): Tensor;
    log1p(): Tensor;
    log2(): Tensor;
    log10(): Tensor;
    sqrt(): Tensor;
    rsqrt(): Tensor;
    reciprocal(): Tensor;
    sin(): Tensor;
    cos(): Tensor;
    tan(): Tensor;
    asin(): Tensor;
    acos(): Tensor;
    atan(): Tensor;
    sinh(): Tensor;
    cosh(): Tensor;
    tanh(): Tensor;
    sigmoid(): Tensor;
    relu(): Tensor;
    leakyRelu(slope?: number): Tensor;
    elu(alpha?: number): Tensor;
    gelu(options?: { approximate?: "none" | "tanh" }): Tensor;
    silu(): Tensor;
    softplus(options?: { beta?: number; threshold?: number }): Tensor;
    erf(): Tensor;
    floor(): Tensor;
    ceil(): Tensor;
    /** Halves to even. */
    round(): Tensor;
    trunc(): Tensor;
    isnan(): Tensor;
    isinf(): Tensor;
    isfinite(): Tensor;
    /** Exponentials that add up to 1 along `dim`. */
    softmax(dim: number): Tensor;
    logSoftmax(dim: number): Tensor;
    /**
     * Values below `min` become it, values above `max` too; one of them may be left out. At the
     * bound the gradient is, as PyTorch's, 0 for a number, a half for one tensor, whole for two.
     */
    clamp(min?: number | Tensor | null, max?: number | Tensor | null): Tensor;
    lerp(end: Tensor, weight: number | Tensor): Tensor;
    where(condition: Tensor, other: Operand): Tensor;
    /** A copy with a number or 0-d tensor where the mask holds; the dtype stays. */
    maskedFill(mask: Tensor, value: Operand): Tensor;

    sum(dim?: Dims, options?: ReduceOptions): Tensor;
    mean(dim?: Dims, options?: ReduceOptions): Tensor;
    amax(dim?: Dims, options?: ReduceOptions): Tensor;
    amin(dim?: Dims, options?: ReduceOptions): Tensor;
    argmax(dim?: number, options?: ReduceOptions): Tensor;
    argmin(dim?: number, options?: ReduceOptions): Tensor;
    any(dim?: Dims, options?: ReduceOptions): Tensor;
    all(dim?: Dims, options?: ReduceOptions): Tensor;
    max(): Tensor;
    max(dim: number, options?: ReduceOptions): WithIndices;
    max(other: Tensor): Tensor;
    min(): Tensor;
    min(dim: number, options?: ReduceOptions): WithIndices;
    min(other: Tensor): Tensor;
    /** Integers and booleans multiply in int64. */
    prod(dim?: Dims, options?: ReduceOptions): Tensor;
    /** Floats only; divides by n - correction (1). */
    variance(dim?: Dims, options?: ReduceOptions & { correction?: number }): Tensor;
    variance(options: ReduceOptions & { correction?: number }): Tensor;
    std(dim?: Dims, options?: ReduceOptions & { correction?: number }): Tensor;
    std(options: ReduceOptions & { correction?: number }): Tensor;
    /** The p-norm (2); p may be 0 or plus or minus Infinity. The gradient at 0 is 0. */
    norm(dim?: Dims, options?: ReduceOptions & { p?: number }): Tensor;
    norm(options: ReduceOptions & { p?: number }): Tensor;
    logsumexp(dim?: Dims, options?: ReduceOptions): Tensor;
    /** Running sums; integers sum in int64. */
    cumsum(dim: number): Tensor;
    cumprod(dim: number): Tensor;
    /** Along a dimension (the last). Always stable; NaN counts as largest. */
    sort(dim?: number, options?: SortOptions): WithIndices;
    sort(options: SortOptions): WithIndices;
    argsort(dim?: number, options?: SortOptions): Tensor;
    argsort(options: SortOptions): Tensor;
    /** The k largest (or smallest) along a dimension (the last), in order. RangeError where there are fewer. */
    topk(k: number, dim?: number, options?: { largest?: boolean; sorted?: boolean }): WithIndices;
    topk(k: number, options: { largest?: boolean; sorted?: boolean }): WithIndices;
    /** Coordinates of the elements that are not 0: int64 `[count, ndim]`. */
    nonzero(): Tensor;

    /** `[..., m, k] x [..., k, n]`; vectors and batches as in PyTorch. */
    matmul(other: Tensor): Tensor;
    dot(other: Tensor): Tensor;
    outer(other: Tensor): Tensor;
    tril(diagonal?: number): Tensor;
    triu(diagonal?: number): Tensor;
    /** A diagonal of two dimensions (0, 1), which go, as a last one; a view. */
    diagonal(offset?: number, dim1?: number, dim2?: number): Tensor;

    reshape(shape: Shape): Tensor;
    reshape(...shape: number[]): Tensor;
    view(shape: Shape): Tensor;
    view(...shape: number[]): Tensor;
    flatten(start?: number, end?: number): Tensor;
    squeeze(dim?: Dims): Tensor;
    unsqueeze(dim: number): Tensor;
    expand(shape: Shape): Tensor;
    expand(...shape: number[]): Tensor;
    permute(dims: readonly number[]): Tensor;
    permute(...dims: number[]): Tensor;
    transpose(a: number, b: number): Tensor;
    narrow(dim: number, start: number, length: number): Tensor;
    select(dim: number, index: number): Tensor;
    split(size: number | readonly number[], dim?: number): Tensor[];
    chunk(chunks: number, dim?: number): Tensor[];
    unbind(dim?: number): Tensor[];
    flip(dims: Dims): Tensor;
    flip(...dims: number[]): Tensor;
    roll(shifts: Dims, dims?: Dims): Tensor;
    repeat(counts: readonly number[]): Tensor;
    repeat(...counts: number[]): Tensor;
    tile(counts: readonly number[]): Tensor;
    tile(...counts: number[]): Tensor;
    /**
     * NumPy-style: a number, `"start:stop:step"`, `":"`, `"..."`, null (new axis), tensors of
     * integers (negative ones count from the end), boolean masks. A view where no index is a tensor
     * and no step negative. RangeError for positions outside and for a step of 0.
     */
    index(...specs: IndexSpec[]): Tensor;
    /**
     * `x[specs] = value` of PyTorch and NumPy: writes at the elements that `index(...specs)` gives,
     * `x.indexPut_([0, "1:3"], 7)`, `x.indexPut_([mask], 0)`. The value is broadcast and takes this
     * tensor's dtype. Of equal positions the last one stays; with `accumulate` all are added to what
     * is there. In place, as `copy_`. RangeError for positions outside and where the value does not
     * fit; TypeError where `specs` is no array.
     */
    indexPut_(specs: readonly IndexSpec[], value: Operand, options?: { accumulate?: boolean }): this;
    /** As `indexPut_`, into a copy. */
    indexPut(specs: readonly IndexSpec[], value: Operand, options?: { accumulate?: boolean }): Tensor;
    /** The function `einsum` with this tensor as its first operand. */
    einsum(equation: string, ...others: Tensor[]): Tensor;
    gather(dim: number, index: Tensor): Tensor;
    scatterAdd(dim: number, index: Tensor, source: Tensor): Tensor;
    indexSelect(dim: number, index: Tensor): Tensor;
    indexAdd(dim: number, index: Tensor, source: Tensor): Tensor;
    /** A copy with the rows of `dim` that `index` names replaced; of equal ones the last stays. */
    indexCopy(dim: number, index: Tensor, source: Tensor): Tensor;
    /** As nn.functional's pad: `[left, right, top, bottom, ...]`. */
    pad(
      paddings: readonly number[],
      options?: { mode?: "constant" | "reflect" | "replicate" | "circular"; value?: number },
    ): Tensor;
    /** This tensor itself where it is contiguous. */
    contiguous(): Tensor;
    clone(): Tensor;
    detach(): Tensor;
    to(target: DType | Device | { dtype?: DType; device?: Device }): Tensor;

    /**
     * In place: the tensor's own elements change, its shape and dtype stay (TypeError where the
     * result has another dtype, RangeError where it has another shape). Recorded where a gradient
     * is wanted, on views too, whose base and other views take the change on; an Error there on a
     * leaf that requires grad, on a view of one, on what `split`, `chunk`, `unbind` or a loop over a
     * tensor gave, and on views that were taken inside `noGrad`; and later where a gradient needs
     * what was overwritten. Inside `noGrad` nothing of this is recorded.
     */
    copy_(source: Tensor): this;
    fill_(value: Operand): this;
    zero_(): this;
    add_(other: Operand): this;
    sub_(other: Operand): this;
    mul_(other: Operand): this;
    div_(other: Operand): this;

    requiresGrad_(on?: boolean): this;
    backward(gradient?: Tensor | null, options?: { retainGraph?: boolean; createGraph?: boolean }): void;
    backward(options: { retainGraph?: boolean; createGraph?: boolean }): void;
  }

  /** Numbers become float32, BigInts int64, booleans bool; typed arrays keep their dtype. */
  export function tensor(data: NestedArray | TypedArray | Tensor, options?: TensorOptions): Tensor;
  export function zeros(shape: Dims, options?: TensorOptions): Tensor;
  export function ones(shape: Dims, options?: TensorOptions): Tensor;
  export function empty(shape: Dims, options?: TensorOptions): Tensor;
  export function full(shape: Dims, value: number | bigint | boolean, options?: TensorOptions): Tensor;
  /** int64 where all arguments are whole, else float32. */
  export function arange(end: number, options?: TensorOptions): Tensor;
  export function arange(start: number, end: number, options?: TensorOptions): Tensor;
  export function arange(start: number, end: number, step: number, options?: TensorOptions): Tensor;
  export function linspace(start: number, end: number, steps: number, options?: TensorOptions): Tensor;
  export function eye(n: number, options?: TensorOptions): Tensor;
  export function eye(n: number, m: number, options?: TensorOptions): Tensor;
  /** Uniform in [0, 1). */
  export function rand(shape: Dims, options?: TensorOptions): Tensor;
  /** Normal with mean 0 and standard deviation 1. */
  export function randn(shape: Dims, options?: TensorOptions): Tensor;
  export function randint(high: number, shape: Shape, options?: TensorOptions): Tensor;
  export function randint(low: number, high: number, shape: Shape, options?: TensorOptions): Tensor;
  export function randperm(n: number, options?: TensorOptions): Tensor;
  /** 1 with the probability that each element gives, 0 to 1; the dtype of `p`. */
  export function bernoulli(p: Tensor): Tensor;
  /**
   * Indices drawn with the probabilities of each row of `[categories]` or `[rows, categories]`, which
   * need not add up to 1: int64 `[numSamples]` or `[rows, numSamples]`.
   */
  export function multinomial(probs: Tensor, numSamples: number, options?: { replacement?: boolean }): Tensor;
  export function zerosLike(t: Tensor, options?: TensorOptions): Tensor;
  export function onesLike(t: Tensor, options?: TensorOptions): Tensor;
  export function emptyLike(t: Tensor, options?: TensorOptions): Tensor;
  export function fullLike(t: Tensor, value: number, options?: TensorOptions): Tensor;
  export function randLike(t: Tensor, options?: TensorOptions): Tensor;
  export function randnLike(t: Tensor, options?: TensorOptions): Tensor;
  export function randintLike(t: Tensor, high: number, options?: TensorOptions): Tensor;
  export function randintLike(t: Tensor, low: number, high: number, options?: TensorOptions): Tensor;
  export function manualSeed(seed: number | bigint): void;

  export function concat(tensors: readonly Tensor[], dim?: number): Tensor;
  export function stack(tensors: readonly Tensor[], dim?: number): Tensor;
  export function where(condition: Tensor, a: Operand, b: Operand): Tensor;
  /**
   * Products summed over the labels that the result lacks: `einsum("bij,bjk->bik", a, b)`. Repeated
   * labels of one tensor take its diagonal, `...` stands for any dimensions, the result may be left out.
   */
  export function einsum(equation: string, ...tensors: Tensor[]): Tensor;
  export function einsum(equation: string, tensors: readonly Tensor[]): Tensor;

  /** Tensors, arrays of trees, or plain objects of trees. */
  export type Tree = Tensor | readonly Tree[] | { readonly [key: string]: Tree };
  /**
   * Runs `fn` without recording. For an asynchronous function that holds to its end, after each
   * `await` too, and for nothing else that runs meanwhile. A function that is not asynchronous
   * itself but gives a promise has it until it returns.
   */
  export function noGrad<T>(fn: () => T): T;
  /** Records inside a {@link noGrad}, as long as that would hold for `fn`. */
  export function enableGrad<T>(fn: () => T): T;
  /**
   * The gradient of `fn`, which gives a tensor of one element, by its first argument: a tensor, or
   * arrays and plain objects of tensors.
   */
  export function grad<A extends unknown[]>(fn: (x: Tensor, ...rest: A) => Tensor): (x: Tensor, ...rest: A) => Tensor;
  export function grad<P extends Tree, A extends unknown[]>(fn: (tree: P, ...rest: A) => Tensor): (tree: P, ...rest: A) => P;
  /** As {@link grad}, with what `fn` gave in front. */
  export function valueAndGrad<A extends unknown[]>(
    fn: (x: Tensor, ...rest: A) => Tensor,
  ): (x: Tensor, ...rest: A) => [Tensor, Tensor];
  export function valueAndGrad<P extends Tree, A extends unknown[]>(
    fn: (tree: P, ...rest: A) => Tensor,
  ): (tree: P, ...rest: A) => [Tensor, P];
  /**
   * `fn(...args)` without keeping what its gradient needs: backward runs `fn` again, with the same
   * random numbers. `fn` gives a tensor or an array of tensors.
   */
  export function checkpoint<A extends unknown[], R extends Tensor | Tensor[]>(fn: (...args: A) => R, ...args: A): R;
  export namespace autograd {
    interface GradOptions {
      createGraph?: boolean;
      retainGraph?: boolean;
      gradOutputs?: Tensor | readonly (Tensor | null)[];
    }
    /** Gradients of outputs by inputs, which keep their `grad`. An input without a part in them is an Error, or null. */
    function grad(
      outputs: Tensor | readonly Tensor[],
      inputs: Tensor | readonly Tensor[],
      options?: GradOptions & { allowUnused?: false },
    ): Tensor[];
    function grad(
      outputs: Tensor | readonly Tensor[],
      inputs: Tensor | readonly Tensor[],
      options: GradOptions & { allowUnused?: boolean },
    ): (Tensor | null)[];
    /**
     * Runs `fn`; a backward pass in it that starts from NaN throws an error that names the op which
     * gave the first NaN on the way there and the line that called it, and so does one in which a
     * derivative gives NaN. Slow. Throws a TypeError for an asynchronous function.
     */
    function detectAnomaly<T>(fn: () => T): T;
    interface Context {
      /** In forward: keeps tensors for backward. */
      saveForBackward(...tensors: Tensor[]): void;
      /** In backward: what was kept. */
      readonly savedTensors: Tensor[];
      /** For each argument of forward whether a gradient is wanted. */
      readonly needsInputGrad: boolean[];
      [name: string]: any;
    }
    /**
     * A function with a derivative of its own. `static forward(ctx, ...args)` gives a tensor or an
     * array; `static backward(ctx, ...grads)` gives one gradient (or null) per argument of forward.
     */
    class Function {
      static apply(...args: any[]): any;
      static forward(ctx: Context, ...args: any[]): Tensor | Tensor[];
      static backward(ctx: Context, ...grads: Tensor[]): Tensor | null | (Tensor | null)[];
    }
  }

  export interface Released {
    tensors: number;
    bytes: number;
  }
  export interface MemoryStats {
    liveTensors: number;
    /** Of tensors, and of ops recorded for gradients where those are more than 65,536 at once. */
    liveBytes: number;
    peakBytes: number;
    /** Allocated since the last collection and not released. */
    pendingBytes: number;
    /** Freed blocks that wait for reuse. */
    pooledBytes: number;
    /** Collections that were run for the sake of tensors. */
    minorGCs: number;
    majorGCs: number;
    /** Milliseconds of all collections, whoever asked for them: processor time of the program's thread. */
    gcTime: number;
    /**
     * All isolates of the process together, this one among them; more than one only in a program that
     * embeds mlrun. `peakBytes` is true to within 64 KiB for each isolate.
     */
    process: { isolates: number; liveBytes: number; peakBytes: number; pendingBytes: number; pooledBytes: number };
    released: { byPass: Released; byMinorGC: Released; byMajorGC: Released; byDispose: Released };
  }
  /** Counts and bytes right now; never collects. */
  export function memoryStats(): MemoryStats;
  /** `peakBytes` starts again from the bytes that are live now. */
  export function resetPeakMemory(): void;
  /**
   * Writes V8's heap snapshot to `file`, for the memory panel of a browser's developer tools (which
   * want a name that ends in ".heapsnapshot"). Each storage is a node of its own, with its size,
   * held by the tensors on it.
   * @throws Error where the file cannot be written, with the system's `code`, such as "ENOENT"
   */
  export function heapSnapshot(file: string): void;
  /** Bytes of tensors that may be live at once; Infinity takes the limit away. */
  export function setMemoryLimit(bytes: number): void;
  export function gc(): void;
  /**
   * Runs `fn` and disposes the tensors that it made, but for those in its result (a tensor, arrays
   * or plain objects of tensors), those given to {@link keep}, and leaves that require a gradient.
   * Throws a TypeError where `fn` gives a promise.
   */
  export function tidy<R>(fn: () => R): R;
  /** `t` outlives the {@link tidy} that it was made in; gives `t`. */
  export function keep(t: Tensor): Tensor;
  /**
   * Thrown where live tensors would pass the memory limit, after what the collector can free was
   * freed. Names the request, live bytes, the limit, and the lines whose tensors hold most (about:
   * one block in 4 MB is a sample; exactly with --memory-report or --trace-leaks).
   */
  export class TensorMemoryError extends RangeError {}

  type Reduction = "none" | "mean" | "sum";
  export namespace F {
    /** `x weight^T + bias`: `[..., in]` with weight `[out, in]` and bias `[out]`. */
    function linear(x: Tensor, weight: Tensor, bias?: Tensor | null): Tensor;
    function relu(x: Tensor): Tensor;
    function sigmoid(x: Tensor): Tensor;
    function tanh(x: Tensor): Tensor;
    function gelu(x: Tensor, options?: { approximate?: "none" | "tanh" }): Tensor;
    function silu(x: Tensor): Tensor;
    function softplus(x: Tensor, options?: { beta?: number; threshold?: number }): Tensor;
    function elu(x: Tensor, alpha?: number): Tensor;
    function leakyRelu(x: Tensor, slope?: number): Tensor;
    function softmax(x: Tensor, dim: number): Tensor;
    function logSoftmax(x: Tensor, dim: number): Tensor;
    /**
     * Sets elements to 0 with probability `p` and divides the others by `1 - p`; outside training
     * a handle on the input. Equal seeds give equal results for any number of threads.
     * @throws RangeError where p is not from 0 to 1
     */
    function dropout(x: Tensor, p?: number, options?: { training?: boolean }): Tensor;
    /**
     * Negative log likelihood under softmax. Logits are `[n, classes, ...]` or `[classes]`; the
     * target has class indices without the class dimension, or probabilities of the logits' shape.
     * `mean` divides by the weights of the targets that are not `ignoreIndex` (-100).
     * @throws RangeError where shapes do not fit or an index is no class
     */
    function crossEntropy(
      logits: Tensor,
      target: Tensor,
      options?: { weight?: Tensor; reduction?: Reduction; ignoreIndex?: number; labelSmoothing?: number },
    ): Tensor;
    /** As crossEntropy with class indices, for log probabilities. */
    function nllLoss(
      input: Tensor,
      target: Tensor,
      options?: { weight?: Tensor; reduction?: Reduction; ignoreIndex?: number },
    ): Tensor;
    /** Binary cross entropy under sigmoid; `posWeight` weighs the positive part. Equal shapes. */
    function bceWithLogits(
      input: Tensor,
      target: Tensor,
      options?: { weight?: Tensor; posWeight?: Tensor; reduction?: Reduction },
    ): Tensor;
    /**
     * The mean of squared differences. Shapes broadcast, which is seldom meant: where they differ,
     * the first call says so on standard error.
     */
    function mseLoss(input: Tensor, target: Tensor, options?: { weight?: Tensor; reduction?: Reduction }): Tensor;
    /** The mean of absolute differences; shapes as for mseLoss. */
    function l1Loss(input: Tensor, target: Tensor, options?: { weight?: Tensor; reduction?: Reduction }): Tensor;
    /** Squared below `beta` (1), absolute above; shapes as for mseLoss. */
    function smoothL1Loss(
      input: Tensor,
      target: Tensor,
      options?: { weight?: Tensor; reduction?: Reduction; beta?: number },
    ): Tensor;
    /**
     * Mean 0 and variance 1 over the trailing dimensions `shape`, then weight and bias of that
     * shape. `eps` (1e-5) may stand in an options object.
     */
    function layerNorm(
      x: Tensor,
      shape: number | readonly number[],
      weight?: Tensor | null,
      bias?: Tensor | null,
      eps?: number | { eps?: number },
    ): Tensor;
    /** Division by the root mean square; without `eps` the dtype's smallest step at 1. */
    function rmsNorm(
      x: Tensor,
      shape: number | readonly number[],
      weight?: Tensor | null,
      eps?: number | { eps?: number },
    ): Tensor;
    /** `[n, channels, ...]` normalised over groups of channels; weight and bias `[channels]`. */
    function groupNorm(
      x: Tensor,
      groups: number,
      weight?: Tensor | null,
      bias?: Tensor | null,
      eps?: number | { eps?: number },
    ): Tensor;
    /**
     * `[n, channels, ...]` normalised by channel: over the batch in training, where the running
     * statistics `[channels]` move by `momentum` (0.1) in place, else by these.
     * @throws RangeError in training with one value per channel
     */
    function batchNorm(
      x: Tensor,
      runningMean: Tensor | null,
      runningVar: Tensor | null,
      weight?: Tensor | null,
      bias?: Tensor | null,
      options?: { training?: boolean; momentum?: number; eps?: number },
    ): Tensor;
    /** Rows of weight `[rows, width]`: index `[...]` gives `[..., width]`. Row `paddingIdx` gets no gradient. */
    function embedding(index: Tensor, weight: Tensor, options?: { paddingIdx?: number }): Tensor;
    /** Index `[...]` to int64 `[..., classes]` with 1 at the index; by default the largest index decides. */
    function oneHot(index: Tensor, classes?: number): Tensor;
    interface ConvOptions {
      stride?: number | readonly number[];
      /** Numbers, "valid" (0) or "same", which keeps the extents at stride 1. */
      padding?: number | readonly number[] | "same" | "valid";
      dilation?: number | readonly number[];
      groups?: number;
    }
    interface ConvTransposeOptions {
      stride?: number | readonly number[];
      padding?: number | readonly number[];
      outputPadding?: number | readonly number[];
      dilation?: number | readonly number[];
      groups?: number;
    }
    /** `[n, c, l]` or `[c, l]` with weight `[out, c / groups, k]` and bias `[out]`. */
    function conv1d(x: Tensor, weight: Tensor, bias?: Tensor | null, options?: ConvOptions): Tensor;
    /** `[n, c, h, w]` or `[c, h, w]` with weight `[out, c / groups, kh, kw]` and bias `[out]`. */
    function conv2d(x: Tensor, weight: Tensor, bias?: Tensor | null, options?: ConvOptions): Tensor;
    /** `[n, c, l]` with weight `[c, out / groups, k]`. */
    function convTranspose1d(x: Tensor, weight: Tensor, bias?: Tensor | null, options?: ConvTransposeOptions): Tensor;
    /** `[n, c, h, w]` with weight `[c, out / groups, kh, kw]`. */
    function convTranspose2d(x: Tensor, weight: Tensor, bias?: Tensor | null, options?: ConvTransposeOptions): Tensor;
    /** The largest element of windows of `[n, c, h, w]` or `[c, h, w]`; the stride is the kernel's size by default. */
    function maxPool2d(
      x: Tensor,
      kernelSize: number | readonly number[],
      options?: {
        stride?: number | readonly number[];
        padding?: number | readonly number[];
        dilation?: number | readonly number[];
        ceilMode?: boolean;
      },
    ): Tensor;
    /** The mean of windows of `[n, c, h, w]` or `[c, h, w]`. */
    function avgPool2d(
      x: Tensor,
      kernelSize: number | readonly number[],
      options?: {
        stride?: number | readonly number[];
        padding?: number | readonly number[];
        ceilMode?: boolean;
        countIncludePad?: boolean;
        divisorOverride?: number;
      },
    ): Tensor;
    /**
     * `softmax(q k^T scale + mask) v` for q `[..., l, e]`, k `[..., s, e]`, v `[..., s, ev]`; a mask
     * broadcasts to `[..., l, s]` and is added, or where boolean true lets a position be seen. A
     * row that sees nothing is 0. `scale` is `1 / sqrt(e)` by default.
     */
    function scaledDotProductAttention(
      query: Tensor,
      key: Tensor,
      value: Tensor,
      options?: { attnMask?: Tensor | null; dropoutP?: number; isCausal?: boolean; scale?: number },
    ): Tensor;
    /** Paddings `[left, right, top, bottom, ...]`, two for each of the last dimensions; a negative one cuts off. */
    function pad(
      x: Tensor,
      paddings: readonly number[],
      options?: { mode?: "constant" | "reflect" | "replicate" | "circular"; value?: number },
    ): Tensor;
    /** `[n, c, ...]` brought to a spatial `size`, or to `scaleFactor` times the one it has. */
    function interpolate(
      x: Tensor,
      options: {
        size?: number | readonly number[];
        scaleFactor?: number | readonly number[];
        mode?: "nearest" | "linear" | "bilinear" | "trilinear";
        alignCorners?: boolean;
      },
    ): Tensor;
  }

  export namespace nn {
    const functional: typeof F;
    /** Gives a tensor: a leaf that requires a gradient and that modules find on their fields. */
    const Parameter: new (data: Tensor, options?: { requiresGrad?: boolean }) => Tensor;
    interface Hook {
      remove(): void;
    }
    /**
     * Base of all layers: a class with `forward`. Parameters (`nn.Parameter`), buffers and modules
     * are found on its fields, also inside arrays and plain objects.
     */
    class Module {
      /** Set by `train()` and `eval()`; read by dropout and batch norm. */
      training: boolean;
      forward(...args: any[]): any;
      /** A tensor that is saved but not trained; then the field `name`. Null for one that is left out. */
      registerBuffer(name: string, t: Tensor | null, options?: { persistent?: boolean }): void;
      /** Each parameter once, in PyTorch's order. */
      parameters(): Tensor[];
      namedParameters(): [string, Tensor][];
      buffers(): Tensor[];
      namedBuffers(): [string, Tensor][];
      /** This module and all below it. */
      modules(): Module[];
      namedModules(): [string, Module][];
      children(): Module[];
      namedChildren(): [string, Module][];
      /** The module at a path such as `"blocks.0.attn"`; a RangeError where there is none. */
      getSubmodule(path: string): Module;
      /** Parameters and buffers by PyTorch's names; they share memory with the model. */
      stateDict(): Record<string, Tensor>;
      /**
       * Copies values by name. A RangeError lists missing and unexpected names (unless `strict` is
       * false) and wrong shapes; then nothing has changed.
       */
      loadStateDict(
        state: Record<string, Tensor>,
        options?: { strict?: boolean },
      ): { missing: string[]; unexpected: string[] };
      train(on?: boolean): this;
      eval(): this;
      /** Calls `fn` with every module below this one, then with this one. */
      apply(fn: (module: Module) => void): this;
      requiresGrad_(on?: boolean): this;
      zeroGrad(): void;
      /** Another floating-point dtype, as new parameters: call it before making the optimizer. */
      to(target: DType | Device | { dtype?: DType; device?: Device }): this;
      /** `fn` before each forward; an array that it gives stands in for the arguments. */
      registerForwardPreHook(fn: (module: this, args: any[]) => any): Hook;
      /** `fn` after each forward; what it gives, unless undefined, stands in for the output. */
      registerForwardHook(fn: (module: this, args: any[], output: any) => any): Hook;
      /** What stands in the brackets when the module is printed. */
      extraRepr(): string;
      toString(): string;
    }
    /** `[..., inFeatures]` to `[..., outFeatures]`: `x W^T + b`. */
    class Linear extends Module {
      constructor(inFeatures: number, outFeatures: number, options?: { bias?: boolean });
      readonly inFeatures: number;
      readonly outFeatures: number;
      /** `[outFeatures, inFeatures]` */
      weight: Tensor;
      /** `[outFeatures]` */
      bias: Tensor | null;
      forward(x: Tensor): Tensor;
    }
    class Identity extends Module {
      forward<T>(x: T): T;
    }
    /** Dimensions from `startDim` (1) to `endDim` (-1) as one. */
    class Flatten extends Module {
      constructor(options?: { startDim?: number; endDim?: number });
      forward(x: Tensor): Tensor;
    }
    type PaddingMode = "zeros" | "reflect" | "replicate" | "circular";
    interface ConvOptions<N> {
      stride?: N;
      /** "same" keeps the length, at stride 1. */
      padding?: N | "same" | "valid";
      dilation?: N;
      groups?: number;
      bias?: boolean;
      paddingMode?: PaddingMode;
    }
    type Pair = number | readonly [number, number];
    /** `[batch, in, length]` to `[batch, out, length']`. */
    class Conv1d extends Module {
      constructor(inChannels: number, outChannels: number, kernelSize: number | readonly [number], options?: ConvOptions<number | readonly [number]>);
      /** `[out, in / groups, kernel]` */
      weight: Tensor;
      bias: Tensor | null;
      forward(x: Tensor): Tensor;
    }
    /** `[batch, in, height, width]` to `[batch, out, height', width']`. */
    class Conv2d extends Module {
      constructor(inChannels: number, outChannels: number, kernelSize: Pair, options?: ConvOptions<Pair>);
      /** `[out, in / groups, kernel, kernel]` */
      weight: Tensor;
      bias: Tensor | null;
      forward(x: Tensor): Tensor;
    }
    class ConvTranspose2d extends Module {
      constructor(
        inChannels: number,
        outChannels: number,
        kernelSize: Pair,
        options?: { stride?: Pair; padding?: Pair; outputPadding?: Pair; dilation?: Pair; groups?: number; bias?: boolean },
      );
      /** `[in, out / groups, kernel, kernel]` */
      weight: Tensor;
      bias: Tensor | null;
      forward(x: Tensor): Tensor;
    }
    /** Integers `[...]` to rows of a table `[..., embeddingDim]`. */
    class Embedding extends Module {
      constructor(numEmbeddings: number, embeddingDim: number, options?: { paddingIdx?: number | null });
      static fromPretrained(table: Tensor, options?: { freeze?: boolean; paddingIdx?: number | null }): Embedding;
      /** `[numEmbeddings, embeddingDim]` */
      weight: Tensor;
      forward(ids: Tensor): Tensor;
    }
    /** Mean 0 and variance 1 over the last dimensions. */
    class LayerNorm extends Module {
      constructor(normalizedShape: Dims, options?: { eps?: number; elementwiseAffine?: boolean; bias?: boolean });
      weight: Tensor | null;
      bias: Tensor | null;
      forward(x: Tensor): Tensor;
    }
    /** Root mean square 1 over the last dimensions; `eps` null is the dtype's own. */
    class RMSNorm extends Module {
      constructor(normalizedShape: Dims, options?: { eps?: number | null; elementwiseAffine?: boolean });
      weight: Tensor | null;
      forward(x: Tensor): Tensor;
    }
    interface BatchNormOptions {
      eps?: number;
      /** Share of the new batch in the running values; null: the mean over all batches. */
      momentum?: number | null;
      affine?: boolean;
      trackRunningStats?: boolean;
    }
    class BatchNorm1d extends Module {
      constructor(numFeatures: number, options?: BatchNormOptions);
      weight: Tensor | null;
      bias: Tensor | null;
      runningMean: Tensor | null;
      runningVar: Tensor | null;
      numBatchesTracked: Tensor | null;
      /** `[n, features]` or `[n, features, length]` */
      forward(x: Tensor): Tensor;
    }
    class BatchNorm2d extends Module {
      constructor(numFeatures: number, options?: BatchNormOptions);
      weight: Tensor | null;
      bias: Tensor | null;
      runningMean: Tensor | null;
      runningVar: Tensor | null;
      numBatchesTracked: Tensor | null;
      /** `[n, channels, height, width]` */
      forward(x: Tensor): Tensor;
    }
    class GroupNorm extends Module {
      constructor(numGroups: number, numChannels: number, options?: { eps?: number; affine?: boolean });
      weight: Tensor | null;
      bias: Tensor | null;
      /** `[n, channels, ...]` */
      forward(x: Tensor): Tensor;
    }
    class Dropout extends Module {
      constructor(p?: number);
      p: number;
      forward(x: Tensor): Tensor;
    }
    class MaxPool2d extends Module {
      constructor(kernelSize: Pair, options?: { stride?: Pair; padding?: Pair; dilation?: Pair; ceilMode?: boolean });
      forward(x: Tensor): Tensor;
    }
    class AvgPool2d extends Module {
      constructor(kernelSize: Pair, options?: { stride?: Pair; padding?: Pair; ceilMode?: boolean; countIncludePad?: boolean });
      forward(x: Tensor): Tensor;
    }
    interface AttentionMasks {
      /** `[batch, source]`; true hides. */
      keyPaddingMask?: Tensor | null;
      /** `[length, source]` or `[batch * heads, length, source]`; true hides, numbers are added. */
      attnMask?: Tensor | null;
      isCausal?: boolean;
    }
    /** `[length, batch, embedDim]`, or `[batch, length, embedDim]` with `batchFirst`. */
    class MultiheadAttention extends Module {
      constructor(
        embedDim: number,
        numHeads: number,
        options?: { dropout?: number; bias?: boolean; batchFirst?: boolean; kdim?: number; vdim?: number },
      );
      outProj: Linear;
      forward(query: Tensor, key: Tensor, value: Tensor, options: AttentionMasks & { needWeights: false }): [Tensor, null];
      forward(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        options?: AttentionMasks & { needWeights?: boolean; averageAttnWeights?: boolean },
      ): [Tensor, Tensor];
    }
    class TransformerEncoderLayer extends Module {
      constructor(
        dModel: number,
        nhead: number,
        options?: {
          dimFeedforward?: number;
          dropout?: number;
          activation?: "relu" | "gelu" | ((x: Tensor) => Tensor);
          layerNormEps?: number;
          batchFirst?: boolean;
          normFirst?: boolean;
          bias?: boolean;
        },
      );
      forward(src: Tensor, options?: { srcMask?: Tensor | null; srcKeyPaddingMask?: Tensor | null; isCausal?: boolean }): Tensor;
    }
    interface RecurrentOptions {
      numLayers?: number;
      bias?: boolean;
      batchFirst?: boolean;
      dropout?: number;
      bidirectional?: boolean;
    }
    /** Input `[length, batch, inputSize]`, state `[layers * directions, batch, hiddenSize]`. */
    class RNN extends Module {
      constructor(inputSize: number, hiddenSize: number, options?: RecurrentOptions & { nonlinearity?: "tanh" | "relu" });
      forward(input: Tensor, h0?: Tensor | null): [Tensor, Tensor];
    }
    class LSTM extends Module {
      constructor(inputSize: number, hiddenSize: number, options?: RecurrentOptions);
      forward(input: Tensor, state?: readonly [Tensor, Tensor] | null): [Tensor, [Tensor, Tensor]];
    }
    class GRU extends Module {
      constructor(inputSize: number, hiddenSize: number, options?: RecurrentOptions);
      forward(input: Tensor, h0?: Tensor | null): [Tensor, Tensor];
    }
    /** Modules one behind the other: a list of them, or an object that names them. */
    class Sequential extends Module {
      constructor(...layers: Module[]);
      constructor(layers: Record<string, Module>);
      readonly length: number;
      [index: number]: Module;
      [Symbol.iterator](): IterableIterator<Module>;
      forward(x: any): any;
    }
    /** A list of modules; has no forward of its own. */
    class ModuleList<M extends Module = any> extends Module {
      constructor(modules?: Iterable<M>);
      readonly length: number;
      [index: number]: M;
      append(module: M): this;
      extend(modules: Iterable<M>): this;
      at(index: number): M | undefined;
      [Symbol.iterator](): IterableIterator<M>;
    }
    class ReLU extends Module {
      forward(x: Tensor): Tensor;
    }
    class Tanh extends Module {
      forward(x: Tensor): Tensor;
    }
    class Sigmoid extends Module {
      forward(x: Tensor): Tensor;
    }
    class SiLU extends Module {
      forward(x: Tensor): Tensor;
    }
    class GELU extends Module {
      constructor(options?: { approximate?: "none" | "tanh" });
      forward(x: Tensor): Tensor;
    }
    class LeakyReLU extends Module {
      constructor(negativeSlope?: number | { negativeSlope?: number });
      forward(x: Tensor): Tensor;
    }
    class ELU extends Module {
      constructor(alpha?: number | { alpha?: number });
      forward(x: Tensor): Tensor;
    }
    class Softplus extends Module {
      constructor(options?: { beta?: number; threshold?: number });
      forward(x: Tensor): Tensor;
    }
    class Softmax extends Module {
      constructor(dim?: number | { dim?: number });
      forward(x: Tensor): Tensor;
    }
    class LogSoftmax extends Module {
      constructor(dim?: number | { dim?: number });
      forward(x: Tensor): Tensor;
    }
    class CrossEntropyLoss extends Module {
      constructor(options?: { weight?: Tensor; reduction?: Reduction; ignoreIndex?: number; labelSmoothing?: number });
      forward(input: Tensor, target: Tensor): Tensor;
    }
    class NLLLoss extends Module {
      constructor(options?: { weight?: Tensor; reduction?: Reduction; ignoreIndex?: number });
      forward(input: Tensor, target: Tensor): Tensor;
    }
    class MSELoss extends Module {
      constructor(options?: { reduction?: Reduction });
      forward(input: Tensor, target: Tensor): Tensor;
    }
    class L1Loss extends Module {
      constructor(options?: { reduction?: Reduction });
      forward(input: Tensor, target: Tensor): Tensor;
    }
    class SmoothL1Loss extends Module {
      constructor(options?: { reduction?: Reduction; beta?: number });
      forward(input: Tensor, target: Tensor): Tensor;
    }
    class BCEWithLogitsLoss extends Module {
      constructor(options?: { weight?: Tensor; posWeight?: Tensor; reduction?: Reduction });
      forward(input: Tensor, target: Tensor): Tensor;
    }
    /** First values of parameters, written in place; each gives its tensor. */
    namespace init {
      function uniform_(t: Tensor, a?: number, b?: number): Tensor;
      function normal_(t: Tensor, mean?: number, std?: number): Tensor;
      /** Normal, cut off below a (-2) and above b (2). */
      function truncNormal_(t: Tensor, mean?: number, std?: number, a?: number, b?: number): Tensor;
      function constant_(t: Tensor, value: number): Tensor;
      function zeros_(t: Tensor): Tensor;
      function ones_(t: Tensor): Tensor;
      function eye_(t: Tensor): Tensor;
      function xavierUniform_(t: Tensor, options?: { gain?: number }): Tensor;
      function xavierNormal_(t: Tensor, options?: { gain?: number }): Tensor;
      interface KaimingOptions {
        /** Slope of leakyRelu below 0. */
        a?: number;
        mode?: "fanIn" | "fanOut";
        nonlinearity?: Nonlinearity;
      }
      type Nonlinearity = "linear" | "conv1d" | "conv2d" | "sigmoid" | "tanh" | "relu" | "leakyRelu" | "selu";
      function kaimingUniform_(t: Tensor, options?: KaimingOptions): Tensor;
      function kaimingNormal_(t: Tensor, options?: KaimingOptions): Tensor;
      function orthogonal_(t: Tensor, options?: { gain?: number }): Tensor;
      function calculateGain(nonlinearity: Nonlinearity, param?: number): number;
    }
    namespace utils {
      /** Scales all gradients so that their common norm is at most `maxNorm`; gives the norm before. */
      function clipGradNorm_(
        parameters: Tensor | Iterable<Tensor>,
        maxNorm: number,
        options?: { normType?: number; errorIfNonfinite?: boolean },
      ): Tensor;
      function clipGradValue_(parameters: Tensor | Iterable<Tensor>, clipValue: number): void;
      function parametersToVector(parameters: Iterable<Tensor>): Tensor;
      function vectorToParameters(vector: Tensor, parameters: Iterable<Tensor>): void;
    }
  }

  /**
   * Files of tensors. Calls are synchronous (`await` in front of one does no harm). Loading copies
   * into tensor memory: a file that changes later changes no tensor, and the memory limit counts
   * (TensorMemoryError). Saving is complete or not at all: a temporary file in the same folder is
   * synced and renamed; symbolic links are followed, modes are kept. Tensors are saved row-major,
   * whatever their strides. A wrong file is an Error `io.NAME: FILE: problem`; one of the system
   * has its `code`, such as "ENOENT". `file` is a path or a `file:` URL.
   */
  export namespace io {
    type File = string | URL;
    type TensorsByName = Record<string, Tensor>;
    /** Tensors in the order of the file; with `names` only these are read. */
    function loadSafetensors(file: File, options?: { names?: readonly string[] }): TensorsByName;
    /** What a file holds, without reading it. A dtype that has no counterpart keeps the file's name. */
    function safetensorsHeader(file: File): {
      metadata: Record<string, string>;
      tensors: Record<string, { dtype: DType | string; shape: number[]; bytes: number }>;
    };
    function saveSafetensors(
      file: File,
      tensors: Readonly<TensorsByName> | ReadonlyMap<string, Tensor>,
      options?: { metadata?: Readonly<Record<string, string>> },
    ): void;
    /** Either byte order, C and Fortran order. Two-byte void (`V2`, from ml_dtypes) is bfloat16. */
    function loadNpy(file: File): Tensor;
    function saveNpy(file: File, t: Tensor): void;
    /** Stored or deflated arrays; with `names` only these are read. */
    function loadNpz(file: File, options?: { names?: readonly string[] }): TensorsByName;
    /** As NumPy's `savez`, or `savez_compressed`. */
    function saveNpz(
      file: File,
      tensors: Readonly<TensorsByName> | ReadonlyMap<string, Tensor>,
      options?: { compressed?: boolean },
    ): void;
  }

  export namespace optim {
    /** Settings of one group, which schedules and programs may change between steps. */
    interface ParamGroup {
      params: Tensor[];
      lr: number;
      /** The rate that schedules start from. */
      initialLr?: number;
      [setting: string]: any;
    }
    type Params<O> = Iterable<Tensor> | Iterable<O & { params: Tensor | Iterable<Tensor> }>;
    interface OptimizerState {
      state: Record<string, Record<string, any>>;
      paramGroups: Record<string, any>[];
    }
    class Optimizer<O = any> {
      paramGroups: ParamGroup[];
      /** The learning rate of the first group; setting it sets that of all. */
      lr: number;
      addParamGroup(group: O & { params: Tensor | Iterable<Tensor> }): void;
      /** Updates all parameters that have a gradient. */
      step(): void;
      step<T>(closure: () => T): T;
      /** Forgets all gradients. */
      zeroGrad(): void;
      stateDict(): OptimizerState;
      /** Goes on bit for bit from what `stateDict` gave. */
      loadStateDict(saved: OptimizerState): void;
    }
    interface SGDOptions {
      /** 1e-3 */
      lr?: number;
      momentum?: number;
      dampening?: number;
      weightDecay?: number;
      nesterov?: boolean;
    }
    class SGD extends Optimizer<SGDOptions> {
      constructor(parameters: Params<SGDOptions>, options?: SGDOptions);
    }
    interface AdamOptions {
      /** 1e-3 */
      lr?: number;
      /** [0.9, 0.999] */
      betas?: [number, number];
      /** 1e-8 */
      eps?: number;
      weightDecay?: number;
    }
    class Adam extends Optimizer<AdamOptions> {
      constructor(parameters: Params<AdamOptions>, options?: AdamOptions);
    }
    /** Weight decay 0.01 by default, apart from the gradient. */
    class AdamW extends Optimizer<AdamOptions> {
      constructor(parameters: Params<AdamOptions>, options?: AdamOptions);
    }
    interface RMSpropOptions {
      /** 1e-2 */
      lr?: number;
      /** 0.99 */
      alpha?: number;
      eps?: number;
      weightDecay?: number;
      momentum?: number;
      centered?: boolean;
    }
    class RMSprop extends Optimizer<RMSpropOptions> {
      constructor(parameters: Params<RMSpropOptions>, options?: RMSpropOptions);
    }
    interface AdagradOptions {
      /** 1e-2 */
      lr?: number;
      lrDecay?: number;
      weightDecay?: number;
      initialAccumulatorValue?: number;
      eps?: number;
    }
    class Adagrad extends Optimizer<AdagradOptions> {
      constructor(parameters: Params<AdagradOptions>, options?: AdagradOptions);
    }
    interface LionOptions {
      /** 1e-4 */
      lr?: number;
      /** [0.9, 0.99] */
      betas?: [number, number];
      weightDecay?: number;
    }
    class Lion extends Optimizer<LionOptions> {
      constructor(parameters: Params<LionOptions>, options?: LionOptions);
    }
    /** Moving averages of parameters. */
    class EMA {
      constructor(parameters: nn.Module | Iterable<Tensor>, options?: { decay?: number });
      readonly parameters: Tensor[];
      readonly averages: Tensor[];
      /** Call it after the optimizer's step. */
      step(): void;
      /** Writes the averages into the parameters, for good. */
      copyTo(): void;
      /** Runs `fn` with the averages as parameters; a promise that it gives is waited for. */
      swap<T>(fn: () => T): T;
      stateDict(): { decay: number; averages: Tensor[] };
      loadStateDict(saved: { decay: number; averages: Tensor[] }): void;
    }
    /** Schedules of the learning rate. Call `step()` after the optimizer's. */
    namespace lr {
      class Schedule {
        readonly optimizer: Optimizer;
        lastEpoch: number;
        step(epoch?: number): void;
        getLastLr(): number[];
        stateDict(): Record<string, any>;
        loadStateDict(saved: Record<string, any>): void;
      }
      /** Times `gamma` (0.1) every `stepSize` steps. */
      class StepLR extends Schedule {
        constructor(optimizer: Optimizer, stepSize: number, options?: { gamma?: number });
      }
      class MultiStepLR extends Schedule {
        constructor(optimizer: Optimizer, milestones: Iterable<number>, options?: { gamma?: number });
      }
      class ExponentialLR extends Schedule {
        constructor(optimizer: Optimizer, gamma: number);
      }
      /** From `startFactor` (1/3) to `endFactor` (1) over `totalIters` (5) steps: a warm-up. */
      class LinearLR extends Schedule {
        constructor(optimizer: Optimizer, options?: { startFactor?: number; endFactor?: number; totalIters?: number });
      }
      class ConstantLR extends Schedule {
        constructor(optimizer: Optimizer, options?: { factor?: number; totalIters?: number });
      }
      /** Half a cosine down to `etaMin` (0) over `tMax` steps. */
      class CosineAnnealingLR extends Schedule {
        constructor(optimizer: Optimizer, tMax: number, options?: { etaMin?: number });
      }
      class CosineAnnealingWarmRestarts extends Schedule {
        constructor(optimizer: Optimizer, t0: number, options?: { tMult?: number; etaMin?: number });
      }
      class LambdaLR extends Schedule {
        constructor(optimizer: Optimizer, lrLambda: ((step: number) => number) | readonly ((step: number) => number)[]);
      }
      class OneCycleLR extends Schedule {
        constructor(
          optimizer: Optimizer,
          maxLr: number | readonly number[],
          options: {
            totalSteps?: number;
            epochs?: number;
            stepsPerEpoch?: number;
            pctStart?: number;
            annealStrategy?: "cos" | "linear";
            cycleMomentum?: boolean;
            baseMomentum?: number;
            maxMomentum?: number;
            divFactor?: number;
            finalDivFactor?: number;
            threePhase?: boolean;
          },
        );
      }
      class ReduceLROnPlateau {
        constructor(
          optimizer: Optimizer,
          options?: {
            mode?: "min" | "max";
            factor?: number;
            patience?: number;
            threshold?: number;
            thresholdMode?: "rel" | "abs";
            cooldown?: number;
            minLr?: number | readonly number[];
            eps?: number;
          },
        );
        step(metric: number | Tensor): void;
        getLastLr(): number[];
        stateDict(): Record<string, any>;
        loadStateDict(saved: Record<string, any>): void;
      }
      /** `schedulers[i]` up to step `milestones[i]`, then the next one from its own start. */
      class SequentialLR {
        constructor(optimizer: Optimizer, schedulers: readonly Schedule[], milestones: readonly number[]);
        step(): void;
        getLastLr(): number[];
        stateDict(): Record<string, any>;
        loadStateDict(saved: Record<string, any>): void;
      }
    }
  }

  export namespace data {
    /** Items by index: a class with `length` (a field or a getter) and `get(index)`. */
    abstract class Dataset<T = any> {
      abstract readonly length: number;
      abstract get(index: number): T;
      /** Where it is there, whole batches, which are not collated. */
      getBatch?(indices: number[]): any;
      [Symbol.iterator](): IterableIterator<T>;
    }
    /** Rows of tensors with equal first dimensions. */
    class TensorDataset extends Dataset<Tensor[]> {
      constructor(...tensors: Tensor[]);
      readonly tensors: Tensor[];
      readonly length: number;
      get(index: number): Tensor[];
      getBatch(indices: number[]): Tensor[];
    }
    type Indexed<T> = { readonly length: number; get(index: number): T } | readonly T[];
    class Subset<T = any> extends Dataset<T> {
      constructor(dataset: Indexed<T>, indices: Iterable<number>);
      readonly length: number;
      get(index: number): T;
    }
    /** Parts at random; lengths, or fractions that add up to 1. */
    function randomSplit<T>(dataset: Indexed<T>, lengths: readonly number[], options?: { seed?: number }): Subset<T>[];
    /**
     * Items as one batch: tensors are stacked; numbers become a float32 tensor, BigInts int64,
     * booleans bool; texts an array; arrays and plain objects go position by position, key by key.
     */
    function collate(items: readonly any[]): any;
    interface LoaderOptions<T, B> {
      /** 1; null gives single items. */
      batchSize?: number | null;
      shuffle?: boolean;
      /** Makes the orders of all loops the same at every run. */
      seed?: number;
      dropLast?: boolean;
      collate?: (items: T[]) => B;
      /** Indices in the order wanted. */
      sampler?: Iterable<number>;
    }
    class DataLoader<T = any, B = any> {
      constructor(dataset: Indexed<T> | Iterable<T> | AsyncIterable<T>, options?: LoaderOptions<T, B>);
      /** Batches in one loop; a TypeError for an iterable dataset. */
      readonly length: number;
      [Symbol.iterator](): IterableIterator<B>;
      [Symbol.asyncIterator](): AsyncIterableIterator<B>;
      stateDict(): { epoch: number };
      loadStateDict(saved: { epoch: number }): void;
    }
    interface CsvOptions {
      /** "," */
      separator?: string;
      /** The first row names the columns (true). */
      header?: boolean;
    }
    interface CsvTensorOptions extends CsvOptions {
      /** Names, or numbers from 0. */
      columns?: readonly (string | number)[];
      dtype?: DType;
    }
    /** Rows of texts; a RangeError names the line of a ragged row. */
    function parseCsv(text: string, options?: CsvOptions): { columns: string[] | null; rows: string[][]; lines: number[] };
    /** Numbers of a CSV text, `[rows, columns]`. */
    function csvToTensor(text: string, options?: CsvTensorOptions): Tensor;
    /** Numbers of a CSV file, `[rows, columns]`; errors of the system have their `code`, such as "ENOENT". */
    function readCsv(file: string | URL, options?: CsvTensorOptions): Tensor;
  }

  export namespace metrics {
    /** Share from 0 to 1; predictions are classes `[n]` or scores `[n, classes]`. */
    function accuracy(predictions: Tensor, target: Tensor, options?: { topk?: number }): number;
    /** int64 `[classes, classes]`: row the target, column the prediction. */
    function confusionMatrix(predictions: Tensor, target: Tensor, options?: { numClasses?: number }): Tensor;
    function precisionRecall(matrix: Tensor): {
      precision: number[];
      recall: number[];
      f1: number[];
      meanPrecision: number;
      meanRecall: number;
      meanF1: number;
    };
    /** A running mean. */
    class Mean {
      update(value: number | Tensor, n?: number): this;
      readonly value: number;
      readonly count: number;
      reset(): void;
    }
  }

  export interface LayerSummary {
    path: string;
    name: string;
    depth: number;
    output: string;
    parameters: number;
  }
  export interface ModelSummary {
    layers: LayerSummary[];
    totalParameters: number;
    trainableParameters: number;
    parameterBytes: number;
    toString(): string;
  }
  /** Runs the model once on a tensor, zeros of a shape, or an array of arguments; prints as a table. */
  export function summary(model: nn.Module, input: Tensor | Shape | readonly any[]): ModelSummary;

  export interface Progress<T> extends Iterable<T>, AsyncIterable<T> {
    /** Metrics to show behind the rate. */
    set(metrics: Record<string, number | string | Tensor>): this;
  }
  /** The items of `iterable`, with a line on standard error: how far, how fast, how long still. */
  export function progress(steps: number, options?: { label?: string; total?: number }): Progress<number>;
  export function progress<T>(
    iterable: Iterable<T> | AsyncIterable<T>,
    options?: { label?: string; total?: number },
  ): Progress<T>;
  /**
   * Waits until timers, I/O and other tasks of the event loop have had their turn. The option
   * `--yield` and the directive "use yield", at the top of a module or of a function, have the same
   * done in loops of asynchronous functions and of a module's top level, about every 8 ms.
   */
  export function nextTurn(): Promise<void>;

  export interface CheckpointInfo {
    step: number;
    metric: number | null;
    file: string;
  }
  /** A folder of checkpoints that keeps the newest and the `keep` (3) best by metric. */
  export class Checkpoints {
    constructor(folder: string, options?: { keep?: number; mode?: "min" | "max" });
    /** Saves the `stateDict` of each part, or plain trees of tensors and values; gives the file. */
    save(step: number, parts: Record<string, any>, options?: { metric?: number | Tensor | null }): string;
    /** Loads into the parts; null where there is no checkpoint. */
    load(
      parts: Record<string, any>,
      options?: { which?: "latest" | "best" | number },
    ): { step: number; metric: number | null; parts: Record<string, any> } | null;
    /** Oldest first. */
    list(): CheckpointInfo[];
    latest(): CheckpointInfo | null;
    best(): CheckpointInfo | null;
  }
}
