//! One test: in which modes and variants it runs, and whether it passes.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use mlrun_compiler::SourceType;
use mlrun_conformance::{Code, Ended, Engine, Job, Kind, Mode, compile, read, repository};

use crate::header::Header;
use crate::summary::Verdict;

/// What all tests share.
pub struct Suite {
    root: PathBuf,
    harness: Mutex<HashMap<(Mode, String), Arc<Code>>>,
}

impl Suite {
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), harness: Mutex::default() }
    }

    /// A file of the suite's harness, compiled once.
    fn harness(&self, mode: Mode, name: &str) -> Result<Arc<Code>, String> {
        let key = (mode, name.to_owned());
        if let Some(code) = self.harness.lock().ok().and_then(|all| all.get(&key).cloned()) {
            return Ok(code);
        }
        let text = read(&self.root.join("harness").join(name))?;
        let code = Arc::new(compile(mode, SourceType::Script, name, &text)?);
        if let Ok(mut all) = self.harness.lock() {
            all.insert(key, code.clone());
        }
        Ok(code)
    }

    /// One test; what it says names files by their path in the suite.
    pub fn test(&self, engine: &mut Engine, file: &Path) -> Verdict {
        let mut verdict = self.modes(engine, file);
        let roots = [&self.root, &repository()].map(|root| format!("{}/", root.display()));
        let Verdict { plain, compiled, forced, violations, .. } = &mut verdict;
        for text in [plain, compiled, forced].into_iter().flatten().chain(violations) {
            *text = roots.iter().fold(text.clone(), |text, root| text.replace(root, ""));
        }
        verdict
    }

    /// In all modes, strict and sloppy as its header wants.
    fn modes(&self, engine: &mut Engine, file: &Path) -> Verdict {
        let name = file.strip_prefix(&self.root).unwrap_or(file).to_string_lossy().into_owned();
        let mut verdict = Verdict { name, ..Verdict::default() };
        let source = match read(file) {
            Ok(source) => source,
            Err(problem) => return Verdict { plain: Some(problem), ..verdict },
        };
        let header = Header::read(&source);
        let variants: &[bool] = match () {
            () if ["module", "raw", "noStrict"].iter().any(|f| header.has(f)) => &[false],
            () if header.has("onlyStrict") => &[true],
            () => &[false, true],
        };
        for &strict in variants {
            let text = if strict { format!("\"use strict\";\n{source}") } else { source.clone() };
            for mode in Mode::ALL {
                let ended = match self.job(mode, file, &header, &text) {
                    Ok(job) => engine.run(&job),
                    Err(problem) => return Verdict { plain: Some(problem), ..verdict },
                };
                let problem = problem(&header, &ended);
                verdict.violations.extend(ended.violations);
                match mode {
                    // What V8 cannot do proves nothing.
                    Mode::Plain if problem.is_some() => {
                        return Verdict { plain: problem, ..verdict };
                    }
                    Mode::Plain => {}
                    Mode::Compiled => {
                        verdict.changed |= ended.changed;
                        verdict.compiled = verdict.compiled.or(problem);
                    }
                    Mode::Forced => {
                        verdict.changed_forced |= ended.changed;
                        verdict.forced = verdict.forced.or(problem);
                    }
                }
            }
        }
        verdict
    }

    fn job<'a>(
        &self,
        mode: Mode,
        file: &'a Path,
        header: &Header,
        text: &'a str,
    ) -> Result<Job<'a>, String> {
        let standard = ["assert.js", "sta.js"].into_iter().filter(|_| !header.has("raw"));
        let print = ["doneprintHandle.js"].into_iter().filter(|_| header.has("async"));
        let names = standard.chain(print).chain(header.includes.iter().map(String::as_str));
        let before = names.map(|name| self.harness(mode, name)).collect::<Result<_, _>>()?;
        let kind = if header.has("module") { Kind::Module } else { Kind::Script };
        Ok(Job { mode, kind, file, text, before, target })
    }
}

/// Specifiers of tests are relative.
fn target(specifier: &str, from: &Path) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in from.parent()?.join(specifier).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                path.pop();
            }
            other => path.push(other),
        }
    }
    Some(path)
}

/// Why a run is not what the header wants.
fn problem(header: &Header, ended: &Ended) -> Option<String> {
    match (&ended.thrown, &header.negative) {
        (Some(t), Some((phase, class))) if t.class == *class && t.phase == phase => None,
        (Some(t), Some((phase, class))) => {
            Some(format!("{}: {}, expected {phase}: {class}", t.phase, t.text))
        }
        (Some(t), None) => Some(t.text.clone()),
        (None, Some((phase, class))) => Some(format!("no error, expected {phase}: {class}")),
        (None, None) if header.has("async") => {
            match ended.output.iter().find(|l| l.starts_with("Test262:")) {
                Some(line) if line == "Test262:AsyncTestComplete" => None,
                Some(line) => Some(line.clone()),
                None => Some("the asynchronous test did not end".to_owned()),
            }
        }
        (None, None) => None,
    }
}
