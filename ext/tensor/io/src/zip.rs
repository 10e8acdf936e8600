//! Zip archives, as far as npz needs them: stored and deflated parts, zip64, checksums.
//! Format: PKWARE's APPNOTE.
//!
//! Invariant: an archive is checked as a whole before a part is read. Parts lie one behind the
//! other before the directory, so that none counts twice; no name occurs twice. The general zip
//! crates are not used: they would bring their features' dependencies for two methods, and
//! leave these checks to the caller. Deliberately not here: encryption, several disks, archives
//! behind other data.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use crc32fast::Hasher;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use crate::error::{Problem, malformed, shown};
use crate::source::Source;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END64: u32 = 0x0606_4b50;
const LOCATOR64: u32 = 0x0706_4b50;
const LOCAL_SIZE: u64 = 30;
const CENTRAL_SIZE: usize = 46;
const END_SIZE: u64 = 22;
const ZIP64: u16 = 1;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const UTF8: u16 = 1 << 11;
/// The version of the format that has zip64.
const VERSION: u16 = 45;
/// 1 January 1980, the first day that a zip file knows: equal arrays give equal files.
const DATE: u16 = 1 << 5 | 1;

/// Deflate packs at most 258 bytes into two bits, plus what its first block needs.
const MOST_RATIO: u64 = 1032;
const SLACK: u64 = 4096;

/// One part, as the directory describes it.
pub(crate) struct Entry {
    pub name: Vec<u8>,
    flags: u16,
    method: u16,
    crc: u32,
    packed: u64,
    /// Bytes after unpacking, as claimed.
    pub size: u64,
    header: u64,
    data: u64,
}

/// Numbers one behind the other out of a slice; missing ones are an error.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], Problem> {
        match self.0.split_at_checked(n) {
            Some((front, rest)) => {
                self.0 = rest;
                Ok(front)
            }
            None => malformed!("zip archive: a record ends too early"),
        }
    }
    fn number(&mut self, width: usize) -> Result<u64, Problem> {
        Ok(self.take(width)?.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
    }
    fn u16(&mut self) -> Result<u16, Problem> {
        Ok(self.number(2)? as u16)
    }
    fn u32(&mut self) -> Result<u32, Problem> {
        Ok(self.number(4)? as u32)
    }
    fn u64(&mut self) -> Result<u64, Problem> {
        self.number(8)
    }
}

/// Where the directory is.
struct Directory {
    entries: u64,
    at: u64,
    len: u64,
}

/// The archive's parts in the directory's order, checked.
pub(crate) fn entries(source: &Source) -> Result<Vec<Entry>, Problem> {
    let directory = find_directory(source)?;
    if directory.entries > directory.len / CENTRAL_SIZE as u64 {
        return malformed!(
            "zip archive: {} parts in a directory of {} bytes",
            directory.entries,
            directory.len
        );
    }
    let mut bytes = vec![0; directory.len as usize];
    source.read_at(&mut bytes, directory.at)?;
    let mut fields = Fields(&bytes);
    let mut entries = Vec::with_capacity(directory.entries as usize);
    for _ in 0..directory.entries {
        entries.push(central(&mut fields)?);
    }
    if !fields.0.is_empty() {
        return malformed!("zip archive: {} bytes too many in the directory", fields.0.len());
    }
    let mut names = HashSet::with_capacity(entries.len());
    if let Some(twice) = entries.iter().find(|e| !names.insert(&e.name)) {
        return malformed!("two arrays have the name {}", shown(&twice.lossy_name()));
    }
    let mut by_place: Vec<usize> = (0..entries.len()).collect();
    by_place.sort_by_key(|&i| entries[i].header);
    let mut free = 0;
    for i in by_place {
        let entry = &mut entries[i];
        if entry.header < free {
            return malformed!("parts of the archive overlap at {}", shown(&entry.lossy_name()));
        }
        entry.data = local(source, entry, directory.at)?;
        free = entry.data + entry.packed;
    }
    Ok(entries)
}

fn find_directory(source: &Source) -> Result<Directory, Problem> {
    // The end record is the last thing but a comment of at most 65,535 bytes.
    let tail_len = source.len.min(END_SIZE + 0xffff);
    let mut tail = vec![0; tail_len as usize];
    let tail_at = source.len - tail_len;
    source.read_at(&mut tail, tail_at)?;
    let is_end = |i: &usize| {
        let record = &tail[*i..];
        record.starts_with(&END.to_le_bytes())
            && usize::from(u16::from_le_bytes([record[20], record[21]])) == record.len() - 22
    };
    let Some(at) = (0..(tail.len() + 1).saturating_sub(22)).rev().find(is_end) else {
        return malformed!("no whole zip archive: has no end record");
    };
    let end_at = tail_at + at as u64;
    let mut f = Fields(&tail[at + 4..]);
    let (disk, first_disk, here) = (f.u16()?, f.u16()?, f.u16()?);
    let (entries, len, start) = (f.u16()?, f.u32()?, f.u32()?);
    let mut directory = Directory { entries: entries.into(), at: start.into(), len: len.into() };
    let mut limit = end_at;
    if entries == u16::MAX || len == u32::MAX || start == u32::MAX {
        if let Some((found, place)) = find_directory64(source, end_at)? {
            (directory, limit) = (found, place);
        }
    } else if disk != 0 || first_disk != 0 || here != entries {
        return malformed!("zip archive: is spread over several files");
    }
    if directory.at.checked_add(directory.len).is_none_or(|end| end > limit) {
        return malformed!("zip archive: the directory reaches beyond its end");
    }
    Ok(directory)
}

/// The zip64 end record and its place, where a locator names it.
fn find_directory64(source: &Source, end_at: u64) -> Result<Option<(Directory, u64)>, Problem> {
    let Some(locator_at) = end_at.checked_sub(20) else { return Ok(None) };
    let mut locator = [0; 20];
    source.read_at(&mut locator, locator_at)?;
    let mut f = Fields(&locator);
    if f.u32()? != LOCATOR64 {
        return Ok(None);
    }
    let _disk = f.u32()?;
    let at = f.u64()?;
    if at.checked_add(56).is_none_or(|end| end > locator_at) {
        return malformed!("zip archive: the zip64 end record lies beyond its locator");
    }
    let mut record = [0; 56];
    source.read_at(&mut record, at)?;
    let mut f = Fields(&record);
    if f.u32()? != END64 {
        return malformed!("zip archive: has no zip64 end record where the locator says");
    }
    f.take(8 + 2 + 2)?;
    let (disk, first_disk, here) = (f.u32()?, f.u32()?, f.u64()?);
    let (entries, len, start) = (f.u64()?, f.u64()?, f.u64()?);
    if disk != 0 || first_disk != 0 || here != entries {
        return malformed!("zip archive: is spread over several files");
    }
    Ok(Some((Directory { entries, at: start, len }, at)))
}

/// One entry of the directory.
fn central(f: &mut Fields) -> Result<Entry, Problem> {
    if f.u32()? != CENTRAL {
        return malformed!("zip archive: the directory is damaged");
    }
    f.take(2 + 2)?;
    let (flags, method) = (f.u16()?, f.u16()?);
    f.take(2 + 2)?;
    let crc = f.u32()?;
    let (packed, size) = (f.u32()?, f.u32()?);
    let (name, extra, comment) = (f.u16()?, f.u16()?, f.u16()?);
    f.take(2 + 2 + 4)?;
    let header = f.u32()?;
    let name = f.take(name.into())?.to_vec();
    let mut extra = Fields(f.take(extra.into())?);
    f.take(comment.into())?;
    let mut entry = Entry {
        name,
        flags,
        method,
        crc,
        packed: packed.into(),
        size: size.into(),
        header: header.into(),
        data: 0,
    };
    while extra.0.len() >= 4 {
        let (id, len) = (extra.u16()?, extra.u16()?);
        let mut wide = Fields(extra.take(len.into())?);
        if id == ZIP64 {
            // Only what does not fit above is there, in this order.
            for value in [&mut entry.size, &mut entry.packed, &mut entry.header] {
                if *value == u64::from(u32::MAX) {
                    *value = wide.u64()?;
                }
            }
        }
    }
    Ok(entry)
}

/// Where a part's bytes begin; they end before `limit`.
fn local(source: &Source, entry: &Entry, limit: u64) -> Result<u64, Problem> {
    let name = || shown(&entry.lossy_name());
    let beyond = |end: Option<u64>| end.is_none_or(|end| end > limit);
    let names_at = entry.header.checked_add(LOCAL_SIZE);
    let Some(names_at) = names_at.filter(|at| !beyond(Some(*at))) else {
        return malformed!("zip archive: {} lies beyond the archive's end", name());
    };
    let mut record = [0; LOCAL_SIZE as usize];
    source.read_at(&mut record, entry.header)?;
    let mut f = Fields(&record);
    if f.u32()? != LOCAL {
        return malformed!("zip archive: {} is not where the directory says", name());
    }
    f.take(22)?;
    let (name_len, extra_len) = (f.u16()?, f.u16()?);
    let data = names_at + u64::from(name_len) + u64::from(extra_len);
    if beyond(data.checked_add(entry.packed)) {
        return malformed!("zip archive: {} reaches beyond the archive's end", name());
    }
    let mut own_name = vec![0; name_len.into()];
    source.read_at(&mut own_name, names_at)?;
    if own_name != entry.name {
        return malformed!("zip archive: {} has another name in its own header", name());
    }
    Ok(data)
}

impl Entry {
    pub fn lossy_name(&self) -> String {
        String::from_utf8_lossy(&self.name).into_owned()
    }

    /// A reader of the unpacked bytes, of which there can be no more than the packed ones give.
    pub fn open<'a>(&self, source: &'a Source) -> Result<Part<'a>, Problem> {
        if self.flags & 1 != 0 {
            return malformed!("is encrypted");
        }
        let packed = source.range(self.data, self.data + self.packed);
        let (most, from) = match self.method {
            STORED => (self.packed, Unpacked::Stored(packed)),
            DEFLATED => (
                self.packed.saturating_mul(MOST_RATIO).saturating_add(SLACK),
                Unpacked::Deflated(DeflateDecoder::new(packed)),
            ),
            other => return malformed!("is packed by method {other}, expected 0 or 8"),
        };
        if self.size > most {
            return malformed!(
                "claims {} bytes, which cannot come out of {} packed ones",
                self.size,
                self.packed
            );
        }
        Ok(Part { from, hash: Hasher::new(), crc: self.crc, size: self.size })
    }
}

enum Unpacked<'a> {
    Stored(crate::source::Range<'a>),
    Deflated(DeflateDecoder<crate::source::Range<'a>>),
}

/// The unpacked bytes of one part.
pub(crate) struct Part<'a> {
    from: Unpacked<'a>,
    hash: Hasher,
    crc: u32,
    size: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = match &mut self.from {
            Unpacked::Stored(from) => from.read(out),
            Unpacked::Deflated(from) => from.read(out),
        }?;
        self.hash.update(&out[..n]);
        Ok(n)
    }
}

impl Part<'_> {
    /// After the last byte: nothing may follow, and the checksum must be right.
    pub fn end(mut self) -> Result<(), Problem> {
        match self.read(&mut [0]) {
            Ok(0) => {}
            Ok(_) => return malformed!("is longer than the {} bytes it claims", self.size),
            Err(e) => return malformed!("damaged: {e}"),
        }
        let got = self.hash.finalize();
        if got != self.crc {
            return malformed!("damaged: checksum {got:08x}, expected {:08x}", self.crc);
        }
        Ok(())
    }
}

/// Writes an archive from front to back; only the sizes in a part's header come later.
pub(crate) struct Writer<'a> {
    out: &'a mut BufWriter<File>,
    at: u64,
    directory: Vec<u8>,
    names: HashSet<String>,
}

impl<'a> Writer<'a> {
    pub fn new(out: &'a mut BufWriter<File>) -> Self {
        Writer { out, at: 0, directory: Vec::new(), names: HashSet::new() }
    }

    /// One part, whose bytes `fill` writes.
    pub fn part(
        &mut self,
        name: String,
        compressed: bool,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let header = self.at;
        let method = if compressed { DEFLATED } else { STORED };
        let flags = if name.is_ascii() { 0 } else { UTF8 };
        let Ok(name_len) = u16::try_from(name.len()) else {
            return Err(Problem::Argument(format!("name {} is too long", shown(&name))));
        };
        // As NumPy does: room for 64-bit sizes, which are not known before the end.
        let start = |crc: u32, packed: u64, size: u64| {
            let mut b = Vec::with_capacity(64 + name.len());
            b.extend(LOCAL.to_le_bytes());
            for n in [VERSION, flags, method, 0, DATE] {
                b.extend(n.to_le_bytes());
            }
            for n in [crc, u32::MAX, u32::MAX] {
                b.extend(n.to_le_bytes());
            }
            for n in [name_len, 20] {
                b.extend(n.to_le_bytes());
            }
            b.extend(name.as_bytes());
            for n in [ZIP64, 16] {
                b.extend(n.to_le_bytes());
            }
            for n in [size, packed] {
                b.extend(n.to_le_bytes());
            }
            b
        };
        let placeholder = start(0, 0, 0);
        self.out.write_all(&placeholder).map_err(Problem::write)?;
        let mut packed = Counter { out: self.out, len: 0 };
        let (crc, size) = if compressed {
            let mut encoder = DeflateEncoder::new(&mut packed, Compression::default());
            let mut plain = Hashing { out: &mut encoder, hash: Hasher::new(), len: 0 };
            fill(&mut plain)?;
            let done = (plain.hash.finalize(), plain.len);
            encoder.finish().map_err(Problem::write)?;
            done
        } else {
            let mut plain = Hashing { out: &mut packed, hash: Hasher::new(), len: 0 };
            fill(&mut plain)?;
            (plain.hash.finalize(), plain.len)
        };
        let packed = packed.len;
        self.at = header + placeholder.len() as u64 + packed;
        self.patch(header, &start(crc, packed, size)).map_err(Problem::write)?;
        self.list(&name, [flags, method], crc, [size, packed, header]);
        if !self.names.insert(name) {
            return Err(Problem::Argument("two tensors have the same name".into()));
        }
        Ok(())
    }

    fn patch(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.out.seek(SeekFrom::Start(at))?;
        self.out.write_all(bytes)?;
        self.out.seek(SeekFrom::Start(self.at))?;
        Ok(())
    }

    /// Adds a part to the directory. `wide` are size, packed size and place.
    fn list(&mut self, name: &str, [flags, method]: [u16; 2], crc: u32, wide: [u64; 3]) {
        let fits = |n: u64| n < u64::from(u32::MAX);
        let narrow = wide.map(|n| if fits(n) { n as u32 } else { u32::MAX });
        let extra: Vec<u8> =
            wide.iter().filter(|n| !fits(**n)).flat_map(|n| n.to_le_bytes()).collect();
        let extra_len = if extra.is_empty() { 0 } else { extra.len() as u16 + 4 };
        let b = &mut self.directory;
        b.extend(CENTRAL.to_le_bytes());
        // Made by version 4.5 on Unix, so that the mode below counts.
        for n in [3 << 8 | VERSION, VERSION, flags, method, 0, DATE] {
            b.extend(n.to_le_bytes());
        }
        for n in [crc, narrow[1], narrow[0]] {
            b.extend(n.to_le_bytes());
        }
        for n in [name.len() as u16, extra_len, 0, 0, 0] {
            b.extend(n.to_le_bytes());
        }
        for n in [0o100644 << 16, narrow[2]] {
            b.extend(u32::to_le_bytes(n));
        }
        b.extend(name.as_bytes());
        if extra_len > 0 {
            for n in [ZIP64, extra.len() as u16] {
                b.extend(n.to_le_bytes());
            }
            b.extend(extra);
        }
    }

    /// Writes directory and end.
    pub fn finish(self) -> Result<(), Problem> {
        let (entries, len, at) = (self.names.len() as u64, self.directory.len() as u64, self.at);
        let mut b = self.directory;
        let most = u64::from(u32::MAX);
        if entries >= 0xffff || len >= most || at >= most {
            b.extend(END64.to_le_bytes());
            b.extend(44u64.to_le_bytes());
            b.extend([VERSION.to_le_bytes(), VERSION.to_le_bytes()].concat());
            b.extend([0; 8]);
            for n in [entries, entries, len, at] {
                b.extend(n.to_le_bytes());
            }
            b.extend(LOCATOR64.to_le_bytes());
            b.extend([0; 4]);
            b.extend((at + len).to_le_bytes());
            b.extend(1u32.to_le_bytes());
        }
        b.extend(END.to_le_bytes());
        b.extend([0; 4]);
        for n in [entries.min(0xffff) as u16; 2] {
            b.extend(n.to_le_bytes());
        }
        for n in [len.min(most) as u32, at.min(most) as u32] {
            b.extend(n.to_le_bytes());
        }
        b.extend([0; 2]);
        self.out.write_all(&b).map_err(Problem::write)
    }
}

/// Counts what passes.
struct Counter<'a> {
    out: &'a mut BufWriter<File>,
    len: u64,
}

impl Write for Counter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.len += n as u64;
        Ok(n)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Counts what passes and takes its checksum.
struct Hashing<W> {
    out: W,
    hash: Hasher,
    len: u64,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.hash.update(&bytes[..n]);
        self.len += n as u64;
        Ok(n)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
