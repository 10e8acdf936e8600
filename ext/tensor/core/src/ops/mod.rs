//! The rows of the op table that are not elementwise, by family.
//!
//! A row states its shape rule and derivative beside it. A kernel row's comment says what the
//! backend gets; inputs have the plan's dtype and any strides, outputs are contiguous unless a
//! comment says otherwise.

pub mod create;
pub mod index;
pub mod linalg;
pub mod movement;
pub mod nn;
pub mod reduce;

/// Calls `$callback! { ... others { Variant = row; ... } }`.
macro_rules! other_rows {
    ($callback:ident $($elementwise:tt)*) => { $callback! { $($elementwise)* others {
        Where = ops::create::WHERE;
        Full = ops::create::FULL;
        Arange = ops::create::ARANGE;
        Uniform = ops::create::UNIFORM;
        Normal = ops::create::NORMAL;
        RandInt = ops::create::RAND_INT;
        RandPerm = ops::create::RAND_PERM;
        Rand = ops::create::RAND;
        Randn = ops::create::RANDN;
        DrawInt = ops::create::DRAW_INT;
        DrawPerm = ops::create::DRAW_PERM;
        Cast = ops::movement::CAST;
        Copy = ops::movement::COPY;
        View = ops::movement::VIEW;
        Reshape = ops::movement::RESHAPE;
        Expand = ops::movement::EXPAND;
        Permute = ops::movement::PERMUTE;
        Slice = ops::movement::SLICE;
        SliceBackward = ops::movement::SLICE_BACKWARD;
        Select = ops::movement::SELECT;
        Concat = ops::movement::CONCAT;
        Flip = ops::movement::FLIP;
        Tril = ops::movement::TRIL;
        Triu = ops::movement::TRIU;
        Sum = ops::reduce::SUM;
        Mean = ops::reduce::MEAN;
        Amax = ops::reduce::AMAX;
        Amin = ops::reduce::AMIN;
        Argmax = ops::reduce::ARGMAX;
        Argmin = ops::reduce::ARGMIN;
        Any = ops::reduce::ANY;
        All = ops::reduce::ALL;
        MaxDim = ops::reduce::MAX_DIM;
        MinDim = ops::reduce::MIN_DIM;
        Bmm = ops::linalg::BMM;
        Matmul = ops::linalg::MATMUL;
        IndexSelect = ops::index::INDEX_SELECT;
        IndexAdd = ops::index::INDEX_ADD;
        Gather = ops::index::GATHER;
        ScatterAdd = ops::index::SCATTER_ADD;
        Softmax = ops::nn::SOFTMAX;
        LogSoftmax = ops::nn::LOG_SOFTMAX;
        CrossEntropy = ops::nn::CROSS_ENTROPY;
        AdamStep = ops::nn::ADAM_STEP;
    } } };
}
pub(crate) use other_rows;
