//! `js/00_ops.js` is made from the op table. `UPDATE_GOLDEN=1 cargo test` writes it again.

use mlrun_tensor_core::Op;
use mlrun_tensor_core::table::Rule;
use std::fmt::Write;
use std::path::Path;

/// Elementwise rows whose JavaScript method takes options or several forms; written by hand.
const BY_HAND: &[&str] = &[
    "softplus",
    "elu",
    "leakyRelu",
    "clampMin",
    "clampMax",
    "gelu",
    "geluTanh",
    "lerp",
    "smoothAbs",
];

fn methods() -> String {
    let mut js = String::from(
        "// Generated from the op table by ext/tensor/core/tests/generated.rs; do not edit.\n\
         // One method per elementwise row; the numbers are the rows'.\n\n\
         import { addOperations, binary, inPlace, noMore, noOptions, unary } from \"ext:mlrun_tensor/00_handle.js\";\n\n\
         addOperations({\n",
    );
    // What PyTorch takes beside the operands (a scale, a rounding) is refused, not ignored.
    let mut line = |doc: &str, name: &str, args: &str, body: String| {
        let refuse = if args.is_empty() { "noMore" } else { "noOptions" };
        let extra = format!("if (more !== undefined) {refuse}(\"{name}\", more);");
        let head = format!("{name}({args}more) {{\n    {extra}");
        writeln!(js, "  /** {doc} */\n  {head}\n    return {body};\n  }},").expect("a string");
    };
    for (row, op) in Op::ALL.iter().enumerate() {
        let def = op.def();
        if BY_HAND.contains(&def.name) {
            continue;
        }
        let name = def.name;
        match def.rule {
            Rule::Unary(_) | Rule::Predicate => {
                line(def.doc, name, "", format!("unary({row}, this)"));
            }
            Rule::Binary(_) | Rule::Compare | Rule::Bits => {
                let body = format!("binary({row}, \"{name}\", this, other)");
                line(def.doc, name, "other, ", body);
                if matches!(name, "add" | "sub" | "mul" | "div") {
                    let doc = format!("As {name}, in this tensor's own memory; returns this.");
                    let body = format!("inPlace({row}, \"{name}_\", this, other)");
                    line(&doc, &format!("{name}_"), "other, ", body);
                }
            }
            _ => {}
        }
    }
    js.push_str("});\n");
    js
}

#[test]
#[allow(clippy::disallowed_methods)] // a golden file, not a module
fn javascript_methods_of_elementwise_rows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../js/00_ops.js");
    let want = methods();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &want).expect("js/00_ops.js is writable");
    }
    let have = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(have == want, "js/00_ops.js is not what the table says; UPDATE_GOLDEN=1 writes it");
}
