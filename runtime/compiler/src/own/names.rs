//! Names of the compiler's own variables: never the user's.

use std::collections::HashMap;

use super::hash::NumberMap;
use super::tree::{Mode, Sym, Tree};

pub(crate) struct Names {
    prefix: String,
    /// The variable that holds the runtime half.
    pub runtime: String,
    slots: NumberMap<Sym, String>,
}

impl Names {
    /// Chooses a prefix that no name in the source continues.
    pub fn new(source: &str, tree: &Tree) -> Self {
        let mut prefix = "$".to_owned();
        while is_used(source, &prefix) {
            prefix.push_str(if prefix.ends_with('_') { "$" } else { "_" });
        }
        let mut slots = NumberMap::default();
        let mut taken: HashMap<&str, u32> = HashMap::new();
        for (sym, var) in tree.vars.iter().enumerate() {
            if matches!(var.mode, Mode::Slot { .. } | Mode::Cell | Mode::Lent { .. }) {
                let count = taken.entry(&var.name).or_default();
                let suffix = if *count > 0 { format!("_{count}") } else { String::new() };
                *count += 1;
                // A digit keeps them apart from the runtime's name.
                slots.insert(sym, format!("{prefix}0{}{suffix}", var.name));
            }
        }
        Self { runtime: format!("{prefix}own"), prefix, slots }
    }

    pub fn slot(&self, sym: Sym) -> String {
        self.slots.get(&sym).cloned().unwrap_or_else(|| format!("{}0_{sym}", self.prefix))
    }

    /// The slot that holds `this`.
    pub fn this(&self) -> String {
        format!("{}0this", self.prefix)
    }

    /// The numbers of those slots that are temporaries, in ascending order.
    pub fn temps(&self, slots: &[String]) -> Vec<usize> {
        let number = |slot: &String| slot.strip_prefix(&self.prefix)?.parse().ok();
        let mut numbers: Vec<_> =
            slots.iter().filter(|slot| self.is_temp(slot)).filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }

    pub fn temp(&self, n: usize) -> String {
        format!("{}{n}", self.prefix)
    }

    /// A name of the compiler's.
    pub fn is_own(&self, name: &str) -> bool {
        name.starts_with(&self.prefix) && name != self.runtime && name.len() > self.prefix.len()
    }

    pub fn is_slot(&self, name: &str) -> bool {
        self.beside(name).is_some()
    }

    /// The variable whose slot this is. Of variables with one name, only the first has a slot
    /// that can be recognised.
    pub fn beside<'n>(&self, name: &'n str) -> Option<&'n str> {
        name.strip_prefix(&self.prefix)?.strip_prefix('0')
    }

    pub fn is_temp(&self, name: &str) -> bool {
        name.strip_prefix(&self.prefix).is_some_and(|n| {
            !n.is_empty() && !n.starts_with('0') && n.bytes().all(|b| b.is_ascii_digit())
        })
    }

    /// The token of an asynchronous function.
    pub fn token(&self) -> String {
        format!("{}t", self.prefix)
    }

    /// What drives a loop, or holds the token of a promise.
    pub fn driver(&self, n: usize) -> String {
        format!("{}d{n}", self.prefix)
    }

    /// Set once a closure over a cell got away.
    pub fn escaped(&self) -> String {
        format!("{}e", self.prefix)
    }

    /// A temporary that holds no count.
    pub fn raw(&self, n: usize) -> String {
        format!("{}{n}_", self.prefix)
    }
}

fn is_used(source: &str, prefix: &str) -> bool {
    source.match_indices(prefix).any(|(at, _)| {
        let next = source[at + prefix.len()..].chars().next();
        next.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '\\'))
    })
}
