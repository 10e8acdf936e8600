//! Random damage to good files: never a panic, never more memory than the file's size warrants.
//! `MLRUN_FUZZ_CASES=N` runs N cases for each file instead of 500.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use common::{Folder, counting, pool, read};
use mlrun_tensor_core::{DType, Tensor};
use mlrun_tensor_io::{npy, npz, safetensors};

/// Counts what is allocated, and the most of it.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is the system allocator's with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// xorshift64*: the same cases on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 11) as usize % n.max(1)
    }
}

/// Numbers that readers get wrong.
const EDGES: [u64; 10] =
    [0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 32, i64::MAX as u64, u64::MAX];

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len());
        match random.below(7) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 if !bytes.is_empty() => bytes[at] = random.next() as u8,
            2 => bytes.truncate(at),
            3 => bytes.insert(at, random.next() as u8),
            4 => {
                let width = [1, 2, 4, 8][random.below(4)];
                let edge = EDGES[random.below(EDGES.len())].to_le_bytes();
                let end = (at + width).min(bytes.len());
                bytes[at..end].copy_from_slice(&edge[..end - at]);
            }
            5 => {
                // A piece again elsewhere.
                let piece = bytes[at..(at + random.below(40)).min(bytes.len())].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            _ => {
                // A digit of a header becomes another character that has a meaning there.
                let marks = b"0123456789-.,:'\"{}[]() eLTF\\";
                if let Some(i) = (at..bytes.len()).find(|&i| bytes[i].is_ascii_digit()) {
                    bytes[i] = marks[random.below(marks.len())];
                }
            }
        }
    }
}

#[test]
fn damaged_files_are_errors() {
    let cases: usize =
        std::env::var("MLRUN_FUZZ_CASES").map_or(500, |n| n.parse().expect("a number"));
    let folder = Folder::new();
    let tensors: Vec<(String, Tensor)> = [
        ("w", DType::F32, &[3, 5][..]),
        ("b", DType::Bool, &[4]),
        ("empty", DType::I64, &[0, 2]),
        ("s", DType::BF16, &[]),
    ]
    .into_iter()
    .map(|(name, dtype, shape)| (name.to_string(), counting(dtype, shape)))
    .collect();
    safetensors::save(&folder.file("s"), &tensors, &[("k".into(), "v".into())]).expect("saved");
    npy::save(&folder.file("n"), &tensors[0].1).expect("saved");
    npz::save(&folder.file("z"), &tensors, false).expect("saved");
    npz::save(&folder.file("d"), &tensors, true).expect("saved");
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for file in ["s", "n", "z", "d"] {
        let good = read(&folder.file(file));
        let (mut accepted, mut refused) = (0, 0);
        for case in 0..cases {
            let mut bytes = good.clone();
            damage(&mut bytes, &mut random);
            let path = folder.write("case", &bytes);
            let pool = pool();
            PEAK.store(NOW.load(Relaxed), Relaxed);
            let before = NOW.load(Relaxed);
            let result = match file {
                "s" => safetensors::load(&path, &pool, None).map(drop),
                "n" => npy::load(&path, &pool).map(drop),
                _ => npz::load(&path, &pool, None).map(drop),
            };
            let took = PEAK.load(Relaxed) - before;
            // The decompressor's tables and the buffers are there for any archive.
            let most = (256 << 10) + 64 * bytes.len();
            assert!(took <= most, "{file} case {case}: {took} bytes for a file of {}", bytes.len());
            if result.is_ok() { accepted += 1 } else { refused += 1 }
        }
        assert!(
            refused > cases / 4 && accepted > 0,
            "{file}: {accepted} accepted, {refused} refused"
        );
    }
}
