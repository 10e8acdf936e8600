//! The rows of the op table that are not elementwise, by family.
//!
//! A row states its shape rule and derivative beside it. A kernel row's comment says what the
//! backend gets; inputs have the plan's dtype and any strides, outputs are contiguous unless a
//! comment says otherwise.

pub mod attention;
pub mod conv;
pub mod create;
pub mod index;
pub mod linalg;
pub mod loss;
pub mod movement;
pub mod nn;
pub mod norm;
pub mod place;
pub mod pool;
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
        SoftmaxBackward = ops::nn::SOFTMAX_BACKWARD;
        CrossEntropy = ops::loss::CROSS_ENTROPY;
        NllLoss = ops::loss::NLL_LOSS;
        BceWithLogits = ops::loss::BCE_WITH_LOGITS;
        MseLoss = ops::loss::MSE_LOSS;
        L1Loss = ops::loss::L1_LOSS;
        SmoothL1Loss = ops::loss::SMOOTH_L1_LOSS;
        NormRows = ops::norm::NORM_ROWS;
        NormRowsBackward = ops::norm::NORM_ROWS_BACKWARD;
        LayerNorm = ops::norm::LAYER_NORM;
        RmsNorm = ops::norm::RMS_NORM;
        GroupNorm = ops::norm::GROUP_NORM;
        BatchNorm = ops::norm::BATCH_NORM;
        BatchNormTrain = ops::norm::BATCH_NORM_TRAIN;
        Embedding = ops::place::EMBEDDING;
        DropoutSeeded = ops::place::DROPOUT_SEEDED;
        Dropout = ops::place::DROPOUT;
        PadConstant = ops::place::PAD_CONSTANT;
        Pad = ops::place::PAD;
        Interpolate = ops::place::INTERPOLATE;
        OneHot = ops::place::ONE_HOT;
        Convolve = ops::conv::CONVOLVE;
        ConvolveInput = ops::conv::CONVOLVE_INPUT;
        ConvolveWeight = ops::conv::CONVOLVE_WEIGHT;
        Conv1d = ops::conv::CONV1D;
        Conv2d = ops::conv::CONV2D;
        ConvTranspose1d = ops::conv::CONV_TRANSPOSE1D;
        ConvTranspose2d = ops::conv::CONV_TRANSPOSE2D;
        MaxPoolPlanes = ops::pool::MAX_POOL_PLANES;
        AvgPoolPlanes = ops::pool::AVG_POOL_PLANES;
        AvgPoolPlanesBackward = ops::pool::AVG_POOL_PLANES_BACKWARD;
        MaxPool2d = ops::pool::MAX_POOL2D;
        AvgPool2d = ops::pool::AVG_POOL2D;
        Attention = ops::attention::ATTENTION;
        AttentionBackward = ops::attention::ATTENTION_BACKWARD;
        ScaledDotProductAttention = ops::attention::SCALED_DOT_PRODUCT_ATTENTION;
        AdamStep = ops::nn::ADAM_STEP;
    } } };
}
pub(crate) use other_rows;
