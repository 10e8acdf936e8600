//! Shapes of programs that once took time in the square of their size or worse. Nothing is timed:
//! at these sizes most of them would take minutes again, and loops in loops would never end.

use std::fmt::Write;

use mlrun_compiler::{Options, Ownership, SourceType, compile};

/// A program of `n` parts that meets tensors.
fn program(n: usize, part: impl Fn(usize) -> String, rest: &str) -> String {
    let mut source = "import { randn } from \"mlrun\";\n".to_owned();
    for i in 0..n {
        let _ = writeln!(source, "{}", part(i));
    }
    source + rest
}

fn compiles(name: &str, source: &str) {
    for ownership in [Ownership::On, Ownership::Whole] {
        let options = Options { ownership, ..Options::new(SourceType::Module) };
        let compiled = compile(name, source, &options);
        let compiled = compiled.unwrap_or_else(|e| panic!("{}", e.render("", &Default::default())));
        assert!(compiled.owned, "{name}");
    }
}

#[test]
fn loops_in_loops() {
    let open = |i| format!("for (let i{i} = 0; i{i} < 2; i{i}++) {{ let y{i} = x.relu();");
    let source = program(60, open, "x.relu();");
    compiles("loops.js", &format!("let x = randn([2]);{source}{}", "}".repeat(60)));
}

#[test]
fn try_statements_over_variables_that_are_needed_later() {
    let part = |i| {
        format!("let v{i}; try {{ v{i} = () => randn([{i}]).relu(); v{i}(); }} catch {{ {i}; }}")
    };
    let source = program(3000, part, "");
    compiles("try.js", &source);
    let later = program(3000, |i| format!("let v{i} = randn([2]);"), "");
    let used: String =
        (0..3000).map(|i| format!("try {{ v{i}.relu(); }} catch {{ v{i}; }}")).collect();
    compiles("later.js", &(later + &used));
}

#[test]
fn functions_that_lead_to_each_other() {
    let source = program(20_000, |i| format!("const f{i} = (a) => f{}(a);", i + 1), "");
    compiles("functions.js", &(source + "const f20000 = (a) => a.relu();"));
}

#[test]
fn values_that_go_from_variable_to_variable() {
    let declared = program(20_000, |i| format!("let v{i} = 0;"), "let v20000 = 0;");
    let moved: String = (0..20_000).map(|i| format!("v{i} = v{};", i + 1)).collect();
    compiles("values.js", &(declared + &moved + "v20000 = randn([2]);"));
}

#[test]
fn classes_beside_each_other() {
    let part = |i| {
        format!(
            "class C{i} {{ constructor(x) {{ this.x = x.relu(); }} get y() {{ return this.x; }} }}"
        )
    };
    compiles("classes.js", &program(4000, part, ""));
}
