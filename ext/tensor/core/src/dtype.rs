//! Element types and PyTorch's promotion rules.
//! Source of the rules: PyTorch, "Type Promotion" in the documentation of `torch.result_type`.

use crate::error::{Error, Result};
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DType {
    F32 = 0,
    F16 = 1,
    BF16 = 2,
    F64 = 3,
    I8 = 4,
    U8 = 5,
    I16 = 6,
    I32 = 7,
    I64 = 8,
    Bool = 9,
}

/// The promotion categories, in rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    Bool,
    Int,
    Float,
}

impl DType {
    pub const ALL: [DType; 10] = [
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::F64,
        DType::I8,
        DType::U8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::Bool,
    ];

    pub fn from_code(code: u8) -> Option<DType> {
        Self::ALL.get(code as usize).copied()
    }

    /// Bytes of one element.
    #[inline]
    pub const fn size(self) -> usize {
        match self {
            DType::F64 | DType::I64 => 8,
            DType::F32 | DType::I32 => 4,
            DType::F16 | DType::BF16 | DType::I16 => 2,
            DType::I8 | DType::U8 | DType::Bool => 1,
        }
    }

    /// The name that JavaScript sees.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "float32",
            DType::F16 => "float16",
            DType::BF16 => "bfloat16",
            DType::F64 => "float64",
            DType::I8 => "int8",
            DType::U8 => "uint8",
            DType::I16 => "int16",
            DType::I32 => "int32",
            DType::I64 => "int64",
            DType::Bool => "bool",
        }
    }

    pub fn from_name(name: &str) -> Result<DType> {
        Self::ALL.into_iter().find(|d| d.name() == name).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|d| d.name()).collect();
            Error::dtype(format!("unknown dtype \"{name}\", expected one of {}", known.join(", ")))
        })
    }

    pub const fn category(self) -> Category {
        match self {
            DType::F32 | DType::F16 | DType::BF16 | DType::F64 => Category::Float,
            DType::Bool => Category::Bool,
            _ => Category::Int,
        }
    }

    pub const fn is_float(self) -> bool {
        matches!(self.category(), Category::Float)
    }

    /// The float type in which an integer tensor's float-valued result is computed.
    pub const fn to_float(self) -> DType {
        if self.is_float() { self } else { DType::F32 }
    }

    /// Least and largest whole number of an integer type.
    pub const fn whole_range(self) -> Option<(i64, i64)> {
        match self {
            DType::I8 => Some((i8::MIN as i64, i8::MAX as i64)),
            DType::U8 => Some((0, u8::MAX as i64)),
            DType::I16 => Some((i16::MIN as i64, i16::MAX as i64)),
            DType::I32 => Some((i32::MIN as i64, i32::MAX as i64)),
            DType::I64 => Some((i64::MIN, i64::MAX)),
            _ => None,
        }
    }

    /// Refuses numbers that an integer type cannot hold. Fractions are cut off, and whole
    /// negative ones wrap in unsigned types, as in PyTorch.
    pub fn check_number(self, v: f64) -> Result<()> {
        let Some((least, most)) = self.whole_range() else { return Ok(()) };
        let least = if least == 0 && v.trunc() == v { -most } else { least };
        // 2^63 is the first float beyond int64.
        let above = most as f64 + if self == DType::I64 { 0.0 } else { 1.0 };
        if v.trunc() >= least as f64 && v < above && (least != 0 || v > -1.0) {
            return Ok(());
        }
        let v = match v {
            f64::INFINITY => "Infinity".to_owned(),
            f64::NEG_INFINITY => "-Infinity".to_owned(),
            v if v.abs() < 1e21 => v.to_string(),
            v => format!("{v:e}"),
        };
        Err(Error::shape(format!("{v} does not fit in {self}, expected {least} to {most}")))
    }

    /// Promotion of two tensors of dimension >= 1 (`torch.promote_types`).
    pub fn promote(self, other: DType) -> DType {
        use DType::*;
        if self == other {
            return self;
        }
        match (self.category(), other.category()) {
            (Category::Float, Category::Float) => match (self, other) {
                (F64, _) | (_, F64) => F64,
                _ => F32, // float32 with a half, or the two different halves
            },
            (Category::Float, _) => self,
            (_, Category::Float) => other,
            (Category::Bool, _) => other,
            (_, Category::Bool) => self,
            _ => {
                let (small, large) =
                    if self.size() <= other.size() { (self, other) } else { (other, self) };
                match (small, large) {
                    (U8, I8) | (I8, U8) => I16,
                    _ => large,
                }
            }
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A number that JavaScript passes beside tensors. It is weak: it takes part in promotion by
/// its category only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    Float(f64),
    Int(i64),
    Bool(bool),
}

impl Scalar {
    pub fn category(self) -> Category {
        match self {
            Scalar::Float(_) => Category::Float,
            Scalar::Int(_) => Category::Int,
            Scalar::Bool(_) => Category::Bool,
        }
    }

    pub fn to_f64(self) -> f64 {
        match self {
            Scalar::Float(v) => v,
            Scalar::Int(v) => v as f64,
            Scalar::Bool(v) => v as u8 as f64,
        }
    }

    /// Truncates towards zero and saturates, as Rust's `as` does.
    pub fn to_i64(self) -> i64 {
        match self {
            Scalar::Float(v) => v as i64,
            Scalar::Int(v) => v,
            Scalar::Bool(v) => v as i64,
        }
    }

    /// A JS number: whole numbers count as integers, as Python's `1` beside `1.0` cannot be
    /// told apart in JavaScript.
    #[inline]
    pub fn from_number(v: f64) -> Scalar {
        if v.trunc() == v
            && v.abs() <= 9_007_199_254_740_992.0
            && !(v == 0.0 && v.is_sign_negative())
        {
            Scalar::Int(v as i64)
        } else {
            Scalar::Float(v)
        }
    }

    fn default_dtype(self) -> DType {
        match self {
            Scalar::Float(_) => DType::F32,
            Scalar::Int(_) => DType::I64,
            Scalar::Bool(_) => DType::Bool,
        }
    }
}

/// One operand as promotion sees it.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    Dim(DType),
    ZeroDim(DType),
    Scalar(Scalar),
}

/// `torch.result_type`: tensors with dimensions outrank 0-d tensors, which outrank numbers,
/// within one category; a higher category wins but takes the default width.
pub fn result_type(operands: &[Operand]) -> DType {
    let mut dim: Option<DType> = None;
    let mut zero: Option<DType> = None;
    let mut wrapped: Option<DType> = None;
    let join = |acc: Option<DType>, d: DType| Some(acc.map_or(d, |a| a.promote(d)));
    for o in operands {
        match *o {
            Operand::Dim(d) => dim = join(dim, d),
            Operand::ZeroDim(d) => zero = join(zero, d),
            Operand::Scalar(s) => wrapped = join(wrapped, s.default_dtype()),
        }
    }
    let over = |low: Option<DType>, high: Option<DType>| match (high, low) {
        (Some(h), Some(l)) if h.category() >= l.category() => Some(h),
        (Some(_), Some(l)) => Some(l),
        (h, l) => h.or(l),
    };
    over(over(wrapped, zero), dim).unwrap_or(DType::F32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use DType::*;

    #[test]
    fn promotes_like_pytorch() {
        let table = [
            (F32, F64, F64),
            (F16, BF16, F32),
            (I64, F16, F16),
            (U8, I8, I16),
            (U8, I16, I16),
            (Bool, U8, U8),
            (I32, I64, I64),
            (Bool, Bool, Bool),
        ];
        for (a, b, want) in table {
            assert_eq!(a.promote(b), want, "{a} with {b}");
            assert_eq!(b.promote(a), want, "{b} with {a}");
        }
    }

    #[test]
    fn scalars_are_weak() {
        use Operand::*;
        assert_eq!(result_type(&[Dim(I32), Operand::Scalar(super::Scalar::Int(3))]), I32);
        assert_eq!(result_type(&[Dim(I32), Operand::Scalar(super::Scalar::Float(0.5))]), F32);
        assert_eq!(result_type(&[Dim(F16), Operand::Scalar(super::Scalar::Float(0.5))]), F16);
        assert_eq!(result_type(&[Dim(F32), ZeroDim(F64)]), F32);
        assert_eq!(result_type(&[Dim(I64), ZeroDim(F64)]), F64);
        assert_eq!(result_type(&[Dim(Bool), Operand::Scalar(super::Scalar::Int(1))]), I64);
        assert_eq!(result_type(&[ZeroDim(F64), Operand::Scalar(super::Scalar::Float(1.5))]), F64);
    }
}
