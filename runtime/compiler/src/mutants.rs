//! Rules of the emitted code, each with a way to break it: what proves that a check can fail.
//!
//! Reached only by `--verify-ownership --break-rule` and by tests. Deliberately not here: rules of
//! the runtime half, which tests/ownership/mutants.mjs breaks.

/// A rule that emitted code can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mutant {
    pub rule: &'static str,
    from: &'static str,
    to: &'static str,
}

/// Every rule that can be broken. Both texts have one length, so that positions stay.
pub const MUTANTS: &[Mutant] = &[
    Mutant { rule: "lent-results-are-retained", from: ".lend(", to: ".give(" },
    Mutant { rule: "borrowed-values-are-held", from: ".hold(", to: ".bare(" },
    Mutant { rule: "what-others-see-is-shared", from: ".share(", to: ".first(" },
    Mutant { rule: "fields-take-a-count", from: ".field(", to: ".first(" },
    Mutant { rule: "awaited-values-are-retained", from: ".claim(", to: ".first(" },
    Mutant { rule: "completions-are-retained", from: ".pass(", to: ".done(" },
    Mutant { rule: "parameters-of-patterns-are-retained-early", from: ".keyed(", to: ".first(" },
    Mutant { rule: "code-inside-patterns-is-seen", from: ".open(", to: ".bare(" },
];

impl Mutant {
    /// The mutant of a rule.
    #[must_use]
    pub fn of(rule: &str) -> Option<Self> {
        MUTANTS.iter().copied().find(|m| m.rule == rule)
    }

    /// Emitted code without the rule; `None` where it has no place in the code.
    #[must_use]
    pub fn apply(&self, code: &str) -> Option<String> {
        let own = code.rfind(crate::RUNTIME_MODULE)?;
        let import = code[..own].rfind("import * as ")? + "import * as ".len();
        let name = code[import..own].split(' ').next()?;
        let from = format!("{name}{}", self.from);
        code.contains(&from).then(|| code.replace(&from, &format!("{name}{}", self.to)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Ownership, SourceType, compile};

    #[test]
    fn every_mutant_changes_a_program() {
        let source = "let cached;\nclass A { t; constructor(t) { this.t = t; } f = id(cached); }\n\
            const id = (x) => x;\nasync function later(x) { await null; return x; }\n\
            export let seen = id(1);\nexport function f([x, y], l) { seen = x; cached = y; return x.add(y); }\n\
            export const h = ({ t, g }) => t.add(g);\nexport function k(o) { const { a: { b }, c } = o; return b.add(c); }\n\
            export async function g(x) { const y = await later(x); return y.add(new A(x).t); }\n";
        let options = Options { ownership: Ownership::Whole, ..Options::new(SourceType::Module) };
        let code = compile("f.js", source, &options).expect("compiles").code;
        for mutant in MUTANTS {
            assert_eq!(mutant.from.len(), mutant.to.len(), "{}", mutant.rule);
            let broken = mutant.apply(&code);
            assert!(broken.is_some_and(|b| b != code), "{} is not in\n{code}", mutant.rule);
            assert_eq!(Mutant::of(mutant.rule), Some(*mutant));
        }
        assert_eq!(Mutant::of("no-such-rule"), None);
        assert_eq!(MUTANTS[0].apply("f($own.lend(x));"), None);
    }
}
