//! Names that say whether a tensor is near.

use std::collections::HashSet;
use std::sync::OnceLock;

/// Words of a text, found by hash.
pub(super) struct Words {
    text: &'static str,
    set: OnceLock<HashSet<&'static str>>,
}

const fn words(text: &'static str) -> Words {
    Words { text, set: OnceLock::new() }
}

impl Words {
    pub fn has(&self, word: &str) -> bool {
        self.set.get_or_init(|| self.text.split_ascii_whitespace().collect()).contains(word)
    }
}

/// Members of the API's classes that say "tensor". Names that builtins have too are in `COMMON`.
pub(super) static HINTS: Words = words(
    " T abs acos addParamGroup add_ amax amin argmax argmin argsort asin atan atan2
    backward bitwiseAnd bitwiseOr bitwiseXor buffers chunk clamp clone contiguous copyTo copy_ cosh
    cumprod cumsum detach diagonal dispose div div_ dot dtype einsum elu erf expand expm1 extraRepr fill_
    flatten flip floorDivide forward fromPretrained gather ge gelu getBatch getLastLr getSubmodule
    grad gt indexAdd indexCopy indexPut indexPut_ indexSelect isDisposed isLeaf isfinite isinf isnan item lastEpoch le leakyRelu
    lerp loadStateDict log10 log1p log2 logSoftmax logicalAnd logicalNot logicalOr logsumexp lt maskedFill
    matmul maximum mean minimum mul mul_ namedBuffers namedChildren namedModules namedParameters
    narrow ndim neg nonzero norm numBatchesTracked optimizer outProj outer paramGroups parameters
    permute pow prod reciprocal registerBuffer registerForwardHook registerForwardPreHook relu
    remainder requiresGrad requiresGrad_ reshape rsqrt runningMean runningVar scatterAdd shape
    sigmoid silu sinh softmax softplus sqrt square squeeze stateDict std sub sub_ sum tan tanh tensors tile
    toArray toTypedArray topk train transpose tril triu trunc unbind unsqueeze variance zeroGrad
    zero_ ",
);

/// Methods of the API whose result programs convert to a number or a text where it stands.
static NUMBERS: Words = words(
    " abs all amax amin any argmax argmin clamp crossEntropy detach div dot exp l1Loss
    log logsumexp max mean min mseLoss mul neg nllLoss norm prod reshape select smoothL1Loss bceWithLogits
    clipGradNorm_ sqrt square squeeze std sub sum variance ",
);

/// A method of this name gives a tensor, as far as a name tells.
pub(crate) fn gives_tensor(name: &str) -> bool {
    NUMBERS.has(name)
}

/// Members of the API's classes that plain programs use as well.
#[cfg(test)]
pub(super) static COMMON: Words = words(
    " add all any append apply at averages best bias ceil children constructor
    cos count data device eq eval exp extend floor get inFeatures index latest length list load log
    lr max min modules ne outFeatures p pad repeat reset roll round save select sign sin size
    sort split step swap to toJSON toString training update value view weight where ",
);

/// Globals that never give a tensor.
pub(super) static PLAIN_GLOBALS: Words = words(
    " console Math JSON Object Array String Number Boolean Symbol BigInt Map
    Set WeakMap WeakSet WeakRef FinalizationRegistry Promise Proxy Reflect Date RegExp Error
    TypeError RangeError SyntaxError ReferenceError EvalError URIError AggregateError Iterator Intl
    Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array
    BigInt64Array BigUint64Array Float16Array Float32Array Float64Array ArrayBuffer
    SharedArrayBuffer DataView Atomics Infinity NaN parseInt parseFloat isNaN isFinite
    encodeURIComponent decodeURIComponent encodeURI decodeURI setTimeout setInterval clearTimeout
    clearInterval setImmediate clearImmediate queueMicrotask performance URL URLSearchParams
    TextEncoder TextDecoder AbortController AbortSignal Event EventTarget structuredClone crypto
    fetch Headers Request Response Blob FormData process Buffer atob btoa arguments ",
);
