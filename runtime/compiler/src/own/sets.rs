//! Sets of variables that share what they have in common.
//!
//! An analysis keeps a set for every place of a function, and neighbours differ in a few variables:
//! a copy costs nothing, and uniting two sets costs what they differ in. Blocks of 64 variables at
//! the leaves of a tree over the bits of their number (Okasaki and Gill, "Fast mergeable integer
//! maps", 1998). Invariant: no leaf is empty, and an operation that changes nothing gives back the
//! tree that it got.

use std::rc::Rc;

use super::tree::Sym;

#[derive(Clone, Debug, Default)]
pub(crate) enum Set {
    #[default]
    Empty,
    /// Number of the block, and its variables.
    Leaf(u32, u64),
    Fork(Rc<Fork>),
}

/// Blocks whose numbers agree above `bit`, parted by it.
#[derive(Debug)]
pub(crate) struct Fork {
    prefix: u32,
    bit: u32,
    halves: [Set; 2],
}

const WIDTH: usize = u64::BITS as usize;

fn leaf(sym: Sym) -> Set {
    Set::Leaf((sym / WIDTH) as u32, 1 << (sym % WIDTH))
}

/// The bits of a block's number above `bit`.
fn above(block: u32, bit: u32) -> u32 {
    block & !(bit | (bit - 1))
}

fn half(block: u32, bit: u32) -> usize {
    usize::from(block & bit != 0)
}

/// Two trees whose numbers differ in their prefixes.
fn join(one: u32, a: Set, other: u32, b: Set) -> Set {
    let bit = 1 << (one ^ other).ilog2();
    let halves = if half(one, bit) == 0 { [a, b] } else { [b, a] };
    Set::Fork(Rc::new(Fork { prefix: above(one, bit), bit, halves }))
}

impl Fork {
    fn holds(&self, block: u32) -> bool {
        above(block, self.bit) == self.prefix
    }

    /// The same with another half.
    fn with(self: &Rc<Self>, which: usize, new: Set) -> Set {
        if new.is(&self.halves[which]) {
            return Set::Fork(self.clone());
        }
        let other = self.halves[1 - which].clone();
        match new {
            Set::Empty => other,
            new => {
                let halves = if which == 0 { [new, other] } else { [other, new] };
                Set::Fork(Rc::new(Self { prefix: self.prefix, bit: self.bit, halves }))
            }
        }
    }
}

impl Set {
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    pub fn contains(&self, sym: Sym) -> bool {
        let Self::Leaf(block, bit) = leaf(sym) else { return false };
        self.block(block) & bit != 0
    }

    /// Tells whether it was not there.
    pub fn insert(&mut self, sym: Sym) -> bool {
        let new = !self.contains(sym);
        if new {
            *self = self.union(&leaf(sym));
        }
        new
    }

    /// Tells whether it was there.
    pub fn remove(&mut self, sym: Sym) -> bool {
        let Self::Leaf(block, bit) = leaf(sym) else { return false };
        let found = self.block(block) & bit != 0;
        if found {
            *self = self.without(block, bit);
        }
        found
    }

    pub fn extend(&mut self, other: &Self) {
        *self = self.union(other);
    }

    /// The same tree, or the same leaf.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Empty, Self::Empty) => true,
            (Self::Leaf(a, x), Self::Leaf(b, y)) => (a, x) == (b, y),
            (Self::Fork(a), Self::Fork(b)) => Rc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// A number whose bits above those that part it are those of every block in it.
    fn prefix(&self) -> u32 {
        match self {
            Self::Empty => 0,
            Self::Leaf(block, _) => *block,
            Self::Fork(fork) => fork.prefix,
        }
    }

    fn block(&self, block: u32) -> u64 {
        match self {
            Self::Leaf(at, bits) if *at == block => *bits,
            Self::Fork(fork) if fork.holds(block) => {
                fork.halves[half(block, fork.bit)].block(block)
            }
            _ => 0,
        }
    }

    fn without(&self, block: u32, bits: u64) -> Self {
        match self {
            Self::Leaf(at, old) if *at == block && old & !bits == 0 => Self::Empty,
            Self::Leaf(at, old) if *at == block => Self::Leaf(block, old & !bits),
            Self::Fork(fork) if fork.holds(block) => {
                let which = half(block, fork.bit);
                fork.with(which, fork.halves[which].without(block, bits))
            }
            _ => self.clone(),
        }
    }

    pub fn union(&self, other: &Self) -> Self {
        match (self, other) {
            (a, b) if a.is(b) || b.is_empty() => a.clone(),
            (Self::Empty, b) => b.clone(),
            (Self::Leaf(a, x), Self::Leaf(b, y)) if a == b => Self::Leaf(*a, x | y),
            (Self::Fork(a), b) if a.parts(b) => a.merged(b),
            (a, Self::Fork(b)) if b.parts(a) => b.merged(a),
            (Self::Fork(a), Self::Fork(b)) if (a.prefix, a.bit) == (b.prefix, b.bit) => {
                let halves = [0, 1].map(|i| a.halves[i].union(&b.halves[i]));
                let unchanged = |fork: &Fork| (0..2).all(|i| halves[i].is(&fork.halves[i]));
                if unchanged(a) {
                    return self.clone();
                }
                if unchanged(b) {
                    return other.clone();
                }
                Self::Fork(Rc::new(Fork { prefix: a.prefix, bit: a.bit, halves }))
            }
            (a, b) => join(a.prefix(), a.clone(), b.prefix(), b.clone()),
        }
    }

    pub fn is_subset(&self, other: &Self) -> bool {
        match (self, other) {
            (a, b) if a.is(b) || a.is_empty() => true,
            (Self::Leaf(block, bits), b) => bits & !b.block(*block) == 0,
            (Self::Fork(a), Self::Fork(b)) if (a.prefix, a.bit) == (b.prefix, b.bit) => {
                (0..2).all(|i| a.halves[i].is_subset(&b.halves[i]))
            }
            (a, Self::Fork(b)) if b.parts(a) => a.is_subset(&b.halves[half(a.prefix(), b.bit)]),
            _ => false,
        }
    }
}

impl Fork {
    /// The whole of a tree belongs to one half.
    fn parts(&self, tree: &Set) -> bool {
        let narrower = match tree {
            Set::Empty => false,
            Set::Leaf(..) => true,
            Set::Fork(fork) => fork.bit < self.bit,
        };
        narrower && self.holds(tree.prefix())
    }

    /// United with a tree that belongs to one half.
    fn merged(self: &Rc<Self>, tree: &Set) -> Set {
        let which = half(tree.prefix(), self.bit);
        self.with(which, self.halves[which].union(tree))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Numbers that are close together and far apart.
    fn numbers(seed: &mut u64) -> Vec<Sym> {
        let mut next = || {
            *seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (*seed >> 33) as usize
        };
        let (count, spread) = (next() % 40, [50, 300, 5000, 1 << 20][next() % 4]);
        (0..count).map(|_| next() % spread).collect()
    }

    fn set(of: &BTreeSet<Sym>) -> Set {
        let mut result = Set::Empty;
        of.iter().for_each(|&sym| assert!(result.insert(sym)));
        result
    }

    fn same(set: &Set, model: &BTreeSet<Sym>) -> bool {
        let among = model.iter().flat_map(|&sym| [sym, sym + 1, sym + 64, sym.saturating_sub(1)]);
        let probes: Vec<_> = among.chain(0..200).collect();
        set.is_empty() == model.is_empty()
            && probes.iter().all(|&sym| set.contains(sym) == model.contains(&sym))
    }

    #[test]
    fn does_what_a_plain_set_does() {
        let mut seed = 1;
        for _ in 0..2000 {
            let [one, other] =
                [0, 1].map(|_| numbers(&mut seed).into_iter().collect::<BTreeSet<_>>());
            let [a, b] = [&one, &other].map(set);
            assert!(same(&a, &one) && same(&b, &other));
            let both = &one | &other;
            assert!(same(&a.union(&b), &both), "{one:?} {other:?}");
            assert_eq!(a.is_subset(&b), one.is_subset(&other), "{one:?} {other:?}");
            assert!(a.is_subset(&a.union(&b)) && b.is_subset(&a.union(&b)));
            let mut rest = a.union(&b);
            for &sym in &other {
                assert!(rest.remove(sym) && !rest.remove(sym));
            }
            assert!(same(&rest, &(&one - &other)), "{one:?} {other:?}");
        }
    }

    #[test]
    fn what_changes_nothing_gives_the_same_tree() {
        let all: BTreeSet<Sym> = (0..10_000).step_by(7).collect();
        let few: BTreeSet<Sym> = (0..10_000).step_by(70).collect();
        let (all, few) = (set(&all), set(&few));
        assert!(all.union(&few).is(&all) && few.union(&all).is(&all));
        assert!(all.union(&all.clone()).is(&all));
    }
}
