//! From a specifier in an import to the URL of a module.
//!
//! Relative and absolute specifiers are joined to the importer's URL without asking the file
//! system, as on the web; bare ones are packages (`node_modules`), except the library itself.

use deno_core::ModuleSpecifier;

use super::error::LoadErrorKind;
use super::node_modules::Packages;

/// What `import ... from "mlrun"` resolves to.
pub(super) const LIBRARY: &str = "mlrun:library";

/// What the imports that the compiler adds resolve to.
pub(super) const OWNERSHIP: &str = "mlrun:ownership";

/// What the compiler's yields import.
pub(super) const TURNS: &str = mlrun_compiler::TURNS_MODULE;

/// Name under which scripts import the library.
const LIBRARY_NAME: &str = "mlrun";

/// Resolves one specifier.
pub(super) fn resolve(
    packages: &Packages,
    specifier: &str,
    referrer: &str,
) -> Result<ModuleSpecifier, LoadErrorKind> {
    let invalid = |reason: &dyn ToString| LoadErrorKind::Specifier {
        specifier: specifier.to_owned(),
        reason: reason.to_string(),
    };
    if specifier == LIBRARY_NAME || specifier == LIBRARY {
        return ModuleSpecifier::parse(LIBRARY).map_err(|error| invalid(&error));
    }
    if specifier == TURNS {
        return ModuleSpecifier::parse(TURNS).map_err(|error| invalid(&error));
    }
    if is_path(specifier) {
        let base = ModuleSpecifier::parse(referrer).map_err(|error| invalid(&error))?;
        let url = base.join(specifier).map_err(|error| invalid(&error))?;
        return supported(url, specifier);
    }
    match ModuleSpecifier::parse(specifier) {
        Ok(url) => supported(url, specifier),
        Err(_) => packages.resolve(specifier, referrer),
    }
}

fn is_path(specifier: &str) -> bool {
    specifier.starts_with("./")
        || specifier.starts_with("../")
        || specifier.starts_with('/')
        || specifier == "."
        || specifier == ".."
}

fn supported(url: ModuleSpecifier, specifier: &str) -> Result<ModuleSpecifier, LoadErrorKind> {
    match url.scheme() {
        "file" => Ok(url),
        "node" => Err(LoadErrorKind::NodeBuiltIn { specifier: specifier.to_owned() }),
        scheme => Err(LoadErrorKind::Scheme {
            scheme: scheme.to_owned(),
            specifier: specifier.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifier_table() {
        let packages = Packages::default();
        let from = "file:///project/src/main.js";
        let cases = [
            ("./a.js", Ok("file:///project/src/a.js")),
            ("../b.ts", Ok("file:///project/b.ts")),
            ("/c.js", Ok("file:///c.js")),
            ("./sp ace.js", Ok("file:///project/src/sp%20ace.js")),
            ("./a.js?x#y", Ok("file:///project/src/a.js?x#y")),
            ("file:///d.js", Ok("file:///d.js")),
            ("mlrun", Ok(LIBRARY)),
            ("mlrun:other", Err("modules of the kind \"mlrun\"")),
            ("https://example.com/a.js", Err("modules of the kind \"https\"")),
            ("ext:core/mod.js", Err("modules of the kind \"ext\"")),
            ("node:fs", Err("Node's built-in modules")),
            ("fs", Err("Node's built-in modules")),
            ("no-such-package", Err("package not found in any node_modules")),
            ("@scope/none/sub.js", Err("package not found in any node_modules")),
            ("", Err("not a valid specifier")),
        ];
        for (specifier, expected) in cases {
            let got = resolve(&packages, specifier, from);
            match (expected, got) {
                (Ok(url), Ok(got)) => assert_eq!(got.as_str(), url, "{specifier}"),
                (Err(part), Err(error)) => {
                    let message = error.to_string();
                    assert!(message.contains(part), "{specifier}: {message}");
                }
                (expected, got) => panic!("{specifier}: expected {expected:?}, got {got:?}"),
            }
        }
    }
}
