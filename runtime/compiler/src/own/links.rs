//! Lists of numbers, one for each of many things, in two allocations.

const END: u32 = u32::MAX;

#[derive(Debug, Default)]
pub(crate) struct Links {
    /// The last entry of each list.
    heads: Vec<u32>,
    /// Numbers with the entry before them in the same list.
    entries: Vec<(u32, u32)>,
}

impl Links {
    pub fn add(&mut self, from: usize, to: usize) {
        if self.heads.len() <= from {
            self.heads.resize(from + 1, END);
        }
        let before = std::mem::replace(&mut self.heads[from], self.entries.len() as u32);
        self.entries.push((to as u32, before));
    }

    /// The numbers of a list, the last one first.
    pub fn of(&self, from: usize) -> impl Iterator<Item = usize> {
        let mut at = self.heads.get(from).copied().unwrap_or(END);
        std::iter::from_fn(move || {
            let &(to, before) = self.entries.get(at as usize)?;
            at = before;
            Some(to as usize)
        })
    }

    pub fn has(&self, from: usize) -> bool {
        self.heads.get(from).is_some_and(|&head| head != END)
    }
}
