//! The loops made from the op table's scalar expressions.
//!
//! Invariant: a loop's output overlaps none of its inputs (the driver copies an operand that
//! does), so the compiler's overlap checks pass and the vectorised path runs.

use crate::isa::{Base, Isa, Kernel, dispatch};
use crate::lanes::{Bool, Exact, F32, F64, Int, Lane};
use crate::math::TRIG_LIMIT;
use mlrun_tensor_core::backend::KernelId;
use mlrun_tensor_core::rows;
use mlrun_tensor_core::scalar::{Basic, Real};
use mlrun_tensor_core::{DType, Op};

/// Numeric attributes of a row.
pub type Params = [f64; 4];

/// Computes `n` elements at the first address from those at the others.
///
/// # Safety
/// Every address covers `n` elements of the dtypes that the loop was chosen for; inputs that
/// the row does not have may be any address of readable elements. The output overlaps no input.
pub type Loop = unsafe fn(*mut u8, [*const u8; 3], usize, &Params);

/// As [`Loop`] for some runs of `n` elements: the addresses of the output and the inputs move on by
/// so many bytes from one run to the next. Short runs cost less so than a call each. Of the inputs
/// that are marked, a run reads one element for all.
///
/// # Safety
/// As [`Loop`] for each run.
pub type Runs = unsafe fn(*mut u8, [*const u8; 3], usize, usize, [isize; 4], [bool; 2]);

/// How a row is computed in one dtype.
#[derive(Clone, Copy)]
pub struct Row {
    pub run: Loop,
    /// For rows that mostly meet a broadcast operand, such as a bias.
    pub runs: Option<Runs>,
    /// Cost of an element, where an addition is 1.
    pub cost: usize,
}

/// One elementwise expression; each row has a type that implements the traits its kind allows.
trait OfReal {
    fn eval<T: Real<Mask = bool>>(x: [T; 3], p: &Params) -> T;
}
trait OfBasic {
    fn eval<T: Basic<Mask = bool>>(x: [T; 3], p: &Params) -> T;
}
trait OfMask {
    fn eval<T: Basic<Mask = bool>>(a: T, b: T) -> bool;
}

struct Job<'a, E> {
    out: *mut u8,
    ins: [*const u8; 3],
    n: usize,
    p: &'a Params,
    expression: std::marker::PhantomData<E>,
}

/// Runs a job for the processor at hand, or compiled once: integer loops are rarely where time
/// goes, and three versions of each in six dtypes are most of the crate's build time.
macro_rules! start {
    (wide, $job:expr) => {
        dispatch($job)
    };
    (once, $job:expr) => {
        $job.run::<Base>()
    };
}

/// Declares a loop over a lane type as a kernel and the plain function for it.
macro_rules! lane_loop {
    ($width:ident, $job:ident, $f:ident, $bound:ident, $lane:ty, $mem:ty) => {
        struct $job<'a, E>(Job<'a, E>);
        impl<E: $bound> Kernel for $job<'_, E> {
            type Output = ();
            #[inline(always)]
            fn run<I: Isa>(self) {
                let Job { out, ins, n, p, .. } = self.0;
                // A local copy: the compiler then knows that stores do not change it.
                let p = *p;
                let (out, ins) = (out.cast::<$mem>(), ins.map(|q| q.cast::<$mem>()));
                for i in 0..n {
                    // SAFETY: the caller of the loop vouches for `n` elements.
                    unsafe {
                        let x = ins.map(|q| <$lane>::load(*q.add(i)));
                        *out.add(i) = E::eval(x, &p).store();
                    }
                }
            }
        }
        /// # Safety
        /// As [`Loop`].
        unsafe fn $f<E: $bound>(out: *mut u8, ins: [*const u8; 3], n: usize, p: &Params) {
            start!($width, $job(Job::<E> { out, ins, n, p, expression: std::marker::PhantomData }));
        }
    };
}

lane_loop!(wide, RealF32, real_f32, OfReal, F32<I>, f32);
lane_loop!(wide, RealF64, real_f64, OfReal, F64, f64);
lane_loop!(wide, BasicF32, basic_f32, OfBasic, F32<I>, f32);
lane_loop!(wide, BasicF64, basic_f64, OfBasic, F64, f64);
lane_loop!(once, BasicI8, basic_i8, OfBasic, Int<i8>, i8);
lane_loop!(once, BasicU8, basic_u8, OfBasic, Int<u8>, u8);
lane_loop!(once, BasicI16, basic_i16, OfBasic, Int<i16>, i16);
lane_loop!(once, BasicI32, basic_i32, OfBasic, Int<i32>, i32);
lane_loop!(once, BasicI64, basic_i64, OfBasic, Int<i64>, i64);
lane_loop!(once, BasicBool, basic_bool, OfBasic, Bool, u8);

struct RunsF32<E> {
    out: *mut u8,
    ins: [*const u8; 3],
    n: usize,
    count: usize,
    steps: [isize; 4],
    repeated: [bool; 2],
    expression: std::marker::PhantomData<E>,
}

impl<E: OfBasic> RunsF32<E> {
    /// A run of which the first or the second input is one number.
    ///
    /// # Safety
    /// As [`Runs`] for one run.
    #[inline(always)]
    unsafe fn one<I: Isa, const A: bool, const B: bool>(
        out: *mut f32,
        [a, b]: [*const f32; 2],
        n: usize,
    ) {
        // SAFETY: passed on to the caller.
        unsafe {
            let (first, second) = (*a, *b);
            for i in 0..n {
                let a = if A { first } else { *a.add(i) };
                let b = if B { second } else { *b.add(i) };
                let x = [a, b, b].map(F32::<I>::load);
                *out.add(i) = E::eval(x, &[0.0; 4]).store();
            }
        }
    }
}

impl<E: OfBasic> Kernel for RunsF32<E> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let RunsF32 { out, ins, n, count, steps, repeated, .. } = self;
        for r in 0..count as isize {
            let out = out.wrapping_offset(r * steps[0]).cast::<f32>();
            let at = |k: usize| ins[k].wrapping_offset(r * steps[k + 1]).cast::<f32>();
            let ins = [at(0), at(1)];
            // SAFETY: the caller of the loop vouches for each run.
            unsafe {
                match repeated {
                    [false, false] => Self::one::<I, false, false>(out, ins, n),
                    [true, false] => Self::one::<I, true, false>(out, ins, n),
                    [false, true] => Self::one::<I, false, true>(out, ins, n),
                    [true, true] => Self::one::<I, true, true>(out, ins, n),
                }
            }
        }
    }
}

/// # Safety
/// As [`Runs`].
unsafe fn runs_f32<E: OfBasic>(
    out: *mut u8,
    ins: [*const u8; 3],
    n: usize,
    count: usize,
    steps: [isize; 4],
    repeated: [bool; 2],
) {
    let expression = std::marker::PhantomData;
    dispatch(RunsF32::<E> { out, ins, n, count, steps, repeated, expression });
}

/// As `real_f32` for rows with sin, cos or tan of input `AT`: elements beyond the vectorised
/// range are computed again, one at a time.
///
/// # Safety
/// As [`Loop`].
unsafe fn trig_f32<E: OfReal, const AT: usize>(
    out: *mut u8,
    ins: [*const u8; 3],
    n: usize,
    p: &Params,
) {
    // SAFETY: passed on to the caller; `i` stays below `n`.
    unsafe {
        real_f32::<E>(out, ins, n, p);
        let ins = ins.map(|q| q.cast::<f32>());
        for i in 0..n {
            let x = (*ins[AT].add(i)).abs();
            if x > TRIG_LIMIT && x < f32::INFINITY {
                let y = E::eval(ins.map(|q| Exact(*q.add(i))), p);
                *out.cast::<f32>().add(i) = y.0;
            }
        }
    }
}

/// Declares a loop from a lane type to booleans.
macro_rules! mask_loop {
    ($width:ident, $job:ident, $f:ident, $lane:ty, $mem:ty) => {
        struct $job<'a, E>(Job<'a, E>);
        impl<E: OfMask> Kernel for $job<'_, E> {
            type Output = ();
            #[inline(always)]
            fn run<I: Isa>(self) {
                let Job { out, ins, n, .. } = self.0;
                let (a, b) = (ins[0].cast::<$mem>(), ins[1].cast::<$mem>());
                for i in 0..n {
                    // SAFETY: the caller of the loop vouches for `n` elements.
                    unsafe {
                        let m = E::eval(<$lane>::load(*a.add(i)), <$lane>::load(*b.add(i)));
                        *out.add(i) = m as u8;
                    }
                }
            }
        }
        /// # Safety
        /// As [`Loop`].
        unsafe fn $f<E: OfMask>(out: *mut u8, ins: [*const u8; 3], n: usize, p: &Params) {
            start!($width, $job(Job::<E> { out, ins, n, p, expression: std::marker::PhantomData }));
        }
    };
}
mask_loop!(wide, MaskF32, mask_f32, F32<I>, f32);
mask_loop!(wide, MaskF64, mask_f64, F64, f64);
mask_loop!(once, MaskI8, mask_i8, Int<i8>, i8);
mask_loop!(once, MaskU8, mask_u8, Int<u8>, u8);
mask_loop!(once, MaskI16, mask_i16, Int<i16>, i16);
mask_loop!(once, MaskI32, mask_i32, Int<i32>, i32);
mask_loop!(once, MaskI64, mask_i64, Int<i64>, i64);
mask_loop!(once, MaskBool, mask_bool, Bool, u8);

/// Picks the loop for a dtype. Halves compute in float32; the driver converts.
fn real<E: OfReal>(dtype: DType) -> Option<Loop> {
    Some(match dtype {
        DType::F32 | DType::F16 | DType::BF16 => real_f32::<E>,
        DType::F64 => real_f64::<E>,
        _ => return None,
    })
}

fn basic<E: OfBasic>(dtype: DType) -> Option<Loop> {
    Some(match dtype {
        DType::F32 | DType::F16 | DType::BF16 => basic_f32::<E>,
        DType::F64 => basic_f64::<E>,
        DType::I8 => basic_i8::<E>,
        DType::U8 => basic_u8::<E>,
        DType::I16 => basic_i16::<E>,
        DType::I32 => basic_i32::<E>,
        DType::I64 => basic_i64::<E>,
        DType::Bool => basic_bool::<E>,
    })
}

fn mask<E: OfMask>(dtype: DType) -> Option<Loop> {
    Some(match dtype {
        DType::F32 | DType::F16 | DType::BF16 => mask_f32::<E>,
        DType::F64 => mask_f64::<E>,
        DType::I8 => mask_i8::<E>,
        DType::U8 => mask_u8::<E>,
        DType::I16 => mask_i16::<E>,
        DType::I32 => mask_i32::<E>,
        DType::I64 => mask_i64::<E>,
        DType::Bool => mask_bool::<E>,
    })
}

/// Bitwise ops by width.
macro_rules! bit_loops {
    ($op:tt, $dtype:expr) => {{
        macro_rules! width {
                        ($t:ty) => {{
                            /// # Safety
                            /// As [`Loop`].
                            unsafe fn f(out: *mut u8, ins: [*const u8; 3], n: usize, _: &Params) {
                                let (out, a, b) =
                                    (out.cast::<$t>(), ins[0].cast::<$t>(), ins[1].cast::<$t>());
                                for i in 0..n {
                                    // SAFETY: the caller of the loop vouches for `n` elements.
                                    unsafe { *out.add(i) = *a.add(i) $op *b.add(i) };
                                }
                            }
                            Some(f as Loop)
                        }};
                    }
        match $dtype {
            DType::I8 | DType::U8 | DType::Bool => width!(u8),
            DType::I16 => width!(u16),
            DType::I32 => width!(u32),
            DType::I64 => width!(u64),
            _ => None,
        }
    }};
}

/// The traits that a row's kind allows, and its table entry.
macro_rules! kind {
    (float, $t:ident, $x:ident, $p:ident, $call:expr) => {
        impl OfReal for $t {
            #[inline(always)]
            fn eval<T: Real<Mask = bool>>($x: [T; 3], $p: &Params) -> T {
                $call
            }
        }
        impl $t {
            const CHOOSE: fn(DType) -> Option<Loop> = real::<$t>;
            const COST: usize = 8;
        }
    };
    ($num:ident, $t:ident, $x:ident, $p:ident, $call:expr) => {
        impl OfBasic for $t {
            #[inline(always)]
            fn eval<T: Basic<Mask = bool>>($x: [T; 3], $p: &Params) -> T {
                $call
            }
        }
        impl $t {
            const CHOOSE: fn(DType) -> Option<Loop> = basic::<$t>;
            const COST: usize = 1;
        }
    };
}

macro_rules! define_rows {
    (
        unary { $($uv:ident, $uf:ident, $un:literal, $uk:ident, |$ux:ident, $up:ident| $ue:expr; reads ($($ur:ident)*); |$ug:ident, $ugx:ident, $ugy:ident, $ugp:ident| $ud:expr; [$($ua:ident)*] $udoc:literal;)* }
        binary { $($bv:ident, $bf:ident, $bn:literal, $bk:ident, |$ba:ident, $bb:ident, $bp:ident| $be:expr; |$b1g:ident, $b1a:ident, $b1b:ident, $b1y:ident, $b1p:ident| $b1:expr; |$b2g:ident, $b2a:ident, $b2b:ident, $b2y:ident, $b2p:ident| $b2:expr; reads ($($b1r:ident)*) ($($b2r:ident)*); [$($battr:ident)*] $bdoc:literal;)* }
        compare { $($cv:ident, $cf:ident, $cn:literal, |$ca:ident, $cb:ident| $ce:expr; $cdoc:literal;)* }
        predicate { $($pv:ident, $pf:ident, $pn:literal, |$px:ident| $pe:expr; $pdoc:literal;)* }
        bits { $($tv:ident, $tf:ident, $tn:literal, $te:tt; $tdoc:literal;)* }
    ) => {
        mod forward {
            use super::*;
            $(pub struct $uv;
            kind!($uk, $uv, x, p, rows::unary::$uf(x[0], p));)*
            $(pub struct $bv;
            kind!($bk, $bv, x, p, rows::binary::$bf(x[0], x[1], p));)*
            $(pub struct $cv;
            impl OfMask for $cv {
                #[inline(always)]
                fn eval<T: Basic<Mask = bool>>(a: T, b: T) -> bool {
                    rows::compare::$cf(a, b)
                }
            })*
            $(pub struct $pv;
            impl OfMask for $pv {
                #[inline(always)]
                fn eval<T: Basic<Mask = bool>>(a: T, _: T) -> bool {
                    rows::predicate::$pf(a)
                }
            })*
            pub fn choose(op: Op, dtype: DType) -> Option<(Loop, usize)> {
                let (run, cost) = match op {
                    $(Op::$uv => ($uv::CHOOSE(dtype), $uv::COST),)*
                    $(Op::$bv => ($bv::CHOOSE(dtype), $bv::COST),)*
                    $(Op::$cv => (mask::<$cv>(dtype), 1),)*
                    $(Op::$pv => (mask::<$pv>(dtype), 1),)*
                    $(Op::$tv => (bit_loops!($te, dtype), 1),)*
                    _ => return None,
                };
                Some((run?, cost))
            }
        }
        mod backward {
            use super::*;
            $(pub struct $uv;
            impl OfReal for $uv {
                #[inline(always)]
                fn eval<T: Real<Mask = bool>>(x: [T; 3], p: &Params) -> T {
                    rows::unary_grad::$uf(x[0], x[1], x[2], p)
                }
            })*
            pub fn choose(op: Op, dtype: DType) -> Option<Loop> {
                match op {
                    $(Op::$uv => real::<$uv>(dtype),)*
                    _ => None,
                }
            }
        }
    };
}
mlrun_tensor_core::elementwise_rows!(define_rows);

/// The loop of an elementwise row, or nothing where the row has none for this dtype.
pub fn row(kernel: KernelId, dtype: DType) -> Option<Row> {
    let float32 = matches!(dtype, DType::F32 | DType::F16 | DType::BF16);
    let (run, cost) = match kernel {
        KernelId::Forward(op) => {
            let (run, cost) = forward::choose(op, dtype)?;
            let run = match op {
                Op::Sin if float32 => trig_f32::<forward::Sin, 0>,
                Op::Cos if float32 => trig_f32::<forward::Cos, 0>,
                Op::Tan if float32 => trig_f32::<forward::Tan, 0>,
                _ if float32 => super::wide::row(op).unwrap_or(run),
                _ => run,
            };
            let cost = match op {
                Op::Div | Op::Reciprocal | Op::Sqrt | Op::Rsqrt | Op::Lerp => 2,
                Op::Pow | Op::Remainder | Op::FloorDivide => 16,
                _ => cost,
            };
            (run, cost)
        }
        KernelId::UnaryGrad(op) => {
            let run = match op {
                Op::Sin if float32 => trig_f32::<backward::Sin, 1>,
                Op::Cos if float32 => trig_f32::<backward::Cos, 1>,
                _ => backward::choose(op, dtype)?,
            };
            (run as Loop, 8)
        }
    };
    let runs: Option<Runs> = match kernel {
        KernelId::Forward(Op::Add) if dtype == DType::F32 => Some(runs_f32::<forward::Add>),
        KernelId::Forward(Op::Sub) if dtype == DType::F32 => Some(runs_f32::<forward::Sub>),
        KernelId::Forward(Op::Mul) if dtype == DType::F32 => Some(runs_f32::<forward::Mul>),
        _ => None,
    };
    Some(Row { run, runs, cost })
}
