//! Source maps of the goldens: every identifier of the output maps to the same identifier of the
//! input, at its exact line and column.

#![allow(clippy::disallowed_methods)] // reads test programs, not modules

use std::fs;
use std::path::Path;

use mlrun_compiler::{Compiled, Options, Ownership, SourceType, compile};

/// Decoded segments: (line, column, source line, source column), 0-based, UTF-16.
fn decode(mappings: &str) -> Vec<(u32, u32, u32, u32)> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut src_line, mut src_column) = (0i64, 0i64);
    let mut out = vec![];
    for (line, text) in mappings.split(';').enumerate() {
        let mut column = 0i64;
        for segment in text.split(',').filter(|s| !s.is_empty()) {
            let (mut fields, mut value, mut shift) = (vec![], 0i64, 0);
            for c in segment.chars() {
                let digit = DIGITS.find(c).expect("base64 digit") as i64;
                value |= (digit & 31) << shift;
                shift += 5;
                if digit & 32 == 0 {
                    fields.push(if value & 1 == 1 { -(value >> 1) } else { value >> 1 });
                    (value, shift) = (0, 0);
                }
            }
            column += fields[0];
            src_line += fields[2];
            src_column += fields[3];
            out.push((line as u32, column as u32, src_line as u32, src_column as u32));
        }
    }
    out
}

fn lookup(map: &[(u32, u32, u32, u32)], line: u32, column: u32) -> Option<(u32, u32)> {
    let after = map.partition_point(|&(l, c, ..)| (l, c) <= (line, column));
    map[..after].last().filter(|s| s.0 == line).map(|s| (s.2, s.3))
}

fn units(text: &str) -> Vec<Vec<u16>> {
    text.split('\n').map(|l| l.encode_utf16().collect()).collect()
}

fn is_word(unit: u16) -> bool {
    char::from_u32(u32::from(unit)).is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$')
}

/// Words of a text: (line, column, word).
fn words(text: &str) -> Vec<(u32, u32, Vec<u16>)> {
    let mut out = vec![];
    for (line, row) in units(text).iter().enumerate() {
        let mut column = 0;
        while column < row.len() {
            let length = row[column..].iter().take_while(|&&u| is_word(u)).count();
            if length > 0 && !row[column].is_ascii_digit() {
                out.push((line as u32, column as u32, row[column..column + length].to_vec()));
            }
            column += length.max(1);
        }
    }
    out
}

trait AsciiDigit {
    fn is_ascii_digit(&self) -> bool;
}

impl AsciiDigit for u16 {
    fn is_ascii_digit(&self) -> bool {
        (0x30..=0x39).contains(self)
    }
}

/// `exact`: each word maps to itself. Otherwise words that the compiler inserted are allowed, and
/// at least nine of ten must map to themselves.
fn check(name: &str, source: &str, options: &Options, exact: bool) {
    let Ok(compiled) = compile(name, source, options) else { return };
    let Some(json) = compiled.source_map else {
        assert_eq!(compiled.code, source, "{name}: no map, but the text changed");
        return;
    };
    let json: serde_json::Value = serde_json::from_str(&json).expect("map is JSON");
    assert_eq!(json["version"], 3);
    assert_eq!(json["sources"][0], name);
    assert_eq!(json["sourcesContent"][0], source);
    let map = decode(json["mappings"].as_str().expect("mappings"));
    let rows = units(source);
    let (mut right, mut wrong) = (0, vec![]);
    for (line, column, word) in words(&compiled.code) {
        let at = lookup(&map, line, column)
            .and_then(|(l, c)| rows.get(l as usize)?.get(c as usize..c as usize + word.len()));
        if at == Some(word.as_slice()) {
            right += 1;
        } else {
            wrong.push(format!("{}:{} {}", line + 1, column + 1, String::from_utf16_lossy(&word)));
        }
    }
    if exact {
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
    }
    assert!(right > 0, "{name}: nothing was checked");
}

#[test]
fn every_identifier_of_the_goldens_maps_to_itself() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens");
    let mut seen = 0;
    for entry in fs::read_dir(dir).expect("goldens") {
        let path = entry.expect("entry").path();
        if path.extension().is_some_and(|e| e == "ts") {
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
            let source = fs::read_to_string(&path).expect("golden");
            let exact = !name.starts_with("lowered");
            check(&name, &source, &Options::new(SourceType::TypeScript), exact);
            seen += 1;
        }
    }
    assert!(seen >= 5, "only {seen} goldens");
}

#[test]
fn a_position_after_removed_types_is_exact() {
    let source = "interface A {\n  x: number;\n}\nfunction f<T extends A>(a: T, b?: string): void { (a as any).boom(b!.length); }\n";
    let compiled =
        compile("m.ts", source, &Options::new(SourceType::TypeScript)).expect("compiles");
    let json: serde_json::Value =
        serde_json::from_str(&compiled.source_map.expect("map")).expect("JSON");
    let map = decode(json["mappings"].as_str().expect("mappings"));
    for word in ["boom", "length"] {
        let find = |text: &str| {
            let (l, row) =
                text.lines().enumerate().find(|(_, r)| r.contains(word)).expect("present");
            (l as u32, row.find(word).expect("present") as u32)
        };
        let (line, column) = find(&compiled.code);
        assert_eq!(lookup(&map, line, column), Some(find(source)), "{word}");
    }
}

/// Goldens `own/NAME.map.txt`: each call of the runtime half in `NAME.out.js`, and the place of the
/// source that caused it.
#[test]
fn inserted_code_maps_to_what_caused_it() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens/own");
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut failures = vec![];
    for name in ["async", "chain", "classes", "exits", "loop"] {
        let source = fs::read_to_string(dir.join(format!("{name}.js"))).expect("golden");
        let options = Options { ownership: Ownership::Whole, ..Options::new(SourceType::Module) };
        let compiled = compile(&format!("{name}.js"), &source, &options).expect("compiles");
        let got = inserted(&source, &compiled);
        let path = dir.join(format!("{name}.map.txt"));
        if update {
            fs::write(&path, &got).expect("golden output");
        } else if fs::read_to_string(&path).ok().as_deref() != Some(got.as_str()) {
            failures.push(format!("{}:\n{got}", path.display()));
        }
    }
    assert!(failures.is_empty(), "differ (UPDATE_GOLDEN=1 rewrites):\n{}", failures.join("\n"));
}

/// Lines `LINE:COLUMN operation <- LINE:COLUMN text`.
fn inserted(source: &str, compiled: &Compiled) -> String {
    let map = compiled.source_map.as_deref().expect("has a map");
    let map: serde_json::Value = serde_json::from_str(map).expect("map is JSON");
    let map = decode(map["mappings"].as_str().expect("mappings"));
    let rows = units(source);
    let mut out = String::new();
    for (line, text) in compiled.code.lines().enumerate() {
        for (at, _) in text.match_indices("$own.") {
            let rest = &text[at + 5..];
            let operation = &rest[..rest.find('(').unwrap_or(rest.len())];
            let (l, c) = lookup(&map, line as u32, at as u32).expect("mapped");
            let cause = rows.get(l as usize).and_then(|row| row.get(c as usize..));
            let cause = String::from_utf16_lossy(cause.unwrap_or_default());
            let cause: String = cause.chars().take(24).collect();
            out += &format!(
                "{}:{} {operation} <- {}:{} {}\n",
                line + 1,
                at + 1,
                l + 1,
                c + 1,
                cause.trim_end()
            );
        }
    }
    assert!(!out.is_empty(), "nothing was inserted");
    out
}
