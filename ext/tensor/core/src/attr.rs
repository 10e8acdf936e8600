//! Attributes: the non-tensor arguments of an op, as the table declares them.
//!
//! JavaScript hands them over as a flat list of numbers; [`decode`] is the only reader.

use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use smallvec::SmallVec;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttrKind {
    Int,
    Float,
    Bool,
    /// A list of integers: its length, then its values.
    Ints,
    /// A list of integers or nothing; nothing is sent as length -1.
    OptInts,
    /// A float or nothing; nothing is sent as NaN.
    OptFloat,
    /// A dtype code or nothing; nothing is sent as -1.
    OptDType,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Attr {
    Int(i64),
    Float(f64),
    Bool(bool),
    Ints(SmallVec<[i64; 4]>),
    DType(DType),
    Absent,
}

pub type Attrs = SmallVec<[Attr; 2]>;

/// Name and kind of one attribute, as the table states them.
#[derive(Clone, Copy, Debug)]
pub struct AttrDef {
    pub name: &'static str,
    pub kind: AttrKind,
}

/// Reads the attributes of a row from JavaScript's flat numbers.
pub fn decode(defs: &[AttrDef], raw: &[f64]) -> Result<Attrs> {
    let mut at = 0;
    let mut next = |name: &str| -> Result<f64> {
        let v = raw.get(at).copied();
        at += 1;
        v.ok_or_else(|| Error::argument(format!("argument \"{name}\" is missing")))
    };
    let mut out = Attrs::new();
    for def in defs {
        let v = next(def.name)?;
        out.push(match def.kind {
            AttrKind::Int => Attr::Int(integer(def.name, v)?),
            AttrKind::Float => Attr::Float(v),
            AttrKind::Bool => Attr::Bool(v != 0.0),
            AttrKind::OptFloat if v.is_nan() => Attr::Absent,
            AttrKind::OptFloat => Attr::Float(v),
            AttrKind::OptDType if v < 0.0 => Attr::Absent,
            AttrKind::OptDType => Attr::DType(
                DType::from_code(v as u8)
                    .ok_or_else(|| Error::dtype(format!("unknown dtype code {v}")))?,
            ),
            AttrKind::OptInts if v < 0.0 => Attr::Absent,
            AttrKind::Ints | AttrKind::OptInts => {
                let n = integer(def.name, v)?;
                let mut ints = SmallVec::new();
                for _ in 0..n {
                    ints.push(integer(def.name, next(def.name)?)?);
                }
                Attr::Ints(ints)
            }
        });
    }
    Ok(out)
}

fn integer(name: &str, v: f64) -> Result<i64> {
    if v.trunc() == v && v.abs() <= 9_007_199_254_740_992.0 {
        Ok(v as i64)
    } else if v.trunc() == v {
        Err(Error::range(format!("{name} must lie between -2^53 and 2^53, got {v:e}")))
    } else {
        Err(Error::argument(format!("{name} must be a whole number, got {v}")))
    }
}

/// Typed access for rows, whose attribute kinds [`decode`] has checked.
pub trait AttrsExt {
    fn int(&self, i: usize) -> Result<i64>;
    fn float(&self, i: usize) -> Result<f64>;
    fn opt_float(&self, i: usize) -> Option<f64>;
    fn flag(&self, i: usize) -> bool;
    fn ints(&self, i: usize) -> Option<&[i64]>;
    fn dtype(&self, i: usize) -> Option<DType>;
    /// Numeric attributes as plain floats, for elementwise expressions; absent ones as NaN.
    fn floats(&self) -> SmallVec<[f64; 4]>;
}

impl AttrsExt for [Attr] {
    fn int(&self, i: usize) -> Result<i64> {
        match self.get(i) {
            Some(Attr::Int(v)) => Ok(*v),
            _ => Err(Error::argument(format!("attribute {i} must be an integer"))),
        }
    }
    fn float(&self, i: usize) -> Result<f64> {
        match self.get(i) {
            Some(Attr::Float(v)) => Ok(*v),
            Some(Attr::Int(v)) => Ok(*v as f64),
            _ => Err(Error::argument(format!("attribute {i} must be a number"))),
        }
    }
    fn opt_float(&self, i: usize) -> Option<f64> {
        self.float(i).ok()
    }
    fn flag(&self, i: usize) -> bool {
        matches!(self.get(i), Some(Attr::Bool(true)))
    }
    fn ints(&self, i: usize) -> Option<&[i64]> {
        match self.get(i) {
            Some(Attr::Ints(v)) => Some(v),
            _ => None,
        }
    }
    fn dtype(&self, i: usize) -> Option<DType> {
        match self.get(i) {
            Some(Attr::DType(d)) => Some(*d),
            _ => None,
        }
    }
    fn floats(&self) -> SmallVec<[f64; 4]> {
        self.iter()
            .map(|a| match a {
                Attr::Int(v) => *v as f64,
                Attr::Float(v) => *v,
                Attr::Bool(b) => *b as u8 as f64,
                _ => f64::NAN,
            })
            .collect()
    }
}

impl From<Scalar> for Attr {
    fn from(s: Scalar) -> Attr {
        match s {
            Scalar::Float(v) => Attr::Float(v),
            Scalar::Int(v) => Attr::Int(v),
            Scalar::Bool(v) => Attr::Bool(v),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFS: &[AttrDef] = &[
        AttrDef { name: "dims", kind: AttrKind::OptInts },
        AttrDef { name: "keepdim", kind: AttrKind::Bool },
    ];

    #[test]
    fn decodes_lists() {
        let a = decode(DEFS, &[2.0, 0.0, -1.0, 1.0]).unwrap();
        assert_eq!(a.ints(0), Some(&[0, -1][..]));
        assert!(a.flag(1));
        assert_eq!(decode(DEFS, &[-1.0, 0.0]).unwrap()[0], Attr::Absent);
    }

    #[test]
    fn refuses_missing_and_fractional_numbers() {
        assert!(decode(DEFS, &[2.0, 0.0]).is_err());
        assert!(decode(DEFS, &[1.0, 0.5, 0.0]).is_err());
        assert!(decode(DEFS, &[1e300, 0.0]).is_err());
    }
}
