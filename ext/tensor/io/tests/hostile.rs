//! Files that lie. Each is an error that names call and file and says what is wrong, and takes
//! little memory.

mod common;

use std::path::Path;

use common::{Folder, counting, pool, read};
use mlrun_tensor_core::DType;
use mlrun_tensor_io::{npy, npz, safetensors};

/// Loads by extension; the message and the most tensor bytes that were live.
fn refused(path: &Path) -> (String, u64) {
    let pool = pool();
    let result = match path.extension().and_then(|e| e.to_str()) {
        Some("npy") => npy::load(path, &pool).map(|_| ()),
        Some("npz") => npz::load(path, &pool, None).map(|_| ()),
        _ => safetensors::load(path, &pool, None).map(|_| ()),
    };
    let message = match result {
        Err(error) => error.to_string(),
        Ok(()) => panic!("{}: accepted", path.display()),
    };
    assert_eq!(pool.account.live(), 0, "{message}: bytes are left");
    (message, pool.account.peak())
}

fn check(name: &str, bytes: &[u8], expected: &str) {
    let folder = Folder::new();
    let path = folder.write(name, bytes);
    let (message, peak) = refused(&path);
    let call = match name.rsplit('.').next() {
        Some("npy") => "io.loadNpy",
        Some("npz") => "io.loadNpz",
        _ => "io.loadSafetensors",
    };
    let start = format!("{call}: {}: ", path.display());
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(100)]).into_owned();
    assert!(message.starts_with(&start), "{shown}: {message}");
    assert!(message[start.len()..].contains(expected), "{shown}: {message}");
    let most = 1032 * bytes.len() as u64 + 4096;
    assert!(peak <= most, "{message}: took {peak} bytes for a file of {}", bytes.len());
}

fn safe(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

#[test]
fn safetensors_headers() {
    let entry = |name: &str, shape: &str, begin: u64, end: u64| {
        format!(r#""{name}":{{"dtype":"F32","shape":{shape},"data_offsets":[{begin},{end}]}}"#)
    };
    let one = |shape: &str, begin, end| format!("{{{}}}", entry("a", shape, begin, end));
    let two = |a: (u64, u64), b: (u64, u64)| {
        format!("{{{},{}}}", entry("a", "[1]", a.0, a.1), entry("b", "[1]", b.0, b.1))
    };
    let table: [(Vec<u8>, &str); 32] = [
        (b"".to_vec(), "got 0 bytes, expected at least 8"),
        (b"1234567".to_vec(), "got 7 bytes"),
        (u64::MAX.to_le_bytes().to_vec(), "header of 18446744073709551615 bytes"),
        (100_000_001u64.to_le_bytes().to_vec(), "expected at most 100000000"),
        (9u64.to_le_bytes().to_vec(), "header of 9 bytes in a file of 8"),
        (safe("", b""), "expected it to begin with {"),
        (safe(" {}", b""), "expected it to begin with {"),
        (safe("{", b""), "EOF while parsing"),
        (safe("{} x", b""), "trailing characters"),
        (safe("[]", b""), "expected it to begin with {"),
        (safe("{}", b"1"), "1 bytes follow the last tensor"),
        (safe(&one("[1]", 0, 4), b"123"), "expected them within 3 bytes"),
        (safe(&one("[1]", 0, 4), b"12345"), "1 bytes follow the last tensor"),
        (safe(&one("[1]", 4, 8), b"12345678"), "leaves a gap: begins at 4, expected 0"),
        (safe(&one("[1]", 4, 0), b"1234"), "data_offsets [4, 0]"),
        (safe(&one("[1]", 0, u64::MAX), b"1234"), "expected them within 4 bytes"),
        (safe(&one("[2]", 0, 4), b"1234"), "of shape [2] and F32 needs 8 bytes, got 4"),
        (safe(&one("[4294967296,4294967296]", 0, 4), b"1234"), "too large"),
        (safe(&one("[18446744073709551615,0]", 0, 0), b""), "too large"),
        (safe(&one("[18446744073709551616]", 0, 4), b"1234"), "header: invalid"),
        (safe(&one("[-1]", 0, 4), b"1234"), "header: invalid value"),
        (safe(&one("[1.0]", 0, 4), b"1234"), "header: invalid type"),
        (safe(&one(&format!("[{}1]", "1,".repeat(64)), 0, 4), b"1234"), "more than 64 dimensions"),
        (safe(&two((0, 4), (2, 6)), b"123456"), "overlaps the one before it"),
        (safe(&two((0, 4), (0, 4)), b"1234"), "overlaps the one before it"),
        (safe(&two((0, 4), (8, 12)), &[0; 12]), "leaves a gap"),
        (safe(&format!("{{{0},{0}}}", entry("a", "[1]", 0, 4)), b"1234"), "\"a\" occurs twice"),
        (safe(r#"{"__metadata__":{"a":1}}"#, b""), "invalid type: integer `1`, expected a string"),
        (safe(r#"{"__metadata__":{"a":"","a":""}}"#, b""), "\"a\" occurs twice in __metadata__"),
        (safe(r#"{"__metadata__":{},"__metadata__":{}}"#, b""), "__metadata__ occurs twice"),
        (safe(&format!("{{\"a\":{}", "[".repeat(100_000)), b""), "header: "),
        (safe(&one("[1]", 0, 4).replace("F32", "F8_E4M3"), b"1234"), "no counterpart here"),
    ];
    for (bytes, expected) in table {
        check("a.safetensors", &bytes, expected);
    }
    check(
        "a.safetensors",
        &[&3u64.to_le_bytes()[..], b"{\xff}"].concat(),
        "no valid UTF-8 at byte 9",
    );
    let unknown = r#"{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4],"more":1}}"#;
    check("a.safetensors", &safe(unknown, b"1234"), "unknown field `more`");
}

fn numpy(header: &str, data: &[u8]) -> Vec<u8> {
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data]
        .concat()
}

#[test]
fn npy_headers() {
    let simple = |descr: &str, shape: &str| {
        format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}")
    };
    let f4 = |shape: &str| simple("'<f4'", shape);
    let table: [(Vec<u8>, &str); 24] = [
        (b"".to_vec(), "ends too early"),
        (b"\x93NUMPY\x01".to_vec(), "ends too early"),
        (b"\x89NUMPY\x01\x00\x02\x00{}".to_vec(), "no npy file"),
        (b"\x80\x04\x95\x00\x00\x00\x00\x00\x00".to_vec(), "no npy file"),
        (b"\x93NUMPY\x04\x00\x02\x00{}".to_vec(), "npy version 4, expected 1 to 3"),
        (b"\x93NUMPY\x01\x00\xff\xff{}".to_vec(), "header of 65535 bytes in a file of 12"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}".to_vec(), "header of 4294967295 bytes in a file"),
        (b"\x93NUMPY\x01\x00\x01\x00\xff".to_vec(), "no valid UTF-8"),
        (numpy(&f4("(2,)"), b"1234567"), "shape [2] of float32 needs 8 bytes of data, got 7"),
        (numpy(&f4("(2,)"), b"123456789"), "needs 8 bytes of data, got 9"),
        (numpy(&f4("()"), b""), "needs 4 bytes of data, got 0"),
        (numpy(&f4("(4294967296, 4294967296)"), b""), "too large"),
        (numpy(&f4("(0, 9223372036854775808)"), b""), "too large"),
        (numpy(&f4("(18446744073709551616,)"), b""), "too large"),
        (numpy(&f4("(1000000000000,)"), b""), "needs 4000000000000 bytes of data, got 0"),
        (numpy(&simple("'|O'", "(1,)"), b"\x80\x04."), "holds Python objects (pickled)"),
        (numpy(&simple("[('a', '<f4')]", "(1,)"), b"1234"), "holds records"),
        (numpy(&simple("'<u4'", "(1,)"), b"1234"), "dtype \"<u4\" has no counterpart here"),
        (numpy(&simple("'<c8'", "(1,)"), b"12345678"), "has no counterpart here"),
        (numpy(&simple("'<M8[ns]'", "(1,)"), b"12345678"), "has no counterpart here"),
        (numpy(&simple("''", "(1,)"), b"1234"), "dtype \"\" has no counterpart here"),
        (numpy(&simple("'é4'", "(1,)"), b"1234"), "has no counterpart here"),
        (numpy("__import__('os').system('true')", b""), "header: got '_'"),
        (numpy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)", b"1234"), "its end"),
    ];
    for (bytes, expected) in table {
        check("a.npy", &bytes, expected);
    }
    let long = [b"\x93NUMPY\x02\x00", &70_000u32.to_le_bytes()[..], &[b' '; 70_000]].concat();
    check("a.npy", &long, "header of 70000 bytes, expected at most 65536");
}

#[derive(Clone, Copy, PartialEq)]
enum Method {
    Stored = 0,
    Deflated = 8,
}
use Method::{Deflated, Stored};

/// A plain archive, written here from the format's description.
fn zipped(parts: &[(&str, Method, &[u8])]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    let numbers = |list: &[(u64, usize)]| -> Vec<u8> {
        list.iter().flat_map(|(n, width)| n.to_le_bytes()[..*width].to_vec()).collect()
    };
    for (name, method, bytes) in parts {
        let mut packed = bytes.to_vec();
        if *method == Deflated {
            let level = flate2::Compression::default();
            packed.clear();
            let mut deflate = flate2::read::DeflateEncoder::new(*bytes, level);
            std::io::Read::read_to_end(&mut deflate, &mut packed).expect("packed");
        }
        let (crc, at) = (u64::from(crc32fast::hash(bytes)), out.len() as u64);
        let shared = numbers(&[
            (20, 2),
            (0, 2),
            (*method as u64, 2),
            (0, 4),
            (crc, 4),
            (packed.len() as u64, 4),
            (bytes.len() as u64, 4),
            (name.len() as u64, 2),
            (0, 2),
        ]);
        out.extend([b"PK\x03\x04", &shared[..], name.as_bytes(), &packed].concat());
        let tail = numbers(&[(0, 2), (0, 2), (0, 2), (0, 4), (at, 4)]);
        directory.extend([b"PK\x01\x02\x14\x00", &shared[..], &tail, name.as_bytes()].concat());
    }
    let n = parts.len() as u64;
    let end = [(0, 4), (n, 2), (n, 2), (directory.len() as u64, 4), (out.len() as u64, 4), (0, 2)];
    [&out[..], &directory, b"PK\x05\x06", &numbers(&end)].concat()
}

fn array(shape: &[usize]) -> Vec<u8> {
    let folder = Folder::new();
    let path = folder.file("a.npy");
    npy::save(&path, &counting(DType::F32, shape)).expect("saved");
    read(&path)
}

/// `bytes` with each `from` replaced by `to` of the same length; there must be one.
fn patched(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let mut found = false;
    for i in 0..=out.len() - from.len() {
        if out[i..].starts_with(from) {
            out[i..i + to.len()].copy_from_slice(to);
            found = true;
        }
    }
    assert!(found);
    out
}

#[test]
fn npz_archives() {
    let a = array(&[100]);
    let plain = zipped(&[("a.npy", Stored, &a), ("b.npy", Stored, &a)]);
    let packed = zipped(&[("a.npy", Deflated, &a)]);
    check("a.npz", b"", "no whole zip archive");
    check("a.npz", b"PK\x05\x06", "no whole zip archive");
    check("a.npz", &a, "no whole zip archive");
    for cut in [plain.len() - 1, plain.len() / 2, 40] {
        check("a.npz", &plain[..cut], "no whole zip archive");
    }
    check(
        "a.npz",
        &zipped(&[("readme.txt", Stored, b"x")]),
        "holds \"readme.txt\", expected only arrays",
    );
    check("a.npz", &zipped(&[("a.npy", Stored, b"x")]), "\"a\": ends too early");
    check(
        "a.npz",
        &zipped(&[("a.npy", Stored, &a[..a.len() - 1])]),
        "needs 400 bytes of data, got 399",
    );
    let longer = [&a[..], b"x"].concat();
    check("a.npz", &zipped(&[("a.npy", Deflated, &longer)]), "needs 400 bytes of data, got 401");
    check("a.npz", &patched(&plain, b"b.npy", b"a.npy"), "two arrays have the name \"a.npy\"");
    check("a.npz", &patched(&plain, b"b.npy", b"\xff.npy"), "is no valid UTF-8");
    check("a.npz", &patched(&plain, &a[300..310], b"XXXXXXXXXX"), "damaged: ");
    let middle = packed.len() / 3;
    let damaged = patched(&packed, &packed[middle..middle + 8], &[0xff; 8]);
    check("a.npz", &damaged, "\"a\": ");
    let objects = numpy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", b"\x80\x04.");
    check("a.npz", &zipped(&[("a.npy", Deflated, &objects)]), "\"a\": holds Python objects");
}

#[test]
fn zip_bombs() {
    // 4 GiB that the archive's directory and the array's header claim together.
    let claimed = |numel: u64| {
        numpy(&format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({numel},), }}"), b"")
    };
    let head = claimed(4_000_000_000);
    let size = head.len() as u32 + 4_000_000_000;
    let honest = zipped(&[("a.npy", Deflated, &head)]);
    let lying = patched(&honest, &(head.len() as u32).to_le_bytes(), &size.to_le_bytes());
    check("a.npz", &lying, "which cannot come out of");

    // What the packed bytes give is more, or less, than what both claim.
    let most = claimed(50_000);
    let size = (most.len() + 50_000) as u32;
    let body = |n: usize| [&most[..], &vec![0; n]].concat();
    for n in [49_999, 50_001, 500_000] {
        let honest = zipped(&[("a.npy", Deflated, &body(n))]);
        let real = ((most.len() + n) as u32).to_le_bytes();
        check("a.npz", &patched(&honest, &real, &size.to_le_bytes()), "\"a\": ");
    }

    // Two names for the same bytes: the second local header's place is the first one's.
    let a = array(&[100]);
    let plain = zipped(&[("a.npy", Stored, &a), ("b.npy", Stored, &a)]);
    let second = (30 + 5 + a.len() as u32).to_le_bytes();
    let directory = plain.windows(4).position(|w| w == b"PK\x01\x02").expect("directory");
    let mut shared = plain[..directory].to_vec();
    shared.extend(patched(&plain[directory..], &second, &[0; 4]));
    check("a.npz", &shared, "parts of the archive overlap");
}

#[test]
fn what_is_no_regular_file() {
    let folder = Folder::new();
    std::fs::create_dir(folder.file("d.npy")).expect("folder");
    let fifo = std::process::Command::new("mkfifo").arg(folder.file("p.npy")).status();
    assert!(fifo.expect("mkfifo").success());
    for (path, expected) in [
        (folder.file("d.npy"), "is a directory, expected a file"),
        (folder.file("p.npy"), "is a device, pipe or socket"),
        ("/dev/zero".into(), "is a device, pipe or socket"),
        (folder.file("missing.npy"), "cannot open: No such file or directory"),
    ] {
        let error = npy::load(&path, &pool()).expect_err(expected).to_string();
        assert_eq!(error.split(": ").next(), Some("io.loadNpy"));
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn the_memory_limit_is_asked_before_bytes_are_taken() {
    let folder = Folder::new();
    let path = folder.file("a.npy");
    npy::save(&path, &counting(DType::F64, &[1000])).expect("saved");
    let pool = pool();
    pool.account.set_limit(7999);
    let error = npy::load(&path, &pool).expect_err("limit");
    let class = mlrun_tensor_io::ErrorClass::Core(mlrun_tensor_core::ErrorClass::Memory);
    assert_eq!(error.class(), class);
    assert!(error.to_string().starts_with("io.loadNpy: out of tensor memory, requested 8000"));
    pool.account.set_limit(8000);
    assert!(npy::load(&path, &pool).is_ok());
}

#[test]
fn bools_are_0_or_1_whatever_the_file_says() {
    let folder = Folder::new();
    let header = r#"{"a":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}}"#;
    let path = folder.write("a.safetensors", &safe(header, &[0, 2, 255]));
    let loaded = safetensors::load(&path, &pool(), None).expect("loaded");
    assert_eq!(common::elements(&loaded[0].1), [0, 1, 1]);
}
