//! The startup snapshot and the scripts that are loaded on demand, as the build script left them.

/// V8's heap after every eager script of the extensions ran.
pub static SNAPSHOT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/snapshot.bin"));

mod residual {
    include!(concat!(env!("OUT_DIR"), "/residual.rs"));

    pub(super) fn lazy_js() -> &'static [(&'static str, &'static str)] {
        LAZY_JS
    }

    pub(super) fn lazy_esm() -> &'static [(&'static str, &'static str)] {
        LAZY_ESM
    }
}

/// Lazily loaded scripts that are not in the snapshot: specifier and source, sorted.
pub fn lazy_js() -> &'static [(&'static str, &'static str)] {
    residual::lazy_js()
}

/// Lazily loaded modules that are not in the snapshot: specifier and source, sorted.
pub fn lazy_esm() -> &'static [(&'static str, &'static str)] {
    residual::lazy_esm()
}
