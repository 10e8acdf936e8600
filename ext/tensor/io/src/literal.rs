//! The header of an npy file: a Python dict literal of exactly three known keys.
//!
//! Accepted is what NumPy writes (also for Python 2's long integers), nothing more; no value is
//! evaluated and nothing nests, so that depth is no question.

use smallvec::SmallVec;

use crate::error::{Problem, malformed, shown};

/// What `descr` may be: only simple types have a string.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Descr {
    Simple(String),
    Structured,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub descr: Descr,
    pub fortran_order: bool,
    pub shape: SmallVec<[u64; 4]>,
}

/// As many dimensions as NumPy has.
const MOST_DIMENSIONS: usize = 64;

pub(crate) fn parse(text: &str) -> Result<Header, Problem> {
    let mut p = Parser { text, at: 0 };
    let (mut descr, mut order, mut shape) = (None, None, None);
    p.expect('{')?;
    while !p.accept('}') {
        let key = p.string()?;
        p.expect(':')?;
        let known = match key {
            "descr" => descr.replace(p.descr()?).is_none(),
            "fortran_order" => order.replace(p.boolean()?).is_none(),
            "shape" => shape.replace(p.shape()?).is_none(),
            _ => {
                return malformed!(
                    "header: unknown key {}, expected descr, fortran_order and shape",
                    shown(key)
                );
            }
        };
        if !known {
            return malformed!("header: key {} occurs twice", shown(key));
        }
        // A structured type is the end: what it describes has no place here.
        if descr == Some(Descr::Structured) {
            break;
        }
        if !p.accept(',') {
            p.expect('}')?;
            break;
        }
    }
    if descr == Some(Descr::Structured) {
        return Ok(Header {
            descr: Descr::Structured,
            fortran_order: false,
            shape: SmallVec::new(),
        });
    }
    p.end()?;
    match (descr, order, shape) {
        (Some(descr), Some(fortran_order), Some(shape)) => {
            Ok(Header { descr, fortran_order, shape })
        }
        (descr, order, _) => malformed!(
            "header: has no {}",
            if descr.is_none() {
                "descr"
            } else if order.is_none() {
                "fortran_order"
            } else {
                "shape"
            }
        ),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    fn wrong<T>(&self, expected: &str) -> Result<T, Problem> {
        let got = match self.rest().chars().next() {
            Some(c) => format!("{c:?}"),
            None => "its end".into(),
        };
        malformed!("header: got {got} at character {}, expected {expected}", self.at)
    }

    fn accept(&mut self, c: char) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    fn expect(&mut self, c: char) -> Result<(), Problem> {
        if self.accept(c) { Ok(()) } else { self.wrong(&format!("{c:?}")) }
    }

    fn end(&mut self) -> Result<(), Problem> {
        self.skip_space();
        if self.rest().is_empty() { Ok(()) } else { self.wrong("its end") }
    }

    /// A string without escapes.
    fn string(&mut self) -> Result<&'a str, Problem> {
        self.skip_space();
        let rest = self.rest();
        let Some(quote) = rest.chars().next().filter(|c| *c == '\'' || *c == '"') else {
            return self.wrong("a string");
        };
        let Some((inner, _)) = rest[1..].split_once(quote) else {
            return malformed!("header: a string at character {} does not end", self.at);
        };
        if inner.contains('\\') {
            return malformed!("header: a string at character {} has an escape", self.at);
        }
        self.at += inner.len() + 2;
        Ok(inner)
    }

    fn descr(&mut self) -> Result<Descr, Problem> {
        self.skip_space();
        if self.rest().starts_with(['[', '(', '{']) {
            return Ok(Descr::Structured);
        }
        Ok(Descr::Simple(self.string()?.to_owned()))
    }

    fn boolean(&mut self) -> Result<bool, Problem> {
        self.skip_space();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(after) = self.rest().strip_prefix(word) {
                if after.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
                    break;
                }
                self.at += word.len();
                return Ok(value);
            }
        }
        self.wrong("True or False")
    }

    fn integer(&mut self) -> Result<u64, Problem> {
        self.skip_space();
        let rest = self.rest();
        let digits =
            &rest[..rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len()];
        if digits.is_empty() {
            return self.wrong("a whole number of 0 or more");
        }
        let Ok(value) = digits.parse() else {
            return malformed!("header: shape holds {}, which is too large", shown(digits));
        };
        self.at += digits.len();
        if self.rest().starts_with('L') {
            self.at += 1;
        }
        Ok(value)
    }

    fn shape(&mut self) -> Result<SmallVec<[u64; 4]>, Problem> {
        self.expect('(')?;
        let mut shape = SmallVec::new();
        while !self.accept(')') {
            if shape.len() == MOST_DIMENSIONS {
                return malformed!("header: shape has more than {MOST_DIMENSIONS} dimensions");
            }
            shape.push(self.integer()?);
            if !self.accept(',') {
                // `(3)` is a number in Python, not a tuple.
                if shape.len() == 1 {
                    return self.wrong("','");
                }
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let ok = |text: &str, descr: &str, order: bool, shape: &[u64]| {
            let want = Header {
                descr: Descr::Simple(descr.into()),
                fortran_order: order,
                shape: shape.into(),
            };
            assert_eq!(parse(text).expect(text), want, "{text}");
        };
        ok(
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n",
            "<f4",
            false,
            &[2, 3],
        );
        ok("{\"descr\":\"<f8\",\"fortran_order\":True,\"shape\":()}", "<f8", true, &[]);
        ok("{'shape': (3L,), 'fortran_order': False, 'descr': '|b1'}", "|b1", false, &[3]);

        let structured =
            parse("{'descr': [('a', '<f4')], 'fortran_order': False}").expect("parsed");
        assert_eq!(structured.descr, Descr::Structured);
    }

    #[test]
    fn what_is_no_header_is_said() {
        let table = [
            ("", "got its end at character 0, expected '{'"),
            ("[]", "got '[' at character 0, expected '{'"),
            ("{'descr': '<f4', 'fortran_order': False}", "has no shape"),
            ("{'fortran_order': False, 'shape': ()}", "has no descr"),
            ("{'descr': '<f4', 'shape': ()}", "has no fortran_order"),
            ("{'descr': '<f4', 'descr': '<f4'}", "key \"descr\" occurs twice"),
            ("{'other': 1}", "unknown key \"other\""),
            ("{'shape': (3)}", "got ')' at character 12, expected ','"),
            ("{'shape': (-1,)}", "got '-' at character 11, expected a whole number"),
            ("{'shape': (1.5,)}", "got '.'"),
            ("{'shape': (99999999999999999999,)}", "which is too large"),
            ("{'shape': ", "got its end"),
            ("{'fortran_order': Falsely}", "expected True or False"),
            ("{'fortran_order': 0}", "expected True or False"),
            ("{'descr': '<f\\x34'}", "has an escape"),
            ("{'descr': '<f4", "does not end"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", "expected its end"),
            ("{'descr': '<f4' 'shape': ()}", "expected '}'"),
            ("{'dé", "does not end"),
        ];
        for (text, part) in table {
            match parse(text) {
                Err(Problem::Format(message)) => {
                    assert!(message.contains(part), "{text}: {message}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
        let many = format!("{{'shape': ({})}}", "1,".repeat(65));
        assert!(matches!(parse(&many), Err(Problem::Format(m)) if m.contains("more than 64")));
    }
}
