//! Where and what a file imports, found in its text: for messages, and to leave programs alone that
//! cannot have tensors.
//!
//! V8 reports the place of an import neither for dynamic imports nor, in files with non-ASCII
//! text, correctly. The search is textual: a string literal after `from`, `import` or `import(`.

/// A string literal: 1-based line and column, length with quotes, in UTF-16 code units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Site {
    pub line: u32,
    pub column: u32,
    pub length: u32,
}

/// The first import whose specifier satisfies `is_target`.
pub(super) fn find(source: &str, is_target: impl Fn(&str) -> bool) -> Option<Site> {
    for (quote_at, quote) in source.match_indices(['"', '\'']) {
        if !follows_import(&source[..quote_at]) {
            continue;
        }
        let rest = &source[quote_at + 1..];
        let Some(end) = rest.find([quote.chars().next()?, '\n']) else { continue };
        if rest[end..].starts_with(quote) && is_target(&rest[..end]) {
            return Some(site(source, quote_at, end + 2));
        }
    }
    None
}

/// What a file seems to import, and whether it imports something that is only known when it runs.
/// Text in comments and strings may look like imports.
pub(super) fn specifiers(source: &str) -> (Vec<&str>, bool) {
    let mut found = Vec::new();
    for (quote_at, quote) in source.match_indices(['"', '\'']) {
        let rest = &source[quote_at + 1..];
        let end = rest.find([quote.chars().next().unwrap_or('"'), '\n']);
        if let Some(end) = end.filter(|end| rest[*end..].starts_with(quote))
            && follows_import(&source[..quote_at])
        {
            found.push(&rest[..end]);
        }
    }
    let open = source.match_indices("import").any(|(at, word)| {
        let argument = source[at + word.len()..].trim_start().strip_prefix('(');
        argument.is_some_and(|text| !text.trim_start().starts_with(['"', '\'']))
    });
    (found, open)
}

fn follows_import(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
    if line.starts_with("//") || line.starts_with('*') {
        return false;
    }
    let before = before.trim_end();
    let before = before.strip_suffix('(').map_or(before, str::trim_end);
    ["from", "import"].iter().any(|keyword| {
        before.strip_suffix(keyword).is_some_and(|rest| {
            !rest.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '#'))
        })
    })
}

fn site(source: &str, offset: usize, bytes: usize) -> Site {
    let before = &source[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let units = |text: &str| u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX);
    Site {
        line: u32::try_from(before.matches('\n').count()).unwrap_or(u32::MAX - 1) + 1,
        column: units(&before[line_start..]) + 1,
        length: units(&source[offset..offset + bytes]),
    }
}

/// Whether a line starts like an import or export statement: what tells an ES module from
/// CommonJS where the file name does not.
pub(super) fn has_module_syntax(source: &str) -> bool {
    source.lines().any(|line| {
        let line = line.trim_start();
        ["import", "export"].iter().any(|keyword| {
            line.strip_prefix(keyword).is_some_and(|rest| {
                rest.starts_with([' ', '{', '*', '"', '\'']) || rest.starts_with(".meta")
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites() {
        let at = |line, column, length| Some(Site { line, column, length });
        let cases = [
            ("import a from './x.js';", at(1, 15, 8)),
            ("import './x.js'", at(1, 8, 8)),
            ("const m = await import(\"./x.js\");", at(1, 24, 8)),
            ("export * from './x.js'", at(1, 15, 8)),
            ("// import './x.js'\nimport './x.js'", at(2, 8, 8)),
            ("/* äöü 😀 */ import './x.js'", at(1, 21, 8)),
            ("ä\n😀\nimport {\n a } from\n './x.js'", at(5, 2, 8)),
            ("const s = './x.js'", None),
            ("reimport('./x.js')", None),
            ("import './y.js'", None),
            ("import './x.js", None),
        ];
        for (source, expected) in cases {
            assert_eq!(find(source, |specifier| specifier == "./x.js"), expected, "{source}");
        }
    }

    #[test]
    fn imports_of_a_file() {
        let cases: &[(&str, &[&str], bool)] = &[
            ("import a from './x.js'; export * from \"y\"", &["./x.js", "y"], false),
            ("const a = await import('./x.js')", &["./x.js"], false),
            ("const a = await import(name)", &[], true),
            ("const a = await import (`./${x}`)", &[], true),
            ("const s = './x.js'; import.meta.url", &[], false),
        ];
        for (source, expected, open) in cases {
            assert_eq!(specifiers(source), (expected.to_vec(), *open), "{source}");
        }
    }

    #[test]
    fn module_syntax() {
        let cases = [
            ("export default 1", true),
            ("  import a from 'a'", true),
            ("import{a}from'a'", true),
            ("export{a}", true),
            ("module.exports = 1", false),
            ("exports.a = 1", false),
            ("const importer = 1; exporting()", false),
        ];
        for (source, expected) in cases {
            assert_eq!(has_module_syntax(source), expected, "{source}");
        }
    }
}
