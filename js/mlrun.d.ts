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

    /** The only element: a number, for int64 a BigInt where a number would lose bits. */
    item(): number | bigint | boolean;
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
    /** Frees the handle now; a later use is a ReferenceError that says where this was. */
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
    roll(shifts: Dims, dims?: Dims): Tensor;
    repeat(counts: readonly number[]): Tensor;
    repeat(...counts: number[]): Tensor;
    tile(counts: readonly number[]): Tensor;
    tile(...counts: number[]): Tensor;
    /**
     * NumPy-style: a number, `"start:stop:step"`, `":"`, `"..."`, null (new axis), tensors of
     * integers (negative ones count from the end), boolean masks. A view where no index is a tensor.
     * RangeError for positions outside.
     */
    index(...specs: (number | string | null | Tensor)[]): Tensor;
    gather(dim: number, index: Tensor): Tensor;
    scatterAdd(dim: number, index: Tensor, source: Tensor): Tensor;
    indexSelect(dim: number, index: Tensor): Tensor;
    indexAdd(dim: number, index: Tensor, source: Tensor): Tensor;
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
  export function noGrad<T>(fn: () => T): T;
  export function enableGrad<T>(fn: () => T): T;
  export function grad<P extends Tree, A extends unknown[]>(fn: (tree: P, ...rest: A) => Tensor): (tree: P, ...rest: A) => P;
  export function valueAndGrad<P extends Tree, A extends unknown[]>(
    fn: (tree: P, ...rest: A) => Tensor,
  ): (tree: P, ...rest: A) => [Tensor, P];
  /**
   * `fn(...args)` without keeping what its gradient needs: backward runs `fn` again, with the same
   * random numbers. `fn` gives a tensor or an array of tensors.
   */
  export function checkpoint<A extends unknown[], R extends Tensor | Tensor[]>(fn: (...args: A) => R, ...args: A): R;
  export namespace autograd {
    function grad(
      outputs: Tensor | readonly Tensor[],
      inputs: Tensor | readonly Tensor[],
      options?: {
        createGraph?: boolean;
        retainGraph?: boolean;
        allowUnused?: boolean;
        gradOutputs?: Tensor | readonly (Tensor | null)[];
      },
    ): (Tensor | null)[];
    /**
     * Runs `fn`; a backward pass in it that meets a NaN throws an error that names the op whose
     * derivative gave it and the line that called the op. Slow.
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
    liveBytes: number;
    peakBytes: number;
    /** Allocated since the last collection and not released. */
    pendingBytes: number;
    /** Freed blocks that wait for reuse. */
    pooledBytes: number;
    released: { byPass: Released; byMinorGC: Released; byMajorGC: Released; byDispose: Released };
  }
  export function memoryStats(): MemoryStats;
  export function resetPeakMemory(): void;
  /** Bytes of tensors that may be live at once; Infinity takes the limit away. */
  export function setMemoryLimit(bytes: number): void;
  export function gc(): void;
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
    function mseLoss(input: Tensor, target: Tensor, options?: { weight?: Tensor; reduction?: Reduction }): Tensor;
    function l1Loss(input: Tensor, target: Tensor, options?: { weight?: Tensor; reduction?: Reduction }): Tensor;
    /** Squared below `beta` (1), absolute above. */
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
    class Module {
      training: boolean;
      forward(...args: any[]): any;
      registerBuffer(name: string, t: Tensor): void;
      parameters(): Tensor[];
      namedParameters(): [string, Tensor][];
      modules(): Module[];
      namedModules(): [string, Module][];
      stateDict(): Record<string, Tensor>;
      loadStateDict(
        state: Record<string, Tensor>,
        options?: { strict?: boolean },
      ): { missing: string[]; unexpected: string[] };
      train(on?: boolean): this;
      eval(): this;
      to(device: Device): this;
    }
    /** `[..., inFeatures]` to `[..., outFeatures]`. */
    class Linear extends Module {
      constructor(inFeatures: number, outFeatures: number, options?: { bias?: boolean });
      weight: Tensor;
      bias: Tensor | null;
      forward(x: Tensor): Tensor;
    }
    class Sequential extends Module {
      constructor(...layers: Module[]);
      readonly length: number;
      [index: number]: Module;
      [Symbol.iterator](): IterableIterator<Module>;
      forward(x: any): any;
    }
    class ReLU extends Module {}
    class Tanh extends Module {}
    class Sigmoid extends Module {}
    class SiLU extends Module {}
    class GELU extends Module {
      constructor(options?: { approximate?: "none" | "tanh" });
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
    interface AdamOptions {
      lr?: number;
      betas?: [number, number];
      eps?: number;
      weightDecay?: number;
    }
    class SGD {
      constructor(parameters: Iterable<Tensor>, options?: { lr?: number; momentum?: number; weightDecay?: number });
      step(): void;
      zeroGrad(): void;
    }
    class Adam {
      constructor(parameters: Iterable<Tensor>, options?: AdamOptions);
      step(): void;
      zeroGrad(): void;
    }
    /** Weight decay 0.01 by default, apart from the gradient. */
    class AdamW {
      constructor(parameters: Iterable<Tensor>, options?: AdamOptions);
      step(): void;
      zeroGrad(): void;
    }
  }
}
