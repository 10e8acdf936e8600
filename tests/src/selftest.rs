//! The harness judged by itself, with the shell in mlrun's place: what must fail does fail.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::tempdir::TempDir;
use crate::{discover, readme, shared, spec};

fn folder(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().expect("a temporary folder");
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().expect("below the folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    dir
}

fn check(files: &[(&str, &str)], update: bool) -> (Result<(), String>, TempDir) {
    let dir = folder(files);
    let setting = spec::Setting {
        program: "/bin/sh".into(),
        root: "/repository".into(),
        update,
        extra: vec![],
    };
    (spec::check(dir.path(), &setting), dir)
}

fn sh(script: &str) -> String {
    sh_with(script, json!({}))
}

fn sh_with(script: &str, mut more: serde_json::Value) -> String {
    more["args"] = json!(["-c", script]);
    more.to_string()
}

#[test]
fn passing_and_failing_specs() {
    // (what, spec.json, expected.out, expected.err, part of the error; None where it passes)
    type Row<'a> = (&'a str, String, Option<&'a str>, Option<&'a str>, Option<&'a str>);
    let table: Vec<Row> = vec![
        ("right output", sh("echo hi"), Some("hi\n"), None, None),
        ("wrong output", sh("echo hi"), Some("bye\n"), None, Some("  - bye\n  + hi\n")),
        ("missing output", sh("true"), Some("hi\n"), None, Some("  - hi\n")),
        ("unexpected stderr", sh("echo hi; echo no >&2"), Some("hi\n"), None, Some("expected.err")),
        ("unexpected stdout", sh("echo hi; echo e >&2"), None, Some("e\n"), Some("expected.out")),
        ("nothing asserted", sh("true"), None, None, Some("asserts nothing")),
        ("silence asserted", sh("true"), Some(""), None, None),
        ("exit code", sh_with("exit 3", json!({"exit": 3})), Some(""), None, None),
        ("wrong exit code", sh("exit 3"), Some(""), None, Some("got 3, expected 0")),
        ("death by a signal", sh("kill -SEGV $$"), Some(""), None, Some("got 139, expected 0")),
        (
            "too slow",
            sh_with("sleep 60 & wait", json!({"limit_seconds": 1})),
            Some(""),
            None,
            Some("did not end within 1 s"),
        ),
        (
            "interrupted",
            sh_with(
                "trap 'echo bye; exit 130' INT; echo ready; while true; do sleep 0.01; done",
                json!({"exit": 130, "interrupt_at": "ready"}),
            ),
            Some("ready\nbye\n"),
            None,
            None,
        ),
        (
            "input and environment",
            sh_with(
                "read x; echo $x $A ${NO_COLOR-none}",
                json!({
                    "stdin": "line\n", "env": {"A": "a", "NO_COLOR": null}
                }),
            ),
            Some("line a none\n"),
            None,
            None,
        ),
        ("nothing inherited", sh("echo ${CARGO_MANIFEST_DIR-none}"), Some("none\n"), None, None),
        ("paths", sh("pwd; echo '[ROOT]'"), Some("[DIR]\n[ROOT]\n"), None, None),
        ("goldens are not visible", sh("ls"), Some("extra\n"), None, None),
        ("unknown field", "{\"arg\": []}".to_string(), Some(""), None, Some("unknown field `arg`")),
        ("no JSON", "{".to_string(), Some(""), None, Some("spec.json: EOF")),
        ("no run", "[]".to_string(), Some(""), None, Some("empty list")),
        (
            "two runs share their folder and files come and go",
            json!([
                {"args": ["-c", "cat extra new; echo 1 > left"], "files": {"new": "n\n"}},
                {"args": ["-c", "cat left; exit 1"], "exit": 1}
            ])
            .to_string(),
            Some("$ mlrun -c cat extra new; echo 1 > left\nx\nn\n$ mlrun -c cat left; exit 1\n1\n"),
            None,
            None,
        ),
    ];
    for (what, json, out, err, problem) in table {
        let mut files = vec![("spec.json", json.as_str()), ("extra", "x\n")];
        files.extend(out.map(|text| ("expected.out", text)));
        files.extend(err.map(|text| ("expected.err", text)));
        let (got, _dir) = check(&files, false);
        match (problem, &got) {
            (None, Ok(())) => {}
            (Some(part), Err(text)) if text.contains(part) => {}
            _ => panic!("{what}: got {got:?}, expected {problem:?}"),
        }
    }
}

#[test]
fn update_writes_goldens_and_keeps_wildcards() {
    let script = sh("echo took 12 ms; echo new; echo oops >&2");
    let files = [("spec.json", script.as_str()), ("expected.out", "took [..] ms\nold\n")];
    let (got, dir) = check(&files, true);
    assert_eq!(got, Ok(()));
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).expect(name);
    assert_eq!(read("expected.out"), "took [..] ms\nnew\n");
    assert_eq!(read("expected.err"), "oops\n");
}

#[test]
fn update_does_not_bless_a_wrong_exit_code() {
    let script = sh("echo new; exit 1");
    let (got, dir) = check(&[("spec.json", script.as_str()), ("expected.out", "old\n")], true);
    assert!(got.is_err_and(|text| text.contains("got 1, expected 0")));
    let text = fs::read_to_string(dir.path().join("expected.out")).expect("the file");
    assert_eq!(text, "old\n");
}

#[test]
fn what_is_forgotten_is_found() {
    let dir = folder(&[
        ("tests/cli/good/spec.json", "{}"),
        ("tests/cli/no-json/expected.out", ""),
        ("tests/examples/shown/spec.json", "{}"),
        ("tests/src/expected.out", ""),
        ("examples/shown.js", ""),
        ("examples/unshown.ts", ""),
        ("examples/data/ignored.js", ""),
    ]);
    let path = |name: &str| dir.path().join(name);
    let found = discover::specs(&path("tests"), &path("examples")).expect("a list");
    let names: Vec<(&str, bool)> =
        found.iter().map(|f| (f.name.as_str(), f.folder.is_ok())).collect();
    assert_eq!(
        names,
        [
            ("cli/good", true),
            ("cli/no-json", false),
            ("examples/shown", true),
            ("examples/unshown", false)
        ]
    );
    let none = discover::specs(Path::new("/nonexistent"), Path::new("/nonexistent"));
    assert!(none.is_ok_and(|list| list.is_empty()));
}

#[test]
fn programs_that_are_not_listed_are_ignored_not_lost() {
    let dir = folder(&[
        ("programs/check.js", ""),
        ("programs/01-a.js", ""),
        ("programs/02-b.js", ""),
        ("oracle/run.js", ""),
    ]);
    let list = "# comment\n\nprograms/02-b.js\n--check programs/01-a.js\noracle/run.js add\n";
    let programs = shared::programs(dir.path(), list).expect("a list");
    let names: Vec<(String, bool)> = programs.iter().map(|p| (p.name(), p.expected)).collect();
    let want = [
        ("shared/programs/02-b.js", true),
        ("shared/--check programs/01-a.js", true),
        ("shared/oracle/run.js add", true),
        ("shared/programs/01-a.js", false),
        ("shared/oracle/run.js", false),
    ];
    assert_eq!(names, want.map(|(name, expected)| (name.to_string(), expected)));
    assert!(shared::programs(dir.path(), "programs/03-gone.js").is_err());
}

#[test]
fn shared_programs_pass_and_fail() {
    // (script, whether it passes)
    let table = [
        ("echo 01-a: ok", true),
        ("echo 3 passed, 0 failed", true),
        ("echo 0 passed, 0 failed", false),
        ("echo 3 passed, 1 failed", false),
        ("echo 01-a: ok; exit 1", false),
        ("echo 01-a: ok; echo warning >&2", false),
        ("true", false),
    ];
    for (script, want) in table {
        let dir = folder(&[("a.sh", script)]);
        let program = shared::Program { args: vec!["a.sh".to_string()], expected: true };
        let got = shared::check(&program, dir.path(), Path::new("/bin/sh"));
        assert_eq!(got.is_ok(), want, "{script}: {got:?}");
    }
}

#[test]
fn readme_pairs_a_program_with_the_output_after_it() {
    let markdown = "```sh\ncargo\n```\n```text\nno program\n```\n\n```js\nunshown();\n```\n\
                    ```js\na();\nb();\n```\nprints\n\n```text\n1\n2\n```\n";
    let shown = readme::shown(markdown);
    let want = readme::Shown { program: "a();\nb();\n".into(), output: "1\n2\n".into() };
    assert_eq!(shown, [want]);
}
