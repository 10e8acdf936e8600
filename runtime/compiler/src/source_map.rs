//! Source map version 3 of a derived text, with `sourcesContent`.
//!
//! A consumer returns the segment at or before a position and adds nothing, so there is one
//! segment at every place where a token can start. Format: ECMA-426.

use crate::lines::Lines;
use crate::text::Derived;

/// JSON of the map from `stages.last()` back to `source`. Each stage was derived from the one
/// before it, the first from `source`.
pub(crate) fn generate(specifier: &str, source: &str, stages: &[&Derived]) -> String {
    let Some(last) = stages.last() else { return String::new() };
    let source_lines = Lines::new(source);
    let mut writer = Writer::default();
    let (mut line, mut line_start) = (0u32, 0usize);
    let mut starts = TokenStarts::default();
    let mut column = 0;
    let mut counted = 0;
    // What stands behind a segment, up to the next, is its own: no other says the same again.
    let mut said = None;
    for (offset, c) in last.code.char_indices() {
        if starts.next(c)
            && let Some(origin) = trace(stages, offset as u32)
            && said != Some(origin)
        {
            said = Some(origin);
            column += crate::lines::utf16_len(&last.code[counted.max(line_start)..offset]);
            counted = offset;
            let (src_line, src_column) = source_lines.position(origin);
            writer.segment(line, column, src_line, src_column);
        }
        let carriage_return_pair = c == '\r' && last.code[offset + 1..].starts_with('\n');
        if crate::lines::is_line_end(c) && !carriage_return_pair {
            line += 1;
            said = None;
            line_start = offset + c.len_utf8();
            (column, counted) = (0, line_start);
        }
    }
    serde_json::json!({
        "version": 3,
        "sources": [specifier],
        "sourcesContent": [source],
        "names": [],
        "mappings": writer.text,
    })
    .to_string()
}

fn trace(stages: &[&Derived], offset: u32) -> Option<u32> {
    stages.iter().rev().try_fold(offset, |at, stage| stage.origin(at))
}

/// Places where a token can start: first characters of words and all punctuation. It also
/// fires inside strings and comments, where an extra segment does no harm.
#[derive(Default)]
struct TokenStarts {
    in_word: bool,
}

impl TokenStarts {
    fn next(&mut self, c: char) -> bool {
        let word = c.is_alphanumeric() || matches!(c, '_' | '$' | '#' | '\\') || c as u32 > 0xFF;
        let start = if word { !self.in_word } else { !c.is_whitespace() };
        self.in_word = word;
        start
    }
}

#[derive(Default)]
struct Writer {
    text: String,
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
            self.text.push(';');
            self.line += 1;
            (self.column, self.open) = (0, false);
        }
        if self.open {
            self.text.push(',');
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
            self.text.push(char::from(DIGITS[(digit | more) as usize]));
            if rest == 0 {
                break;
            }
        }
    }
}
