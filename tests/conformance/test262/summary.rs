//! What became of the tests, as text: counts per folder, and each test that is not as it must be.
//!
//! Invariant: the recorded text holds what the last runs of whole folders gave; a run of some folders
//! is compared with, and replaces, their lines alone.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// What became of one test.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Its path in the suite.
    pub name: String,
    /// Why it fails as it was written.
    pub plain: Option<String>,
    /// Why it fails compiled, though it passes plain.
    pub compiled: Option<String>,
    /// Why it fails with every object counted.
    pub forced: Option<String>,
    /// Uses of released objects.
    pub violations: Vec<String>,
    pub changed: bool,
    pub changed_forced: bool,
}

/// Counts of a folder.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    selected: u32,
    failed_plain: u32,
    failed_compiled: u32,
    failed_forced: u32,
    violations: u32,
    changed: u32,
    changed_forced: u32,
}

impl Counts {
    fn add(&mut self, v: &Verdict) {
        self.selected += 1;
        self.failed_plain += u32::from(v.plain.is_some());
        self.failed_compiled += u32::from(v.compiled.is_some());
        self.failed_forced += u32::from(v.forced.is_some());
        self.violations += u32::from(!v.violations.is_empty());
        self.changed += u32::from(v.changed);
        self.changed_forced += u32::from(v.changed_forced);
    }

    fn fields(&mut self) -> [&mut u32; 7] {
        let Self {
            selected,
            failed_plain,
            failed_compiled,
            failed_forced,
            violations,
            changed,
            changed_forced,
        } = self;
        [
            selected,
            failed_plain,
            failed_compiled,
            failed_forced,
            violations,
            changed,
            changed_forced,
        ]
    }

    fn merge(&mut self, mut other: Self) {
        for (mine, more) in self.fields().into_iter().zip(other.fields()) {
            *mine += *more;
        }
    }

    /// What `row` wrote.
    fn read(line: &str) -> Option<(String, Self)> {
        let mut words = line.split_whitespace();
        let mut counts = Self::default();
        for field in counts.fields() {
            *field = words.next()?.parse().ok()?;
        }
        Some((words.next()?.to_owned(), counts))
    }

    fn row(&self, name: &str) -> String {
        let Self { selected, failed_plain, failed_compiled, failed_forced, violations, .. } = self;
        let Self { changed, changed_forced, .. } = self;
        format!(
            "{selected:>8} {failed_plain:>12} {failed_compiled:>12} {failed_forced:>12} {violations:>10} {changed:>9} {changed_forced:>9}  {name}"
        )
    }
}

/// Everything that is recorded of a run.
pub struct Summary {
    folders: BTreeMap<String, Counts>,
    problems: Vec<String>,
    total: Counts,
}

const TITLE: &str =
    "selected failed plain new compiled  new forced  violations   changed    forced  folder";

impl Summary {
    pub fn of(verdicts: &[Verdict]) -> Self {
        let mut folders = BTreeMap::<String, Counts>::new();
        let (mut total, mut problems) = (Counts::default(), vec![]);
        for v in verdicts {
            folders.entry(folder(&v.name)).or_default().add(v);
            total.add(v);
            let mut note =
                |what: &str, why: &str| problems.push(format!("{what}: {}: {why}", v.name));
            v.compiled.iter().for_each(|why| note("compiled", why));
            v.forced.iter().for_each(|why| note("forced", why));
            v.violations.iter().take(1).for_each(|why| note("violation", why));
        }
        Self { folders, problems, total }
    }

    /// What was recorded; `None`: the text is no summary.
    fn recorded(text: &str) -> Option<Self> {
        let (mut folders, mut problems) = (BTreeMap::new(), vec![]);
        for line in text.lines().skip(1) {
            match line.starts_with(' ').then(|| Counts::read(line)) {
                Some(row) => drop(row.map(|(name, counts)| folders.insert(name, counts))?),
                None => problems.push(line.to_owned()),
            }
        }
        folders.remove("all");
        let mut total = Counts::default();
        folders.values().for_each(|&counts| total.merge(counts));
        Some(Self { folders, problems, total })
    }

    /// The recorded summary with this run in place of what it had of the same folders.
    fn over(&self, recorded: Self) -> Self {
        let ours = |line: &String| {
            let name = line.split(": ").nth(1).unwrap_or_default();
            self.folders.contains_key(&folder(name))
        };
        let mut all = recorded;
        all.problems.retain(|line| !ours(line));
        all.problems.extend(self.problems.iter().map(|p| first_line(p).to_owned()));
        let name = |line: &String| line.split(": ").nth(1).unwrap_or_default().to_owned();
        all.problems.sort_by_key(name);
        all.folders.extend(self.folders.clone());
        all.total = Counts::default();
        all.folders.values().for_each(|&counts| all.total.merge(counts));
        all
    }

    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Records the summary or compares it with the recorded one.
    pub fn check(&self, results: &Path) -> Result<(), String> {
        // A run that changes nothing proves nothing.
        if self.total.selected >= 1000 && self.total.changed_forced * 2 < self.total.selected {
            return Err("test262: most files come out of the pass unchanged".to_owned());
        }
        let path = results.join("results.txt");
        let recorded = std::fs::read_to_string(&path).unwrap_or_default();
        let before = Self::recorded(&recorded)
            .ok_or_else(|| format!("test262: {} is no summary", path.display()))?;
        let text = self.over(before).to_string();
        if std::env::var_os("UPDATE_GOLDEN").is_some_and(|v| v != "0") {
            return std::fs::write(&path, &text).map_err(|e| format!("{}: {e}", path.display()));
        }
        match recorded == text {
            true => Ok(()),
            false => Err(format!("test262: differs from {}", path.display())),
        }
    }
}

/// The folder that a test counts for: at most `test/language/expressions/class`.
pub fn folder(test: &str) -> String {
    let parts: Vec<&str> = test.split('/').collect();
    parts[..parts.len().saturating_sub(1).min(4)].join("/")
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.folders.iter().map(|(name, counts)| counts.row(name));
        let rows: Vec<String> = rows.chain([self.total.row("all")]).collect();
        writeln!(f, "{TITLE}\n{}", rows.join("\n"))?;
        for problem in &self.problems {
            writeln!(f, "{}", first_line(problem))?;
        }
        Ok(())
    }
}
