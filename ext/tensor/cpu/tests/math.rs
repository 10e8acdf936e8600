//! float32 functions against float64 references, over a dense sweep of all bit patterns.
//! `cargo test -p mlrun_tensor_cpu --test math -- --nocapture` prints the largest errors.

use mlrun_tensor_cpu::isa::{Base, Isa, Kernel, dispatch};
use mlrun_tensor_cpu::math::{self, TRIG_LIMIT};

/// Units in the last place between a float32 result and the exact value.
fn ulps(got: f32, want: f64) -> f64 {
    let rounded = want as f32;
    if got.is_nan() && want.is_nan() {
        return 0.0;
    }
    if got.is_nan() || want.is_nan() {
        return f64::INFINITY;
    }
    if got == rounded {
        return 0.0;
    }
    if rounded.is_infinite() || got.is_infinite() {
        // One step from infinity counts as one unit.
        let step = |v: f32| {
            if v.is_infinite() { v.signum() as f64 * 3.402_823_669_209_385e38 } else { v as f64 }
        };
        return (step(got) - step(rounded)).abs() / 2f64.powi(104);
    }
    let exponent = (want.abs().max(f32::MIN_POSITIVE as f64)).log2().floor() as i32;
    (got as f64 - want).abs() / 2f64.powi(exponent - 23)
}

/// Applies a function to a slice as elementwise loops do.
struct Map<'a, F> {
    x: &'a [f32],
    y: &'a mut [f32],
    f: F,
}

trait Function: Copy {
    fn call<I: Isa>(self, x: f32) -> f32;
    fn name(self) -> &'static str;
    fn exact(self, x: f64) -> f64;
    fn limit(self) -> f32 {
        f32::INFINITY
    }
}

impl<F: Function> Kernel for Map<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        for (y, x) in self.y.iter_mut().zip(self.x) {
            *y = self.f.call::<I>(*x);
        }
    }
}

fn points(limit: f32) -> Vec<f32> {
    let edges = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        -2.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MIN_POSITIVE,
        -f32::MIN_POSITIVE,
        1e-45,
        -1e-45,
        f32::MAX,
        f32::MIN,
        88.7,
        88.8,
        -87.3,
        -87.4,
        -103.9,
        -104.1,
        0.625,
        0.9999999,
        1.0000001,
        -0.9999999,
        9.0,
        -9.0,
        4.0,
    ];
    let step = 3001;
    let sweep = (0..=u32::MAX / step).map(|i| f32::from_bits(i * step));
    edges.into_iter().chain(sweep).filter(|v| !(v.abs() > limit && v.is_finite())).collect()
}

fn check<F: Function>(f: F, most: f64) {
    let x = points(f.limit());
    let mut y = vec![0f32; x.len()];
    dispatch(Map { x: &x, y: &mut y, f });
    let mut worst = (0.0, 0.0f32, 0.0f32);
    for (&x, &y) in x.iter().zip(&y) {
        let e = ulps(y, f.exact(x as f64));
        if e > worst.0 || e.is_nan() {
            worst = (e, x, y);
        }
    }
    let mut plain = (0.0, 0.0f32);
    for &x in x.iter().step_by(7) {
        let e = ulps(f.call::<Base>(x), f.exact(x as f64));
        if e > plain.0 {
            plain = (e, x);
        }
    }
    println!(
        "{:>8}: {:.3} ulp at {:e} (got {:e}); without fma {:.3} at {:e}",
        f.name(),
        worst.0,
        worst.1,
        worst.2,
        plain.0,
        plain.1
    );
    assert!(worst.0 <= most, "{}", f.name());
    assert!(plain.0 <= most, "{} without fma", f.name());
    same_in_every_lane(f);
}

/// Lengths 1 to 17 and each position give the same bits.
fn same_in_every_lane<F: Function>(f: F) {
    let interesting = [f32::NAN, 0.3, -1.7, f32::INFINITY, 1e-40, 80.0, -0.0];
    for v in interesting {
        let mut seen = None;
        for n in 1..=17 {
            let x = vec![v; n];
            let mut y = vec![0f32; n];
            dispatch(Map { x: &x, y: &mut y, f });
            for y in y {
                let bits = if y.is_nan() { u32::MAX } else { y.to_bits() };
                assert_eq!(*seen.get_or_insert(bits), bits, "{} of {v} at length {n}", f.name());
            }
        }
    }
}

macro_rules! functions {
    ($($f:ident, $most:literal, |$x:ident| $exact:expr $(, $limit:expr)?;)*) => {$(
        #[test]
        fn $f() {
            #[derive(Clone, Copy)]
            struct This;
            impl Function for This {
                #[inline(always)]
                fn call<I: Isa>(self, x: f32) -> f32 { math::$f::<I>(x) }
                fn name(self) -> &'static str { stringify!($f) }
                fn exact(self, $x: f64) -> f64 { $exact }
                $(fn limit(self) -> f32 { $limit })?
            }
            check(This, $most);
        }
    )*};
}

functions! {
    exp, 1.1, |x| x.exp();
    expm1, 0.6, |x| x.exp_m1();
    log, 1.3, |x| x.ln();
    log1p, 0.6, |x| x.ln_1p();
    log2, 0.6, |x| x.log2();
    log10, 0.6, |x| x.log10();
    sin, 0.6, |x| x.sin(), TRIG_LIMIT;
    cos, 0.6, |x| x.cos(), TRIG_LIMIT;
    tan, 0.6, |x| x.tan(), TRIG_LIMIT;
    asin, 0.6, |x| x.asin();
    acos, 0.6, |x| x.acos();
    atan, 0.6, |x| x.atan();
    sinh, 0.6, |x| x.sinh();
    cosh, 0.6, |x| x.cosh();
    tanh, 2.2, |x| x.tanh();
    sigmoid, 2.5, |x| 1.0 / (1.0 + (-x).exp());
    erf, 1.8, |x| libm::erf(x);
}

#[test]
fn pow_and_atan2_on_a_grid() {
    let mut v = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        3.0,
        -3.0,
        0.5,
        -0.5,
        1.0000001,
        0.9999999,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MAX,
        f32::MIN_POSITIVE,
        1e-45,
        16777217.0,
        1e10,
        -1e10,
        33.0,
        -33.0,
        127.5,
        1e-5,
        0.1,
        7.3,
    ];
    let mut s = 1u32;
    for _ in 0..700 {
        s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        v.push(((s >> 8) as f32 / 8_388_608.0 - 1.0) * 20.0);
        v.push(f32::from_bits(s));
    }
    let (mut worst_pow, mut worst_atan) = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0));
    for &x in &v {
        for &y in &v {
            let e = ulps(math::pow::<Base>(x, y), (x as f64).powf(y as f64));
            if e > worst_pow.0 {
                worst_pow = (e, x, y);
            }
            let e = ulps(math::atan2::<Base>(y, x), (y as f64).atan2(x as f64));
            if e > worst_atan.0 {
                worst_atan = (e, y, x);
            }
        }
    }
    println!("     pow: {worst_pow:?}\n   atan2: {worst_atan:?}");
    assert!(worst_pow.0 <= 0.6, "pow {worst_pow:?}");
    assert!(worst_atan.0 <= 0.6, "atan2 {worst_atan:?}");
}

#[test]
fn signs_of_zero_are_kept() {
    for f in [
        math::sin::<Base>,
        math::tan::<Base>,
        math::asin::<Base>,
        math::atan::<Base>,
        math::sinh::<Base>,
        math::tanh::<Base>,
        math::expm1::<Base>,
        math::log1p::<Base>,
        math::erf::<Base>,
    ] {
        assert!(f(-0.0).is_sign_negative() && f(0.0).is_sign_positive());
    }
    assert_eq!(math::pow::<Base>(-0.0, 3.0).to_bits(), (-0.0f32).to_bits());
    assert_eq!(math::pow::<Base>(-0.0, -3.0), f32::NEG_INFINITY);
    assert_eq!(math::atan2::<Base>(-0.0, -1.0), -std::f32::consts::PI);
}
