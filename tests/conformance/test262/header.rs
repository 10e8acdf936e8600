//! The header of a test: the part of its YAML that says how to run it.

/// How a test is to be run, and what must become of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    pub includes: Vec<String>,
    pub flags: Vec<String>,
    /// The phase and the class of the error that it must end with.
    pub negative: Option<(String, String)>,
}

impl Header {
    /// Reads `/*--- ... ---*/`; what is not there is empty.
    pub fn read(source: &str) -> Self {
        let text = source.split_once("/*---").and_then(|(_, rest)| rest.split_once("---*/"));
        let lines: Vec<&str> =
            text.map_or("", |(yaml, _)| yaml).lines().map(str::trim_end).collect();
        let inner = |key: &str| {
            let at = lines.iter().position(|l| *l == "negative:")?;
            let mut block = lines[at + 1..].iter().take_while(|l| l.starts_with(' '));
            block.find_map(|l| Some(l.trim().strip_prefix(key)?.trim().to_owned()))
        };
        Self {
            includes: list(&lines, "includes:"),
            flags: list(&lines, "flags:"),
            negative: inner("phase:").zip(inner("type:")),
        }
    }

    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|f| f == flag)
    }
}

/// `key: [a, b]`, or a line `- a` for each.
fn list(lines: &[&str], key: &str) -> Vec<String> {
    let Some(at) = lines.iter().position(|l| l.starts_with(key)) else { return vec![] };
    let rest = lines[at][key.len()..].trim();
    if !rest.is_empty() {
        let mut text = rest.to_owned();
        for line in &lines[at + 1..] {
            if text.contains(']') {
                break;
            }
            text.push_str(line);
        }
        let items = text.trim_matches(|c| c == '[' || c == ']').split(',');
        return items.map(|i| i.trim().to_owned()).filter(|i| !i.is_empty()).collect();
    }
    let items = lines[at + 1..].iter().map(|l| l.trim());
    items.map_while(|l| Some(l.strip_prefix("- ")?.trim().to_owned())).collect()
}

/// Texts and what they must be read as.
pub fn check() -> Result<(), String> {
    let text = "/*---\nflags: [async, module]\nincludes:\n  - a.js\n  - b.js\nnegative:\n  phase: parse\n  type: SyntaxError\n---*/\nnegative:\n";
    let strings = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    let expected = Header {
        includes: strings(&["a.js", "b.js"]),
        flags: strings(&["async", "module"]),
        negative: Some(("parse".to_owned(), "SyntaxError".to_owned())),
    };
    let got = Header::read(text);
    if got != expected || Header::read("1") != Header::default() {
        return Err(format!("header: got {got:?}, expected {expected:?}"));
    }
    Ok(())
}
