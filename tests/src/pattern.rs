//! Compares a program's output with an expected text that may hold wildcards.
//!
//! A line `[WILDCARD]` stands for any number of lines, also none; `[..]` within a line
//! stands for any text without a line break. Everything else, trailing line break included,
//! is compared character by character. Nothing here runs programs or reads files.

const ANY_LINES: &str = "[WILDCARD]";
const ANY_TEXT: &str = "[..]";

/// Above this product of line counts no alignment is computed: its table would not fit.
const MAX_CELLS: usize = 16_000_000;

/// Whether `actual` is one of the texts that `expected` stands for.
pub fn matches(expected: &str, actual: &str) -> bool {
    let expected: Vec<&str> = expected.split('\n').collect();
    let actual: Vec<&str> = actual.split('\n').collect();
    glob(&expected, &actual, |e| *e == ANY_LINES, |e, a| line_matches(e, a))
}

fn line_matches(pattern: &str, line: &str) -> bool {
    let mut pieces = pattern.split(ANY_TEXT);
    let first = pieces.next().unwrap_or("");
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    true
}

/// Glob matching over a sequence: on a mismatch the last wildcard takes one item more.
fn glob<P, T>(
    pattern: &[P],
    items: &[T],
    is_wildcard: impl Fn(&P) -> bool,
    matches: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut p, mut i) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while i < items.len() {
        if p < pattern.len() && is_wildcard(&pattern[p]) {
            retry = Some((p + 1, i));
            p += 1;
        } else if p < pattern.len() && matches(&pattern[p], &items[i]) {
            p += 1;
            i += 1;
        } else if let Some((after, from)) = retry {
            retry = Some((after, from + 1));
            p = after;
            i = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(is_wildcard)
}

/// One line of the cheapest way from the expected to the actual text.
enum Edit<'a> {
    /// A line of both texts; `expected` is the form with wildcards.
    Same {
        expected: &'a str,
        actual: &'a str,
    },
    AnyLines,
    /// An actual line that the preceding `AnyLines` stands for.
    Covered,
    Missing(&'a str),
    Extra(&'a str),
}

fn align<'a>(expected: &'a str, actual: &'a str) -> Option<Vec<Edit<'a>>> {
    let e: Vec<&str> = expected.split('\n').collect();
    let a: Vec<&str> = actual.split('\n').collect();
    let width = a.len() + 1;
    if (e.len() + 1) * width > MAX_CELLS {
        return None;
    }
    // cost[i * width + j]: fewest edits that turn e[i..] into a[j..].
    let mut cost = vec![0u32; (e.len() + 1) * width];
    for i in (0..=e.len()).rev() {
        for j in (0..=a.len()).rev() {
            let at = |i: usize, j: usize| cost[i * width + j];
            let mut best = if i == e.len() && j == a.len() { 0 } else { u32::MAX };
            if i < e.len() && e[i] == ANY_LINES {
                best = best.min(at(i + 1, j));
                if j < a.len() {
                    best = best.min(at(i, j + 1));
                }
            } else if i < e.len() {
                best = best.min(at(i + 1, j) + 1);
                if j < a.len() && line_matches(e[i], a[j]) {
                    best = best.min(at(i + 1, j + 1));
                }
            }
            if j < a.len() {
                best = best.min(at(i, j + 1) + 1);
            }
            cost[i * width + j] = best;
        }
    }
    Some(walk(&e, &a, &cost))
}

fn walk<'a>(e: &[&'a str], a: &[&'a str], cost: &[u32]) -> Vec<Edit<'a>> {
    let width = a.len() + 1;
    let at = |i: usize, j: usize| cost[i * width + j];
    let mut edits = Vec::new();
    let (mut i, mut j) = (0, 0);
    let mut inside_any = false;
    while i < e.len() || j < a.len() {
        let here = at(i, j);
        if i < e.len() && e[i] == ANY_LINES {
            if !inside_any {
                edits.push(Edit::AnyLines);
            }
            if here == at(i + 1, j) {
                inside_any = false;
                i += 1;
            } else {
                inside_any = true;
                edits.push(Edit::Covered);
                j += 1;
            }
        } else if i < e.len() && j < a.len() && line_matches(e[i], a[j]) && here == at(i + 1, j + 1)
        {
            edits.push(Edit::Same { expected: e[i], actual: a[j] });
            i += 1;
            j += 1;
        } else if i < e.len() && here == at(i + 1, j) + 1 {
            edits.push(Edit::Missing(e[i]));
            i += 1;
        } else {
            edits.push(Edit::Extra(a[j]));
            j += 1;
        }
    }
    edits
}

/// A readable difference: `-` lines are expected and absent, `+` lines are printed and not
/// expected. Long runs of equal lines are folded.
pub fn diff(expected: &str, actual: &str) -> String {
    const CONTEXT: usize = 3;
    let Some(edits) = align(expected, actual) else {
        return first_difference(expected, actual);
    };
    let changed: Vec<bool> =
        edits.iter().map(|e| matches!(e, Edit::Missing(_) | Edit::Extra(_))).collect();
    let mut out = String::new();
    let mut folded = 0;
    for (at, edit) in edits.iter().enumerate() {
        let from = at.saturating_sub(CONTEXT);
        let to = (at + CONTEXT + 1).min(edits.len());
        if !changed[from..to].contains(&true) {
            folded += 1;
            continue;
        }
        fold(&mut out, &mut folded);
        match edit {
            Edit::Same { actual, .. } => out.push_str(&format!("    {actual}\n")),
            Edit::AnyLines => out.push_str(&format!("    {ANY_LINES}\n")),
            Edit::Covered => {}
            Edit::Missing(line) => out.push_str(&format!("  - {}\n", visible(line))),
            Edit::Extra(line) => out.push_str(&format!("  + {}\n", visible(line))),
        }
    }
    fold(&mut out, &mut folded);
    out
}

fn fold(out: &mut String, folded: &mut usize) {
    if *folded > 0 {
        out.push_str(&format!("    ... {folded} lines as expected\n"));
    }
    *folded = 0;
}

/// Marks what a terminal would hide: an empty line, trailing blanks, control characters.
fn visible(line: &str) -> String {
    if line.is_empty() {
        return "(empty line, or the line break at the end)".to_string();
    }
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        if c.is_control() && c != '\t' {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    if out.ends_with([' ', '\t']) {
        out.push_str("(blank at the end)");
    }
    out
}

fn first_difference(expected: &str, actual: &str) -> String {
    let at = expected
        .split('\n')
        .zip(actual.split('\n'))
        .position(|(e, a)| !line_matches(e, a))
        .unwrap_or(0);
    let line = |text: &str| text.split('\n').nth(at).map(visible).unwrap_or_default();
    format!(
        "  first difference at line {}:\n  - {}\n  + {}\n",
        at + 1,
        line(expected),
        line(actual)
    )
}

/// The new expected text for `actual`: wildcards stay where they still match.
pub fn update(expected: &str, actual: &str) -> String {
    if matches(expected, actual) {
        return expected.to_string();
    }
    let Some(edits) = align(expected, actual) else { return actual.to_string() };
    let lines: Vec<&str> = edits
        .iter()
        .filter_map(|edit| match edit {
            Edit::Same { expected, .. } => Some(*expected),
            Edit::AnyLines => Some(ANY_LINES),
            Edit::Extra(actual) => Some(*actual),
            Edit::Covered | Edit::Missing(_) => None,
        })
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matching() {
        // (expected, actual, whether they match)
        let table = [
            ("", "", true),
            ("a\n", "a\n", true),
            ("a\n", "a", false),
            ("a\n", "a\n\n", false),
            ("a\nb\n", "a\n", false),
            ("took [..] ms\n", "took 12 ms\n", true),
            ("took [..] ms\n", "took  ms\n", true),
            ("took [..] ms\n", "took 12 s\n", false),
            ("[..]\n", "\n", true),
            ("[..]\n", "a\nb\n", false),
            ("a[..]a\n", "a\n", false),
            ("[..]b[..]d\n", "abcd\n", true),
            ("[..]b[..]b\n", "ab\n", false),
            ("[..]ab[..]\n", "xaab\n", true),
            ("[WILDCARD]\n", "\n", true),
            ("[WILDCARD]\n", "a\nb\n", true),
            ("[WILDCARD]\n", "a\nb", false),
            ("a\n[WILDCARD]\nc\n", "a\nc\n", true),
            ("a\n[WILDCARD]\nc\n", "a\nb\nb\nc\n", true),
            ("a\n[WILDCARD]\nc\n", "a\nb\nc\nd\n", false),
            ("[WILDCARD]\nb\n[WILDCARD]\nb\n", "b\nb\n", true),
            ("[WILDCARD]\nb\n[WILDCARD]\nb\n", "b\n", false),
            ("x [WILDCARD]\n", "x y\n", false),
        ];
        for (expected, actual, want) in table {
            assert_eq!(matches(expected, actual), want, "{expected:?} against {actual:?}");
            let edits = align(expected, actual).expect("small enough");
            let clean = edits.iter().all(|e| !matches!(e, Edit::Missing(_) | Edit::Extra(_)));
            assert_eq!(clean, want, "alignment of {expected:?} with {actual:?}");
        }
    }

    #[test]
    fn updating_keeps_wildcards_that_match() {
        // (expected, actual, new expected)
        let table = [
            ("", "a\n", "a\n"),
            ("took [..] ms\nold\n", "took 7 ms\nnew\n", "took [..] ms\nnew\n"),
            ("a\n[WILDCARD]\nz\n", "a\nb\nc\nz\nend\n", "a\n[WILDCARD]\nz\nend\n"),
            ("gone [..]\nb\n", "b\n", "b\n"),
            ("a", "a\n", "a\n"),
        ];
        for (expected, actual, want) in table {
            let got = update(expected, actual);
            assert_eq!(got, want, "{expected:?} updated by {actual:?}");
            assert!(matches(&got, actual), "{got:?} must match {actual:?}");
        }
    }

    #[test]
    fn a_difference_shows_both_sides_and_folds_the_rest() {
        let same = "line\n".repeat(20);
        let text = diff(&format!("{same}old\n"), &format!("{same}new \n"));
        assert_eq!(
            text,
            "    ... 17 lines as expected\n    line\n    line\n    line\n  - old\n  \
             + new (blank at the end)\n    \n"
        );
    }
}
