//! safetensors files: a JSON header, then the tensors' bytes without gaps. Format: the
//! safetensors repository's README.
//!
//! The header is checked as a whole before any tensor is read; only the wanted tensors' bytes
//! are read at all. The header is parsed here because the format's own crate lets a second
//! tensor of the same name win in silence.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use mlrun_tensor_core::layout::{checked_numel, show};
use mlrun_tensor_core::pool::HostPool;
use mlrun_tensor_core::{DType, Dims, Tensor};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::error::{Problem, Result, malformed, shown};
use crate::source::Source;
use crate::{Named, atomic, bytes};

/// The format's own limit.
const MOST_HEADER: u64 = 100_000_000;
const MOST_DIMENSIONS: usize = 64;
const METADATA: &str = "__metadata__";

/// What a header says of one tensor.
#[derive(Debug)]
pub struct Info {
    pub name: String,
    /// As the file names it, such as `F32`.
    pub dtype: String,
    pub shape: Dims,
    begin: u64,
    end: u64,
}

impl Info {
    pub fn bytes(&self) -> u64 {
        self.end - self.begin
    }

    /// The dtype here, if there is one.
    pub fn known(&self) -> Option<DType> {
        DTYPES.iter().find(|(name, _)| *name == self.dtype).map(|(_, dtype)| *dtype)
    }
}

/// A checked header.
#[derive(Debug, Default)]
pub struct Header {
    pub metadata: Vec<(String, String)>,
    /// In the order of their bytes.
    pub tensors: Vec<Info>,
    /// Where the bytes begin in the file.
    data: u64,
}

const DTYPES: [(&str, DType); 10] = [
    ("F32", DType::F32),
    ("F16", DType::F16),
    ("BF16", DType::BF16),
    ("F64", DType::F64),
    ("I8", DType::I8),
    ("U8", DType::U8),
    ("I16", DType::I16),
    ("I32", DType::I32),
    ("I64", DType::I64),
    ("BOOL", DType::Bool),
];

/// Reads all tensors, or those of `names`, in the order of their bytes.
pub fn load(path: &Path, pool: &Arc<HostPool>, names: Option<&[String]>) -> Result<Named> {
    read(path, pool, names).map_err(|e| e.at("io.loadSafetensors", path))
}

/// Reads and checks the header alone.
pub fn header(path: &Path) -> Result<Header> {
    Source::open(path)
        .and_then(|source| read_header(&source))
        .map_err(|e| e.at("io.safetensorsHeader", path))
}

/// Writes the tensors and `metadata`, completely or not at all.
pub fn save(
    path: &Path,
    tensors: &[(String, Tensor)],
    metadata: &[(String, String)],
) -> Result<()> {
    // Larger elements first: each tensor is aligned to its element then. Names make equal
    // tensors equal files.
    let mut sorted: Vec<&(String, Tensor)> = tensors.iter().collect();
    sorted.sort_by(|(a, s), (b, t)| t.dtype.size().cmp(&s.dtype.size()).then(a.cmp(b)));
    let write = || {
        let header = header_text(&sorted, metadata)?;
        atomic::write(path, |out| {
            atomic::put(out, &(header.len() as u64).to_le_bytes())?;
            atomic::put(out, header.as_bytes())?;
            for (_, t) in &sorted {
                bytes::write_tensor(t, out).map_err(Problem::write)?;
            }
            Ok(())
        })
    };
    write().map_err(|e| e.at("io.saveSafetensors", path))
}

fn read(path: &Path, pool: &Arc<HostPool>, names: Option<&[String]>) -> Result<Named, Problem> {
    let source = Source::open(path)?;
    let header = read_header(&source)?;
    let mut wanted: Option<HashSet<&str>> =
        names.map(|names| names.iter().map(String::as_str).collect());
    let mut out = Named::new();
    for info in header.tensors {
        if !wanted.as_mut().is_none_or(|wanted| wanted.remove(info.name.as_str())) {
            continue;
        }
        let Some(dtype) = info.known() else {
            return malformed!(
                "tensor {} has dtype {}, which has no counterpart here",
                shown(&info.name),
                shown(&info.dtype)
            );
        };
        let mut at = header.data + info.begin;
        let t = bytes::read_tensor(pool, dtype, &info.shape, false, &mut |part| {
            source.read_at(part, at)?;
            at += part.len() as u64;
            Ok(())
        })?;
        out.push((info.name, t));
    }
    match wanted.and_then(|wanted| wanted.into_iter().min()) {
        Some(missing) => malformed!("has no tensor {}", shown(missing)),
        None => Ok(out),
    }
}

fn read_header(source: &Source) -> Result<Header, Problem> {
    if source.len < 8 {
        return malformed!("got {} bytes, expected at least 8", source.len);
    }
    let mut length = [0; 8];
    source.read_at(&mut length, 0)?;
    let length = u64::from_le_bytes(length);
    if length > MOST_HEADER {
        return malformed!("header of {length} bytes, expected at most {MOST_HEADER}");
    }
    if length > source.len - 8 {
        return malformed!("header of {length} bytes in a file of {}", source.len);
    }
    let mut text = vec![0; length as usize];
    source.read_at(&mut text, 8)?;
    if let Err(e) = std::str::from_utf8(&text) {
        return malformed!("header: no valid UTF-8 at byte {}", 8 + e.valid_up_to());
    }
    if text.first() != Some(&b'{') {
        return malformed!("header: expected it to begin with {{");
    }
    let mut header: Header = match serde_json::from_slice(&text) {
        Ok(header) => header,
        Err(e) => return malformed!("header: {e}"),
    };
    header.data = 8 + length;
    check(&mut header, source.len - 8 - length)?;
    Ok(header)
}

/// Sorts by position; the tensors must cover `data` bytes exactly, one behind the other.
fn check(header: &mut Header, data: u64) -> Result<(), Problem> {
    let mut names = HashSet::with_capacity(header.tensors.len());
    if let Some(twice) = header.tensors.iter().find(|info| !names.insert(&info.name)) {
        return malformed!("tensor {} occurs twice", shown(&twice.name));
    }
    header.tensors.sort_by_key(|info| (info.begin, info.end));
    let mut at = 0;
    for info in &header.tensors {
        let Info { begin, end, .. } = *info;
        let name = || shown(&info.name);
        if end < begin || end > data {
            return malformed!(
                "tensor {} has data_offsets [{begin}, {end}], expected them within {data} bytes",
                name()
            );
        }
        if begin != at {
            let problem = if begin < at { "overlaps the one before it" } else { "leaves a gap" };
            return malformed!("tensor {} {problem}: begins at {begin}, expected {at}", name());
        }
        at = end;
        let Ok(numel) = checked_numel(&info.shape) else {
            return malformed!("tensor {} has shape {}, too large", name(), show(&info.shape));
        };
        // Of a dtype that is not known here only the position can be checked.
        let Some(dtype) = info.known() else { continue };
        let expected = numel as u64 * dtype.size() as u64;
        if end - begin != expected {
            return malformed!(
                "tensor {} of shape {} and {} needs {expected} bytes, got {}",
                name(),
                show(&info.shape),
                info.dtype,
                end - begin
            );
        }
    }
    if at != data {
        return malformed!("{} bytes follow the last tensor, expected none", data - at);
    }
    Ok(())
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Header;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
                let mut header = Header::default();
                let mut has_metadata = false;
                while let Some(name) = map.next_key::<String>()? {
                    if name != METADATA {
                        let Entry { dtype, shape, data_offsets: (begin, end) } =
                            map.next_value()?;
                        let shape = shape.0;
                        header.tensors.push(Info { name, dtype, shape, begin, end });
                    } else if std::mem::replace(&mut has_metadata, true) {
                        return Err(A::Error::custom(format_args!("{METADATA} occurs twice")));
                    } else {
                        header.metadata = map.next_value::<Pairs>()?.0;
                    }
                }
                Ok(header)
            }
        }
        from.deserialize_map(Fields)
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    dtype: String,
    shape: Shape,
    data_offsets: (u64, u64),
}

/// A shape of bounded length.
struct Shape(Dims);

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Extents;
        impl<'de> Visitor<'de> for Extents {
            type Value = Shape;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a shape")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Shape, A::Error> {
                let mut shape = Dims::new();
                while let Some(d) = seq.next_element::<usize>()? {
                    if shape.len() == MOST_DIMENSIONS {
                        return Err(A::Error::custom(format_args!(
                            "a shape has more than {MOST_DIMENSIONS} dimensions"
                        )));
                    }
                    shape.push(d);
                }
                Ok(Shape(shape))
            }
        }
        from.deserialize_seq(Extents)
    }
}

/// An object of strings, in order, each key once.
struct Pairs(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Strings;
        impl<'de> Visitor<'de> for Strings {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                let mut keys = HashSet::with_capacity(pairs.len());
                match pairs.iter().find(|(key, _): &&(String, String)| !keys.insert(key)) {
                    Some((key, _)) => Err(A::Error::custom(format_args!(
                        "{} occurs twice in {METADATA}",
                        shown(key)
                    ))),
                    None => Ok(Pairs(pairs)),
                }
            }
        }
        from.deserialize_map(Strings)
    }
}

fn header_text(
    tensors: &[&(String, Tensor)],
    metadata: &[(String, String)],
) -> Result<String, Problem> {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut fields = Vec::with_capacity(tensors.len() + 1);
    if !metadata.is_empty() {
        let pairs: Vec<String> =
            metadata.iter().map(|(k, v)| format!("{}:{}", quoted(k), quoted(v))).collect();
        fields.push(format!("\"{METADATA}\":{{{}}}", pairs.join(",")));
    }
    let mut at = 0;
    let mut names = HashSet::with_capacity(tensors.len());
    for (name, t) in tensors {
        if !names.insert(name) {
            return Err(Problem::Argument(format!("two tensors are named {}", shown(name))));
        }
        if name == METADATA {
            return Err(Problem::Argument(format!(
                "{METADATA} cannot name a tensor, it is the metadata's key"
            )));
        }
        let end = at + bytes::size(t);
        let shape: Vec<String> = t.shape().iter().map(|d| d.to_string()).collect();
        fields.push(format!(
            "{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{at},{end}]}}",
            quoted(name),
            dtype_name(t.dtype),
            shape.join(",")
        ));
        at = end;
    }
    let mut text = format!("{{{}}}", fields.join(","));
    text.push_str(&" ".repeat(text.len().next_multiple_of(8) - text.len()));
    if text.len() as u64 > MOST_HEADER {
        return Err(Problem::Argument(format!(
            "names and metadata make a header of {} bytes, expected at most {MOST_HEADER}",
            text.len()
        )));
    }
    Ok(text)
}

fn dtype_name(dtype: DType) -> &'static str {
    DTYPES.iter().find(|(_, d)| *d == dtype).map_or("", |(name, _)| name)
}
