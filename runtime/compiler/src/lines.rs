//! Byte offsets to lines and UTF-16 columns, as V8 and source maps count them.

/// Start offsets of the lines of a text.
pub(crate) struct Lines<'s> {
    text: &'s str,
    starts: Vec<u32>,
    /// UTF-16 length of the text before each multiple of [`STEP`]; empty where a byte is a unit.
    /// A file can be one line.
    units: Vec<u32>,
}

const STEP: usize = 64;

impl<'s> Lines<'s> {
    pub fn new(text: &'s str) -> Self {
        Self { text, starts: line_starts(text), units: units_before_steps(text) }
    }

    /// UTF-16 length of the text before a byte offset, which is a character's first.
    fn units_before(&self, offset: usize) -> u32 {
        let Some(before) = self.units.get(offset / STEP) else { return offset as u32 };
        let from = char_start(self.text, offset / STEP * STEP);
        before + utf16_len(&self.text[from..offset])
    }

    /// 0-based line and 0-based UTF-16 column of a byte offset.
    pub fn position(&self, offset: u32) -> (u32, u32) {
        let offset = offset.min(self.text.len() as u32);
        let line = self.starts.partition_point(|&s| s <= offset) - 1;
        (line as u32, self.column(line, offset))
    }

    /// 0-based UTF-16 column of a byte offset on a line.
    fn column(&self, line: usize, offset: u32) -> u32 {
        let start = self.starts[line] as usize;
        let end = char_start(self.text, offset as usize).max(start);
        self.units_before(end) - self.units_before(start)
    }

    /// Byte offset of a 0-based line and 0-based UTF-16 column, clamped to the line.
    pub fn offset(&self, line: u32, column: u32) -> u32 {
        let Some(&start) = self.starts.get(line as usize) else {
            return self.text.len() as u32;
        };
        let mut left = column;
        let mut offset = start;
        for c in self.text[start as usize..].chars() {
            if left == 0 || is_line_end(c) {
                break;
            }
            left = left.saturating_sub(c.len_utf16() as u32);
            offset += c.len_utf8() as u32;
        }
        offset
    }

    /// The text of a 0-based line without its end.
    pub fn line(&self, line: u32) -> Option<&'s str> {
        let start = *self.starts.get(line as usize)? as usize;
        let end = self.starts.get(line as usize + 1).map_or(self.text.len(), |&e| e as usize);
        Some(self.text[start..end].trim_end_matches(is_line_end))
    }

    pub fn len(&self) -> u32 {
        self.starts.len() as u32
    }
}

/// Positions of byte offsets, for who asks in about ascending order.
pub(crate) struct Places<'l> {
    lines: &'l Lines<'l>,
    /// The line that was found last.
    line: usize,
    /// The offset and its column that were found last.
    last: (u32, u32),
}

impl<'l> Places<'l> {
    pub fn new(lines: &'l Lines<'l>) -> Self {
        Self { lines, line: 0, last: (0, 0) }
    }

    /// What [`Lines::position`] says.
    pub fn position(&mut self, offset: u32) -> (u32, u32) {
        let offset = offset.min(self.lines.text.len() as u32);
        let starts = &self.lines.starts;
        let holds = |line: usize| {
            starts.get(line).is_some_and(|&s| s <= offset)
                && starts.get(line + 1).is_none_or(|&s| offset < s)
        };
        if !holds(self.line) {
            let found = || starts.partition_point(|&s| s <= offset) - 1;
            self.line = if holds(self.line + 1) { self.line + 1 } else { found() };
        }
        let text = self.lines.text;
        // Mostly it is a word further on.
        let near = offset.checked_sub(self.last.0).filter(|&n| n < STEP as u32);
        let between = near.and_then(|_| text.get(self.last.0 as usize..offset as usize));
        let column = match between.filter(|_| self.last.0 >= starts[self.line]) {
            Some(between) => self.last.1 + utf16_len(between),
            None => self.lines.column(self.line, offset),
        };
        self.last = (offset, column);
        (self.line as u32, column)
    }
}

/// ECMAScript's line terminators: V8 counts all four.
pub(crate) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

pub(crate) fn utf16_len(text: &str) -> u32 {
    if text.is_ascii() {
        return text.len() as u32;
    }
    text.chars().map(|c| c.len_utf16() as u32).sum()
}

/// The start of the character that a byte belongs to.
fn char_start(text: &str, mut offset: usize) -> usize {
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

fn units_before_steps(text: &str) -> Vec<u32> {
    if text.is_ascii() {
        return vec![];
    }
    let (mut units, mut last, mut sum) = (vec![], 0, 0);
    for step in 0..=text.len() / STEP {
        let at = char_start(text, step * STEP);
        sum += utf16_len(&text[last..at]);
        last = at;
        units.push(sum);
    }
    units
}

fn line_starts(text: &str) -> Vec<u32> {
    let bytes = text.as_bytes();
    let mut starts = vec![0];
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'\n' => starts.push(i as u32 + 1),
            b'\r' if bytes.get(i + 1) != Some(&b'\n') => starts.push(i as u32 + 1),
            0xE2 if matches!(bytes.get(i + 1..i + 3), Some([0x80, 0xA8 | 0xA9])) => {
                starts.push(i as u32 + 3);
            }
            _ => {}
        }
        i += 1;
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_a_long_line() {
        let text = "aé😀".repeat(1000);
        let lines = Lines::new(&text);
        for (offset, _) in text.char_indices() {
            assert_eq!(lines.position(offset as u32), (0, utf16_len(&text[..offset])));
        }
    }

    #[test]
    fn positions_and_offsets_are_inverse() {
        let text = "ab\r\nc😀d\n\u{2028}é = 1\rlast";
        let lines = Lines::new(text);
        assert_eq!(lines.len(), 5);
        assert_eq!(lines.position(4), (1, 0));
        assert_eq!(lines.position(9), (1, 3));
        for (offset, _) in text.char_indices() {
            let (line, column) = lines.position(offset as u32);
            if !text[offset..].starts_with(['\r', '\n', '\u{2028}']) {
                assert_eq!(lines.offset(line, column), offset as u32, "offset {offset}");
            }
        }
        assert_eq!(lines.line(1), Some("c😀d"));
        assert_eq!(lines.line(9), None);
    }
}
