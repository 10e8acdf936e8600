//! erf in float64.

/// The error function.
pub fn erf(x: f64) -> f64 {
    libm::erf(x)
}
