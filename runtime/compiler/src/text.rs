//! Edits over one source text, and where every byte of the result came from.
//!
//! Invariant: text that no edit touches is copied byte for byte, so formatting, comments and
//! positions survive. Deliberately not here: what to edit (strip, insert), JSON (source_map).

/// Text made from another text, with its origin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Derived {
    pub code: String,
    chunks: Vec<Chunk>,
}

/// A run of output bytes with one origin.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    out: u32,
    src: u32,
    /// Copied text: byte n of the run came from byte n after `src`. Otherwise the whole run is
    /// due to the source at `src`.
    copied: bool,
}

impl Derived {
    /// A text derived by a printer that reports `(output offset, source offset)` of its tokens
    /// in ascending order of output offset.
    pub fn from_tokens(code: String, tokens: impl Iterator<Item = (u32, u32)>) -> Self {
        let chunks = tokens.map(|(out, src)| Chunk { out, src, copied: false }).collect();
        Self { code, chunks }
    }

    /// Where the output byte at `out` came from. `None` before the first origin.
    pub fn origin(&self, out: u32) -> Option<u32> {
        let after = self.chunks.partition_point(|c| c.out <= out);
        Some(self.chunks[..after].last()?.origin(out))
    }
}

impl Chunk {
    fn origin(&self, out: u32) -> u32 {
        if self.copied { self.src + (out - self.out) } else { self.src }
    }
}

impl Derived {
    /// Where the output byte at `out` was copied from; `None` for inserted text.
    pub fn copied_from(&self, out: u32) -> Option<u32> {
        let after = self.chunks.partition_point(|c| c.out <= out);
        let chunk = self.chunks[..after].last().filter(|c| c.copied)?;
        Some(chunk.src + (out - chunk.out))
    }
}

/// Origins of output bytes, for who asks in about ascending order.
pub(crate) struct Origins<'d> {
    chunks: &'d [Chunk],
    /// Chunks up to the last one that was found.
    after: usize,
}

impl<'d> Origins<'d> {
    pub fn new(derived: &'d Derived) -> Self {
        Self { chunks: &derived.chunks, after: 0 }
    }

    /// What [`Derived::origin`] says.
    pub fn of(&mut self, out: u32) -> Option<u32> {
        let holds = |after: usize| {
            self.chunks[..after].last().is_none_or(|c| c.out <= out)
                && self.chunks.get(after).is_none_or(|c| out < c.out)
        };
        if !holds(self.after) {
            let next = (self.after + 1).min(self.chunks.len());
            let found = || self.chunks.partition_point(|c| c.out <= out);
            self.after = if holds(next) { next } else { found() };
        }
        Some(self.chunks[..self.after].last()?.origin(out))
    }

    /// Where the text ends that one edit has put around the byte that was asked about last, in a
    /// text of this length.
    pub fn inserted_until(&self, length: usize) -> Option<usize> {
        let inserted = self.chunks[..self.after].last().is_some_and(|c| !c.copied);
        inserted.then(|| self.chunks.get(self.after).map_or(length, |c| c.out as usize))
    }
}

#[derive(Clone, Copy, Debug)]
struct Edit {
    start: u32,
    end: u32,
    /// Orders edits at the same place.
    rank: i32,
    /// Where its text stands among those of all edits.
    from: u32,
    to: u32,
    /// Source offset that error positions inside the inserted text point to.
    origin: u32,
}

/// A set of edits, applied all at once. Spans of removals and replacements must not overlap
/// partially; one nested inside another disappears with it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edits {
    edits: Vec<Edit>,
    texts: String,
}

impl Edits {
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    pub fn len(&self) -> usize {
        self.edits.len()
    }

    /// Of the edits from `first` on, one puts a parenthesis at `at`.
    pub fn opens(&self, first: usize, at: u32) -> bool {
        let edits = self.edits.get(first..).unwrap_or_default();
        edits.iter().any(|e| e.start == at && self.text(e).starts_with('('))
    }

    /// Inserted texts of some of the edits, by their place in the source.
    pub fn texts(&self, range: std::ops::Range<usize>) -> Vec<(u32, &str)> {
        let mut found: Vec<_> = self.edits.get(range).unwrap_or_default().iter().collect();
        found.sort_by_key(|e| (e.start, e.rank));
        found.into_iter().map(|e| (e.start, self.text(e))).collect()
    }

    fn text(&self, edit: &Edit) -> &str {
        &self.texts[edit.from as usize..edit.to as usize]
    }

    fn add(&mut self, start: u32, end: u32, rank: i32, text: &str, origin: u32) {
        let from = self.texts.len() as u32;
        self.texts.push_str(text);
        self.edits.push(Edit { start, end, rank, from, to: self.texts.len() as u32, origin });
    }

    /// Replaces a span.
    pub fn replace(&mut self, start: u32, end: u32, text: impl AsRef<str>) {
        self.add(start, end, 0, text.as_ref(), start);
    }

    /// The same; error positions inside the text point to `origin`.
    pub fn replace_from(&mut self, start: u32, end: u32, text: impl AsRef<str>, origin: u32) {
        self.add(start, end, 0, text.as_ref(), origin);
    }

    /// Inserts before the byte at `at`. Of several insertions at one place, lower ranks come
    /// first; equal ranks keep the order of the calls. A replacement that starts there has rank 0.
    pub fn insert(&mut self, at: u32, rank: i32, text: impl AsRef<str>, origin: u32) {
        self.add(at, at, rank, text.as_ref(), origin);
    }

    /// Applies all edits.
    pub fn apply(mut self, source: &str) -> Derived {
        self.edits.sort_by_key(|e| (e.start, e.rank, std::cmp::Reverse(e.end)));
        let length = source.len() + self.texts.len();
        let mut result = Derived {
            code: String::with_capacity(length),
            chunks: Vec::with_capacity(2 * self.edits.len() + 1),
        };
        let mut at = 0;
        for edit in &self.edits {
            if edit.start < at {
                continue;
            }
            result.copy(source, at, edit.start);
            if edit.from < edit.to {
                let out = result.code.len() as u32;
                result.chunks.push(Chunk { out, src: edit.origin, copied: false });
                result.code.push_str(self.text(edit));
            }
            at = edit.end;
        }
        result.copy(source, at, source.len() as u32);
        result
    }
}

impl Derived {
    fn copy(&mut self, source: &str, start: u32, end: u32) {
        if start < end {
            let out = self.code.len() as u32;
            self.chunks.push(Chunk { out, src: start, copied: true });
            self.code.push_str(&source[start as usize..end as usize]);
        }
    }
}

/// Spaces of the same width in UTF-16 units, with the line ends of `text`.
pub(crate) fn blanked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\u{2028}' | '\u{2029}' => out.push(c),
            _ => out.extend(std::iter::repeat_n(' ', c.len_utf16())),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copied_text_maps_exactly_and_inserted_text_to_its_cause() {
        let source = "let a: T = f(x);";
        let mut edits = Edits::default();
        edits.replace(5, 8, blanked(&source[5..8]));
        edits.insert(11, 0, "own(", 13);
        edits.insert(15, 0, ")", 13);
        let derived = edits.apply(source);
        assert_eq!(derived.code, "let a    = own(f(x));");
        assert_eq!(derived.origin(4), Some(4));
        assert_eq!(derived.origin(11), Some(13));
        assert_eq!(derived.origin(15), Some(11));
        assert_eq!(derived.origin(17), Some(13));
        assert_eq!(derived.origin(20), Some(15));
    }

    #[test]
    fn a_nested_edit_disappears_with_its_parent() {
        let mut edits = Edits::default();
        edits.replace(2, 8, "-");
        edits.replace(4, 5, "never");
        assert_eq!(edits.apply("0123456789").code, "01-89");
    }

    #[test]
    fn blanking_keeps_columns_of_astral_characters() {
        assert_eq!(blanked("a😀\n b"), "   \n  ");
    }
}
