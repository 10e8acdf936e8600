//! Source map version 3 of a derived text, with `sourcesContent`.
//!
//! A consumer returns the segment at or before a position and adds nothing, so there is one
//! segment at every place where a token can start. Format: ECMA-426.

use crate::lines::{Lines, Places, is_line_end};
use crate::text::{Derived, Origins};

/// JSON of the map from `stages.last()` back to `source`. Each stage was derived from the one
/// before it, the first from `source`.
pub(crate) fn generate(specifier: &str, source: &str, stages: &[&Derived]) -> String {
    let Some(last) = stages.last() else { return String::new() };
    let source_lines = Lines::new(source);
    let mut places = Places::new(&source_lines);
    let mut origins: Vec<_> = stages.iter().rev().map(|stage| Origins::new(stage)).collect();
    let mut writer = Writer { text: Vec::with_capacity(last.code.len()), ..Writer::default() };
    let (mut line, mut column) = (0, 0);
    let mut in_word = false;
    // What stands behind a segment, up to the next, is its own: no other says the same again.
    let mut said = None;
    let code = last.code.as_str();
    let mut at = 0;
    while let Some(c) = char_at(code, at) {
        let kind = kind(c);
        let starts = kind == Kind::Mark || kind == Kind::Word && !in_word;
        in_word = kind == Kind::Word;
        if starts && let Some(origin) = trace(&mut origins, at as u32) {
            if said != Some(origin) {
                said = Some(origin);
                let (src_line, src_column) = places.position(origin);
                writer.segment(line, column, src_line, src_column);
            }
            // Inserted text says the same to its end.
            let end = origins[0].inserted_until(code.len());
            let rest = end.map_or(&[][..], |end| &code.as_bytes()[at..end]);
            if !rest.is_empty() && rest.iter().all(|b| (b' '..=b'~').contains(b)) {
                in_word = rest.last().is_some_and(|&b| self::kind(b.into()) == Kind::Word);
                column += rest.len() as u32;
                at += rest.len();
                continue;
            }
        }
        at += c.len_utf8();
        column += c.len_utf16() as u32;
        let pair = c == '\r' && code.as_bytes().get(at) == Some(&b'\n');
        if is_line_end(c) && !pair {
            (line, column, said) = (line + 1, 0, None);
        }
    }
    let [specifier, source] =
        [specifier, source].map(|text| serde_json::Value::from(text).to_string());
    let mappings = String::from_utf8(writer.text).unwrap_or_default();
    format!(
        "{{\"version\":3,\"sources\":[{specifier}],\"sourcesContent\":[{source}],\"names\":[],\"mappings\":\"{mappings}\"}}"
    )
}

fn char_at(text: &str, at: usize) -> Option<char> {
    match text.as_bytes().get(at)? {
        byte @ 0..0x80 => Some(char::from(*byte)),
        _ => text.get(at..)?.chars().next(),
    }
}

fn trace(origins: &mut [Origins], offset: u32) -> Option<u32> {
    origins.iter_mut().try_fold(offset, |at, stage| stage.of(at))
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Word,
    Space,
    /// Anything else: a token starts at each.
    Mark,
}

/// A token starts at the first character of a word and at each mark. That is so inside strings and
/// comments too, where one more segment does no harm.
fn kind(c: char) -> Kind {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '$' | '#' | '\\' => Kind::Word,
        ' ' | '\t'..='\r' => Kind::Space,
        '\0'..='\x7f' => Kind::Mark,
        _ if c.is_alphanumeric() || c as u32 > 0xFF => Kind::Word,
        _ if c.is_whitespace() => Kind::Space,
        _ => Kind::Mark,
    }
}

#[derive(Default)]
struct Writer {
    text: Vec<u8>,
    line: u32,
    column: u32,
    src_line: u32,
    src_column: u32,
    /// A segment was written on this line.
    open: bool,
}

impl Writer {
    fn segment(&mut self, line: u32, column: u32, src_line: u32, src_column: u32) {
        while self.line < line {
            self.text.push(b';');
            self.line += 1;
            (self.column, self.open) = (0, false);
        }
        if self.open {
            self.text.push(b',');
        }
        self.open = true;
        self.vlq(i64::from(column) - i64::from(self.column));
        self.vlq(0);
        self.vlq(i64::from(src_line) - i64::from(self.src_line));
        self.vlq(i64::from(src_column) - i64::from(self.src_column));
        (self.column, self.src_line, self.src_column) = (column, src_line, src_column);
    }

    /// Base64 variable-length quantity: five bits a digit, least significant first, sign last.
    fn vlq(&mut self, value: i64) {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut rest = value.unsigned_abs() << 1 | u64::from(value < 0);
        loop {
            let digit = rest & 31;
            rest >>= 5;
            let more = if rest > 0 { 32 } else { 0 };
            self.text.push(DIGITS[(digit | more) as usize]);
            if rest == 0 {
                break;
            }
        }
    }
}
