//! Code frames: source lines with a mark under the offending text.
//!
//! One renderer for compile errors and uncaught errors. Marks line up in a terminal: tabs are
//! shown as spaces, wide and combining characters count their display width.

use unicode_width::UnicodeWidthChar;

use crate::lines::Lines;

/// How [`code_frame`] draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameStyle {
    /// Use ANSI colours.
    pub colour: bool,
    /// Lines shown before and after the marked one.
    pub context: u32,
    /// Terminal columns of source shown; longer lines are cut around the mark.
    pub width: u32,
}

impl Default for FrameStyle {
    fn default() -> Self {
        Self { colour: false, context: 2, width: 100 }
    }
}

const TAB: usize = 4;
const RED: &str = "\x1b[1;31m";
const DIM: &str = "\x1b[2m";
const RESET: &str = "\x1b[0m";

/// Draws the lines around a position with a mark under it. `line` and `column` are 1-based, the
/// column and `length` in UTF-16 code units. Empty if the source has no such line. Ends without
/// a line feed.
pub fn code_frame(source: &str, line: u32, column: u32, length: u32, style: &FrameStyle) -> String {
    let lines = Lines::new(source);
    let Some(marked) = line.checked_sub(1).filter(|&l| l < lines.len()) else {
        return String::new();
    };
    let first = marked.saturating_sub(style.context);
    let mut last = (marked + style.context).min(lines.len() - 1);
    if last > marked && last == lines.len() - 1 && lines.line(last) == Some("") {
        last -= 1;
    }
    let gutter = (last + 1).to_string().len();
    let mark = Mark::new(lines.line(marked).unwrap_or(""), column.max(1) - 1, length.max(1));
    let from = mark.window(style.width.max(20) as usize);
    let (red, dim, reset) = if style.colour { (RED, DIM, RESET) } else { ("", "", "") };

    let mut out = Vec::new();
    for n in first..=last {
        let text = window(lines.line(n).unwrap_or(""), from, style.width.max(20) as usize);
        let pointer = if n == marked { format!("{red}>{reset}") } else { " ".to_owned() };
        let row = format!("{pointer} {dim}{:>gutter$} |{reset} {text}", n + 1);
        out.push(row.trim_end().to_owned());
        if n == marked {
            let pad = mark.start - from + if from > 0 { 1 } else { 0 };
            let room = (style.width.max(20) as usize).saturating_sub(mark.start - from).max(1);
            let carets = "^".repeat(mark.width.min(room));
            let blank = " ".repeat(gutter);
            out.push(format!("  {blank} {dim}|{reset} {}{red}{carets}{reset}", " ".repeat(pad)));
        }
    }
    out.join("\n")
}

/// Display cells of the marked text within its line.
struct Mark {
    start: usize,
    width: usize,
}

impl Mark {
    fn new(line: &str, column: u32, length: u32) -> Self {
        let (mut unit, mut cell) = (0u32, 0usize);
        let (mut start, mut end) = (None, None);
        for c in line.chars() {
            if unit >= column && start.is_none() {
                start = Some(cell);
            }
            if unit >= column.saturating_add(length) && end.is_none() {
                end = Some(cell);
            }
            unit += c.len_utf16() as u32;
            cell += cells(c, cell);
        }
        let start = start.unwrap_or(cell);
        Self { start, width: end.unwrap_or(cell).saturating_sub(start).max(1) }
    }

    /// First display cell to show so that the mark is visible.
    fn window(&self, width: usize) -> usize {
        if self.start < width { 0 } else { self.start - width / 2 }
    }
}

fn cells(c: char, at: usize) -> usize {
    match c {
        '\t' => TAB - at % TAB,
        _ => c.width().unwrap_or(1),
    }
}

/// The part of a line that lies in display cells `from .. from + width`, with `…` where it is cut.
fn window(line: &str, from: usize, width: usize) -> String {
    let mut out = String::new();
    if from > 0 {
        out.push('…');
    }
    let mut cell = 0;
    for c in line.chars() {
        let wide = cells(c, cell);
        let (start, end) = (cell, cell + wide);
        cell = end;
        if end <= from && wide > 0 || start < from && wide == 0 {
            continue;
        }
        if start >= from + width {
            out.push('…');
            break;
        }
        match c {
            '\t' => out.extend(std::iter::repeat_n(' ', end - start.max(from))),
            _ if start < from => out.push(' '),
            _ if c.is_control() => out.push('\u{FFFD}'),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(source: &str, line: u32, column: u32, length: u32) -> String {
        let style = FrameStyle { colour: false, context: 1, width: 40 };
        code_frame(source, line, column, length, &style)
    }

    #[test]
    fn frames() {
        let table: &[(&str, u32, u32, u32, &str)] = &[
            (
                "let a;\nlet b = x;\nc",
                2,
                9,
                1,
                "  1 | let a;\n> 2 | let b = x;\n    |         ^\n  3 | c",
            ),
            ("\tfoo(bar)", 1, 6, 3, "> 1 |     foo(bar)\n    |         ^^^"),
            ("a\tb", 1, 3, 1, "> 1 | a   b\n    |     ^"),
            ("'日本' + x", 1, 8, 1, "> 1 | '日本' + x\n    |          ^"),
            ("'😀' + x", 1, 8, 1, "> 1 | '😀' + x\n    |        ^"),
            ("'e\u{301}' + x", 1, 8, 1, "> 1 | 'e\u{301}' + x\n    |       ^"),
            ("ab", 1, 3, 1, "> 1 | ab\n    |   ^"),
            ("ab", 1, 2, 99, "> 1 | ab\n    |  ^"),
            ("ab", 2, 1, 1, ""),
            ("ab", 0, 1, 1, ""),
        ];
        for (source, line, column, length, want) in table {
            assert_eq!(&draw(source, *line, *column, *length), want, "source {source:?}");
        }
    }

    #[test]
    fn a_long_line_is_cut_around_the_mark() {
        let source = format!("{}HERE{}", "x".repeat(5000), "y".repeat(5000));
        let frame = draw(&source, 1, 5001, 4);
        let rows: Vec<&str> = frame.lines().collect();
        assert!(rows.iter().all(|r| r.chars().count() < 60), "{frame}");
        let at = rows[0].chars().position(|c| c == 'H');
        assert_eq!(at, rows[1].chars().position(|c| c == '^'), "{frame}");
        assert_eq!(rows[1].matches('^').count(), 4);
    }

    #[test]
    fn colours_do_not_change_the_text() {
        let style = FrameStyle { colour: true, ..FrameStyle::default() };
        let mut frame = code_frame("a\nb c", 2, 3, 1, &style);
        for code in [RED, DIM, RESET] {
            frame = frame.replace(code, "");
        }
        assert_eq!(frame, code_frame("a\nb c", 2, 3, 1, &FrameStyle::default()));
    }
}
