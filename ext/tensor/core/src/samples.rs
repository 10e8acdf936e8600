//! Sample inputs of rows: what property tests, gradient checks and fault injection call them
//! with. A row that has none fails a test.
//!
//! Elementwise rows share samples by the domain of their expression; others name their own with
//! [`OpDef::samples`](crate::OpDef).

use crate::table::{Op, Rule};

/// One call: inputs in the row's order, and attributes as the flat numbers that
/// [`crate::attr::decode`] reads.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub inputs: &'static [Input],
    pub attrs: &'static [f64],
}

/// How a test makes one input of a shape.
#[derive(Clone, Copy, Debug)]
pub enum Input {
    /// Distinct floats of both signs, none near 0.
    Real(&'static [usize]),
    /// Between 0.4 and 2.
    Positive(&'static [usize]),
    /// Between -0.9 and 0.9, none near 0.
    Unit(&'static [usize]),
    /// Whole numbers below the second field, as int64.
    Index(&'static [usize], i64),
    /// Probabilities.
    Chance(&'static [usize]),
    /// Booleans, about half of them true.
    Mask(&'static [usize]),
    Number(f64),
    /// An optional input that is left out.
    Absent,
    /// Whole numbers between -5 and 5 without 0, as int64.
    Whole(&'static [usize]),
}

pub const fn sample(inputs: &'static [Input], attrs: &'static [f64]) -> Sample {
    Sample { inputs, attrs }
}

use Input::*;

const ONE: &[Sample] = &[sample(&[Real(&[2, 3])], &[]), sample(&[Real(&[])], &[])];
const POSITIVE: &[Sample] = &[sample(&[Positive(&[2, 3])], &[])];
const UNIT: &[Sample] = &[sample(&[Unit(&[2, 3])], &[])];
const TWO: &[Sample] = &[
    sample(&[Real(&[2, 3]), Positive(&[2, 3])], &[]),
    sample(&[Real(&[2, 3]), Positive(&[3])], &[]),
    sample(&[Real(&[2, 1]), Positive(&[1, 4])], &[]),
    sample(&[Real(&[]), Positive(&[2])], &[]),
    sample(&[Real(&[2, 3]), Number(2.0)], &[]),
];
const POWERS: &[Sample] =
    &[sample(&[Positive(&[2, 3]), Real(&[3])], &[]), sample(&[Positive(&[2]), Number(3.0)], &[])];
const BITS: &[Sample] = &[sample(&[Whole(&[2, 3]), Whole(&[3])], &[])];
const SOFTPLUS: &[Sample] = &[sample(&[Real(&[2, 3])], &[1.5, 20.0])];
const PARAMETER: &[Sample] = &[sample(&[Real(&[2, 3])], &[0.3])];
const LERP: &[Sample] = &[sample(&[Real(&[2, 3]), Real(&[3])], &[0.3])];

/// Rows that are parts of another one, whose samples reach them.
pub const PARTS: &[(Op, Op)] = &[
    (Op::SoftmaxBackward, Op::Softmax),
    (Op::NormRows, Op::LayerNorm),
    (Op::NormRowsBackward, Op::LayerNorm),
    (Op::BatchNormTrain, Op::BatchNorm),
    (Op::BatchNormTrainBackward, Op::BatchNorm),
    (Op::DropoutSeeded, Op::Dropout),
    (Op::PadConstant, Op::Pad),
    (Op::Convolve, Op::Conv2d),
    (Op::ConvolveInput, Op::Conv2d),
    (Op::ConvolveWeight, Op::Conv2d),
    (Op::MaxPoolPlanes, Op::MaxPool2d),
    (Op::AvgPoolPlanes, Op::AvgPool2d),
    (Op::AvgPoolPlanesBackward, Op::AvgPool2d),
    (Op::Attention, Op::ScaledDotProductAttention),
    (Op::AttentionBackward, Op::ScaledDotProductAttention),
];

const NOTHING: f64 = f64::NAN;

/// Samples of the rows behind `nn.functional`.
fn of_network(op: Op) -> &'static [Sample] {
    match op {
        Op::CrossEntropy => {
            const { &[sample(&[Real(&[2, 3]), Index(&[2], 3), Absent], &[1.0, -100.0, 0.1])] }
        }
        Op::NllLoss => {
            const { &[sample(&[Real(&[2, 3]), Index(&[2], 3), Absent], &[1.0, -100.0])] }
        }
        Op::BceWithLogits => {
            const { &[sample(&[Real(&[2, 3]), Chance(&[2, 3]), Absent, Absent], &[1.0])] }
        }
        Op::MseLoss | Op::L1Loss => {
            const { &[sample(&[Real(&[2, 3]), Unit(&[2, 3]), Absent], &[1.0])] }
        }
        Op::SmoothL1Loss => {
            const { &[sample(&[Real(&[2, 3]), Unit(&[2, 3]), Absent], &[1.0, 0.9])] }
        }
        Op::LayerNorm => {
            const { &[sample(&[Real(&[2, 3]), Positive(&[3]), Real(&[3])], &[1.0, 3.0, 1e-5])] }
        }
        Op::RmsNorm => const { &[sample(&[Real(&[2, 3]), Positive(&[3])], &[1.0, 3.0, 1e-6])] },
        Op::GroupNorm => {
            const { &[sample(&[Real(&[2, 4, 2]), Positive(&[4]), Real(&[4])], &[2.0, 1e-5])] }
        }
        Op::BatchNorm => {
            const {
                &[sample(
                    &[Real(&[3, 2, 2]), Absent, Absent, Positive(&[2]), Real(&[2])],
                    &[1.0, 0.1, 1e-5],
                )]
            }
        }
        Op::Embedding => const { &[sample(&[Index(&[2, 2], 3), Real(&[3, 2])], &[NOTHING])] },
        Op::Dropout => const { &[sample(&[Real(&[2, 3])], &[0.5])] },
        Op::Pad => const { &[sample(&[Real(&[2, 3])], &[2.0, 1.0, 2.0, 0.5, 0.0])] },
        Op::Interpolate => {
            const {
                &[sample(
                    &[Real(&[1, 1, 3, 2])],
                    &[2.0, 4.0, 4.0, 1.0, 0.0, NOTHING, NOTHING, NOTHING],
                )]
            }
        }
        Op::OneHot => const { &[sample(&[Index(&[3], 4)], &[4.0])] },
        Op::Conv1d => {
            const {
                &[sample(
                    &[Real(&[1, 2, 5]), Real(&[2, 2, 3]), Real(&[2])],
                    &[1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0],
                )]
            }
        }
        Op::Conv2d => {
            const {
                &[sample(
                    &[Real(&[1, 2, 4, 4]), Real(&[2, 1, 2, 2]), Real(&[2])],
                    &[2.0, 1.0, 2.0, 2.0, 0.0, 1.0, 2.0, 1.0, 1.0, 2.0, 0.0],
                )]
            }
        }
        Op::ConvTranspose1d => {
            const {
                &[sample(
                    &[Real(&[1, 2, 3]), Real(&[2, 1, 2]), Absent],
                    &[1.0, 2.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0],
                )]
            }
        }
        Op::ConvTranspose2d => {
            const {
                &[sample(
                    &[Real(&[1, 1, 2, 2]), Real(&[1, 1, 2, 2]), Absent],
                    &[2.0, 1.0, 1.0, 2.0, 0.0, 0.0, 2.0, 1.0, 1.0, 1.0, 2.0, 0.0, 0.0],
                )]
            }
        }
        Op::MaxPool2d => {
            const {
                &[sample(
                    &[Real(&[1, 1, 4, 4])],
                    &[2.0, 2.0, 2.0, 2.0, 0.0, 0.0, 2.0, 1.0, 1.0, 2.0, 2.0, 2.0, 0.0],
                )]
            }
        }
        Op::AvgPool2d => {
            const {
                &[sample(
                    &[Real(&[1, 1, 4, 4])],
                    &[2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 2.0, 1.0, 1.0, 2.0, 2.0, 2.0, 0.0, 1.0, 0.0],
                )]
            }
        }
        Op::ScaledDotProductAttention => {
            const {
                &[sample(
                    &[Real(&[1, 2, 3]), Real(&[1, 2, 3]), Real(&[1, 2, 3]), Absent],
                    &[1.0, NOTHING, 0.0],
                )]
            }
        }
        _ => &[],
    }
}

/// What tests call a row with.
pub fn samples(op: Op) -> &'static [Sample] {
    let def = op.def();
    if !def.samples.is_empty() {
        return def.samples;
    }
    match (op, def.rule) {
        (Op::Log | Op::Log1p | Op::Log2 | Op::Log10 | Op::Sqrt | Op::Rsqrt, _) => POSITIVE,
        (Op::Asin | Op::Acos | Op::Tan, _) => UNIT,
        (Op::Softplus, _) => SOFTPLUS,
        (Op::Lerp, _) => LERP,
        (Op::Pow, _) => POWERS,
        (_, Rule::Unary(_)) if def.attrs.len() == 1 => PARAMETER,
        (_, Rule::Unary(_) | Rule::Predicate) => ONE,
        (_, Rule::Binary(_) | Rule::Compare) => TWO,
        (_, Rule::Bits) => BITS,
        _ => of_network(op),
    }
}
