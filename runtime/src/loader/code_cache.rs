//! Compiled modules between runs: emitted code, source map and V8's code cache.
//!
//! An entry's name is a hash of everything that the entry depends on, so entries are never
//! stale, only unused. Entries are written to a temporary name and renamed, and carry a
//! checksum: a reader sees a whole entry or none. Nothing here can fail a program: what cannot
//! be read or written is compiled again.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use deno_core::v8;
use mlrun_compiler::FunctionText;
use sha2::Digest;
use sha2::Sha256;

/// Changes whenever the layout of an entry changes.
const MAGIC: &[u8; 8] = b"mlrunc03";

/// Entries that a folder may hold before the older half is dropped.
const MAX_ENTRIES: usize = 4096;

/// Environment variable that names the folder.
const DIR_VARIABLE: &str = "MLRUN_CACHE_DIR";

/// Where compiled modules are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CacheDir {
    /// `MLRUN_CACHE_DIR`, else the user's cache folder (`XDG_CACHE_HOME` or `~/.cache`), else
    /// nowhere.
    #[default]
    PerUser,
    /// This folder; it is made when needed.
    At(PathBuf),
    /// Nothing is kept.
    Off,
}

impl CacheDir {
    /// The folder, if there is one. An empty or relative variable counts as unset, as the XDG
    /// specification wants it; `MLRUN_CACHE_DIR` may be relative.
    pub fn path(&self) -> Option<PathBuf> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        match self {
            Self::Off => None,
            Self::At(path) => Some(path.clone()),
            Self::PerUser => {
                if let Some(dir) = variable(DIR_VARIABLE) {
                    return Some(PathBuf::from(dir));
                }
                let cache = variable("XDG_CACHE_HOME")
                    .map(PathBuf::from)
                    .filter(|path| path.is_absolute())
                    .or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")))?;
                Some(cache.join("mlrun").join("modules"))
            }
        }
    }
}

/// Name of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key([u8; 32]);

impl Key {
    /// Hashes the parts that an entry depends on, besides the versions of compiler and V8.
    pub fn new(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        hash.update(MAGIC);
        hash.update(v8::script_compiler::cached_data_version_tag().to_le_bytes());
        for part in [mlrun_compiler::VERSION.as_bytes()].iter().chain(parts) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// What deno_core hands back with a new code cache.
    pub fn short(&self) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.0[..8]);
        u64::from_le_bytes(bytes)
    }

    fn file_name(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// One compiled module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub code: String,
    pub source_map: Option<String>,
    /// The name under which it imports the runtime half; empty if it does not.
    pub runtime_half: String,
    pub functions: Vec<FunctionText>,
    /// What the spans of `functions` are in, where it is not the source.
    pub plain: Option<String>,
    pub v8: Vec<u8>,
}

impl Entry {
    fn encode(&self) -> Vec<u8> {
        let map = self.source_map.as_deref();
        let plain = self.plain.as_deref();
        let functions: Vec<u8> = (self.functions.iter())
            .flat_map(|f| {
                let span = u64::from(f.start) << 32 | u64::from(f.end);
                [f.hash.to_le_bytes(), span.to_le_bytes()].concat()
            })
            .collect();
        let fields: [&[u8]; 8] = [
            self.code.as_bytes(),
            self.runtime_half.as_bytes(),
            &[u8::from(map.is_some())],
            map.unwrap_or_default().as_bytes(),
            &[u8::from(plain.is_some())],
            plain.unwrap_or_default().as_bytes(),
            &functions,
            &self.v8,
        ];
        let mut body = Vec::with_capacity(fields.iter().map(|field| field.len() + 8).sum());
        for field in fields {
            body.extend_from_slice(&(field.len() as u64).to_le_bytes());
            body.extend_from_slice(field);
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&Sha256::digest(&body));
        bytes.extend_from_slice(&body);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (checksum, mut body) = bytes.strip_prefix(MAGIC)?.split_at_checked(32)?;
        if Sha256::digest(body).as_slice() != checksum {
            return None;
        }
        let mut field = || {
            let (length, rest) = body.split_first_chunk::<8>()?;
            let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
            let (field, rest) = rest.split_at_checked(length)?;
            body = rest;
            Some(field)
        };
        let code = String::from_utf8(field()?.to_vec()).ok()?;
        let runtime_half = String::from_utf8(field()?.to_vec()).ok()?;
        let has_map = field()? == [1];
        let map = String::from_utf8(field()?.to_vec()).ok()?;
        let has_plain = field()? == [1];
        let plain = String::from_utf8(field()?.to_vec()).ok()?;
        let functions = field()?.chunks_exact(16).map(|entry| {
            let number = |at: usize| {
                let bytes = entry[at..at + 8].try_into().unwrap_or_default();
                u64::from_le_bytes(bytes)
            };
            FunctionText { hash: number(0), start: (number(8) >> 32) as u32, end: number(8) as u32 }
        });
        let functions = functions.collect();
        let v8 = field()?.to_vec();
        Some(Self {
            code,
            source_map: has_map.then_some(map),
            runtime_half,
            functions,
            plain: has_plain.then_some(plain),
            v8,
        })
    }
}

/// Entries in one folder.
#[derive(Debug)]
pub(super) struct CodeCache {
    dir: Option<PathBuf>,
}

impl CodeCache {
    pub fn new(dir: &CacheDir) -> Self {
        Self { dir: dir.path() }
    }

    pub fn is_on(&self) -> bool {
        self.dir.is_some()
    }

    /// A whole, undamaged entry, or `None`.
    #[expect(clippy::disallowed_methods, reason = "reads the loader's own cache")]
    pub fn get(&self, key: &Key) -> Option<Entry> {
        let path = self.dir.as_ref()?.join(key.file_name());
        Entry::decode(&fs::read(path).ok()?)
    }

    /// Keeps an entry, if the folder can be written.
    pub fn put(&self, key: &Key, entry: &Entry) {
        let Some(dir) = &self.dir else { return };
        // A full or read-only disk costs time in the next run, nothing else.
        let _ = write_atomically(dir, &key.file_name(), &entry.encode());
        // Looking through the folder is not worth it at every write.
        if key.short().is_multiple_of(64) {
            drop_older_half(dir, MAX_ENTRIES);
        }
    }
}

/// Removes the older half of the files if there are more than `limit`, left-overs included.
fn drop_older_half(dir: &Path, limit: usize) {
    let Ok(list) = fs::read_dir(dir) else { return };
    let mut files: Vec<_> = list
        .flatten()
        .filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path())))
        .collect();
    if files.len() <= limit {
        return;
    }
    files.sort();
    for (_, path) in &files[..files.len() / 2] {
        // Another process may have removed it.
        let _ = fs::remove_file(path);
    }
}

fn write_atomically(dir: &Path, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    fs::create_dir_all(dir)?;
    let unique = COUNTER.fetch_add(1, Ordering::Relaxed);
    let temporary = dir.join(format!("{name}.{}.{unique}.tmp", std::process::id()));
    let written = fs::File::create(&temporary)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&temporary, dir.join(name)));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            code: "1;\n".into(),
            source_map: Some("{}".into()),
            runtime_half: "a".into(),
            functions: vec![FunctionText { hash: u64::MAX - 1, start: 3, end: u32::MAX }],
            plain: Some("1".into()),
            v8: vec![1, 2, 3],
        }
    }

    #[test]
    fn entries_survive_encoding() {
        let without_map = Entry { source_map: None, ..entry() };
        for entry in [entry(), without_map, Entry::default()] {
            assert_eq!(Entry::decode(&entry.encode()), Some(entry));
        }
    }

    #[test]
    fn damaged_entries_are_no_entries() {
        let bytes = entry().encode();
        for length in 0..bytes.len() {
            assert_eq!(Entry::decode(&bytes[..length]), None, "cut to {length} bytes");
        }
        for index in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[index] ^= 0x40;
            assert_eq!(Entry::decode(&damaged), None, "byte {index} changed");
        }
    }

    #[test]
    fn keys_depend_on_every_part_and_its_border() {
        let keys = [
            Key::new(&[b"ab", b"c"]),
            Key::new(&[b"a", b"bc"]),
            Key::new(&[b"abc"]),
            Key::new(&[b"abd"]),
        ];
        for (i, a) in keys.iter().enumerate() {
            for b in &keys[i + 1..] {
                assert_ne!(a, b);
            }
        }
    }

    #[test]
    fn a_full_folder_loses_its_older_half() {
        let dir = std::env::temp_dir().join(format!("mlrun-full-{}", std::process::id()));
        let names = || fs::read_dir(&dir).expect("folder").count();
        let cache = CodeCache::new(&CacheDir::At(dir.clone()));
        for index in 0..10u8 {
            cache.put(&Key::new(&[&[index]]), &entry());
        }
        let newest = Key::new(&[b"newest"]);
        std::thread::sleep(std::time::Duration::from_millis(20));
        cache.put(&newest, &entry());
        drop_older_half(&dir, 11);
        assert_eq!(names(), 11);
        drop_older_half(&dir, 10);
        assert_eq!(names(), 6);
        assert_eq!(cache.get(&newest), Some(entry()));
        fs::remove_dir_all(&dir).expect("temporary folder");
    }

    #[test]
    fn an_unusable_folder_is_no_error() {
        let file = std::env::temp_dir().join(format!("mlrun-no-dir-{}", std::process::id()));
        fs::write(&file, "not a folder").expect("temporary file");
        let cache = CodeCache::new(&CacheDir::At(file.join("below")));
        let key = Key::new(&[b"x"]);
        cache.put(&key, &entry());
        assert_eq!(cache.get(&key), None);
    }
}
