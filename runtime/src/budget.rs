//! How much memory a program may use: what the machine or its control group allows, and what the
//! user said.
//!
//! Deliberately not here: what happens at the limit (the heap of tensors refuses, `heap_guard`
//! ends the script).

use std::str::FromStr;

/// Bytes that this process may use: the machine's memory, or less where a control group of
/// version 2 or 1 says so. `None` where the system tells neither.
pub(crate) fn available() -> Option<u64> {
    let machine = read("/proc/meminfo").as_deref().and_then(mem_total);
    let group = read("/sys/fs/cgroup/memory.max")
        .or_else(|| read("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
        .and_then(|text| text.trim().parse().ok());
    match (machine, group) {
        (Some(machine), Some(group)) => Some(machine.min(group)),
        (machine, group) => machine.or(group),
    }
}

/// Tensor bytes allowed where nobody says otherwise: nine tenths, so that a program that needs
/// more ends with an error instead of being killed by the system.
pub(crate) fn default_tensor_limit() -> Option<u64> {
    available().map(|bytes| bytes / 10 * 9)
}

/// Bytes of typed arrays: half of the memory.
pub(crate) fn array_limit() -> usize {
    available().map_or(usize::MAX, |bytes| usize::try_from(bytes / 2).unwrap_or(usize::MAX))
}

/// Below this V8 has no room for what a program begins with, and ends the process.
pub(crate) const LEAST_HEAP: usize = 16 << 20;

/// Bytes of the JavaScript heap where nobody says otherwise: a quarter, at most 4 GiB as in V8.
pub(crate) fn default_heap_limit() -> usize {
    const MOST: u64 = 4 << 30;
    const LEAST: u64 = 256 << 20;
    let quarter = available().map_or(MOST, |bytes| bytes / 4);
    usize::try_from(quarter.clamp(LEAST, MOST)).unwrap_or(usize::MAX)
}

/// As far as the JavaScript heap may grow while the script that filled it is being ended: what the
/// machine has, for V8 ends the process where a builtin that cannot be stopped needs more.
pub(crate) fn heap_maximum(limit: usize) -> usize {
    let available = available().map_or(usize::MAX, |b| usize::try_from(b).unwrap_or(usize::MAX));
    available.max(limit.saturating_mul(8))
}

#[expect(clippy::disallowed_methods, reason = "files of the kernel, not of the program")]
fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

fn mem_total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// A number of bytes as people write it: `2GB`, `256MB`, `1.5GiB`, `4096`. Powers of 1024, with or
/// without the `i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let refused = || format!("got \"{text}\", expected a size such as 512MB or 2GB");
        let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(at);
        let number: f64 = number.parse().map_err(|_| refused())?;
        let unit: u64 = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kb" | "kib" => 1 << 10,
            "m" | "mb" | "mib" => 1 << 20,
            "g" | "gb" | "gib" => 1 << 30,
            "t" | "tb" | "tib" => 1 << 40,
            _ => return Err(refused()),
        };
        let bytes = number * unit as f64;
        if bytes >= 1.0 && bytes < u64::MAX as f64 {
            Ok(Size(bytes as u64))
        } else {
            Err(refused())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let cases: &[(&str, Option<u64>)] = &[
            ("4096", Some(4096)),
            ("256MB", Some(256 << 20)),
            ("2GB", Some(2 << 30)),
            ("1.5GiB", Some(3 << 29)),
            ("10 kb", Some(10 << 10)),
            ("1t", Some(1 << 40)),
            ("0", None),
            ("", None),
            ("GB", None),
            ("-1GB", None),
            ("2XB", None),
            ("1e9", None),
            ("99999999999TB", None),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<Size>().ok().map(|s| s.0), *expected, "{text}");
        }
    }

    #[test]
    fn the_machine_says_how_much_it_has() {
        assert_eq!(mem_total("MemFree: 1 kB\nMemTotal:       2048 kB\n"), Some(2 << 20));
        assert_eq!(mem_total("MemTotal: many\n"), None);
        assert!(available().is_some_and(|bytes| bytes > 1 << 20));
        assert!(default_heap_limit() >= 256 << 20);
    }
}
