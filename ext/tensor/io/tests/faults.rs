//! Memory that cannot be had while a file is read: an error, and nothing is left of it.

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{Folder, counting, elements, pool};
use mlrun_tensor_core::pool::HostPool;
use mlrun_tensor_core::{DType, Error as CoreError, Tensor};
use mlrun_tensor_io::{Error, Result, npy, npz, safetensors};

type Load = fn(&Path, &Arc<HostPool>) -> Result<Vec<Tensor>>;

fn values(named: Vec<(String, Tensor)>) -> Vec<Tensor> {
    named.into_iter().map(|(_, t)| t).collect()
}

/// A file of each format, how many allocations its load needs at least, and the load.
fn files(folder: &Folder) -> Vec<(&'static str, std::path::PathBuf, u32, Load)> {
    let named: Vec<(String, Tensor)> = [DType::F32, DType::F16, DType::Bool, DType::I64]
        .map(|dtype| (dtype.to_string(), counting(dtype, &[3, 5])))
        .into();
    let path = |name| folder.file(name);
    safetensors::save(&path("a.safetensors"), &named, &[]).expect("saves");
    npz::save(&path("a.npz"), &named, false).expect("saves");
    npz::save(&path("b.npz"), &named, true).expect("saves");
    npy::save(&path("a.npy"), &named[0].1).expect("saves");
    vec![
        ("safetensors", path("a.safetensors"), 4, |p, pool| {
            safetensors::load(p, pool, None).map(values)
        }),
        ("npz", path("a.npz"), 4, |p, pool| npz::load(p, pool, None).map(values)),
        ("compressed npz", path("b.npz"), 4, |p, pool| npz::load(p, pool, None).map(values)),
        ("npy", path("a.npy"), 1, |p, pool| npy::load(p, pool).map(|t| vec![t])),
    ]
}

#[test]
fn every_allocation_of_a_load_may_fail() {
    let folder = Folder::new();
    for (what, path, least, load) in files(&folder) {
        for forever in [false, true] {
            let pool = pool();
            let mut failed = 0;
            loop {
                pool.fault.arm(failed, forever);
                let loaded = load(&path, &pool);
                pool.fault.disarm();
                match loaded {
                    Err(Error::Core(CoreError::Memory { .. })) => failed += 1,
                    Err(error) => panic!("{what}, allocation {failed}: {error}"),
                    Ok(_) => break,
                }
                assert_eq!(pool.account.live(), 0, "{what}, allocation {failed}: bytes stayed");
                assert!(failed < 100, "{what}: no end of allocations");
            }
            assert!(failed >= least, "{what}: only {failed} allocations could fail");
            let again = load(&path, &pool).unwrap_or_else(|e| panic!("{what}, afterwards: {e}"));
            assert!(again.iter().all(|t| !elements(t).is_empty()), "{what}");
        }
    }
}
