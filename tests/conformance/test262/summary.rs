//! What became of the tests, as text: counts per folder, and each test that is not as it must be.

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
    table: String,
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
            let folder: Vec<&str> = v.name.split('/').take(4).collect();
            let depth = folder.len().saturating_sub(1).min(3);
            folders.entry(folder[..depth].join("/")).or_default().add(v);
            total.add(v);
            let mut note =
                |what: &str, why: &str| problems.push(format!("{what}: {}: {why}", v.name));
            v.compiled.iter().for_each(|why| note("compiled", why));
            v.forced.iter().for_each(|why| note("forced", why));
            v.violations.iter().take(1).for_each(|why| note("violation", why));
        }
        let rows = folders.iter().map(|(name, counts)| counts.row(name));
        let rows: Vec<String> = rows.chain([total.row("all")]).collect();
        Self { table: format!("{TITLE}\n{}\n", rows.join("\n")), problems, total }
    }

    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Records the summary or compares it with the recorded one; any problem is a failure.
    pub fn check(&self, folder: &Path, whole: bool) -> Result<(), String> {
        let path = folder.join("results.txt");
        let text = self.to_string();
        if whole && std::env::var_os("UPDATE_GOLDEN").is_some_and(|v| v != "0") {
            std::fs::write(&path, &text).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        if whole {
            let recorded = std::fs::read_to_string(&path).unwrap_or_default();
            if recorded != text {
                return Err(format!("test262: differs from {}", path.display()));
            }
            // A run that changes nothing proves nothing.
            if self.total.changed_forced * 2 < self.total.selected {
                return Err("test262: most files come out of the pass unchanged".to_owned());
            }
            return Ok(());
        }
        if self.problems.is_empty() {
            Ok(())
        } else {
            Err(format!("{} problems", self.problems.len()))
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.table)?;
        for problem in &self.problems {
            writeln!(f, "{}", problem.lines().next().unwrap_or_default())?;
        }
        Ok(())
    }
}
