//! Values of which each path has one.

use core::ops::{Index, IndexMut};

use crate::transmit::PathIndex;

/// A value for each path, by the path's index. The first is always there and stands in place: most associations have no other path, and
/// every packet asks for its own several times.
#[derive(Clone, Debug, Default)]
pub(crate) struct PerPath<T> {
    first: T,
    others: Vec<T>,
}

impl<T> PerPath<T> {
    /// Creates the values with that of the first path.
    pub(crate) const fn new(first: T) -> Self {
        Self { first, others: Vec::new() }
    }

    /// Returns what `make` makes of each value.
    #[inline]
    pub(crate) fn map<U>(&self, mut make: impl FnMut(PathIndex, &T) -> U) -> PerPath<U> {
        let first = make(PathIndex::FIRST, &self.first);
        let others = PathIndex::all().skip(1).zip(&self.others);
        PerPath { first, others: others.map(|(path, value)| make(path, value)).collect() }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        1 + self.others.len()
    }

    #[inline]
    pub(crate) fn get(&self, path: PathIndex) -> Option<&T> {
        match path.index().checked_sub(1) {
            None => Some(&self.first),
            Some(other) => self.others.get(other),
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, path: PathIndex) -> Option<&mut T> {
        match path.index().checked_sub(1) {
            None => Some(&mut self.first),
            Some(other) => self.others.get_mut(other),
        }
    }

    /// Appends the value of the path after the last.
    pub(crate) fn push(&mut self, value: T) {
        if self.others.is_empty() {
            // Two paths are what most others have.
            self.others.reserve_exact(1);
        }
        self.others.push(value);
    }

    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        core::iter::once(&self.first).chain(&self.others)
    }

    #[inline]
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        core::iter::once(&mut self.first).chain(&mut self.others)
    }
}

impl<T: Default> PerPath<T> {
    /// Returns the value of a path, which with those before it begins with the default.
    #[inline]
    pub(crate) fn entry(&mut self, path: PathIndex) -> &mut T {
        match path.index().checked_sub(1) {
            None => &mut self.first,
            Some(other) => self.other(other),
        }
    }

    fn other(&mut self, other: usize) -> &mut T {
        while self.others.len() <= other {
            self.push(T::default());
        }
        &mut self.others[other]
    }
}

/// Panics where the path has no value.
impl<T> Index<PathIndex> for PerPath<T> {
    type Output = T;

    #[inline]
    fn index(&self, path: PathIndex) -> &T {
        match path.index().checked_sub(1) {
            None => &self.first,
            Some(other) => &self.others[other],
        }
    }
}

/// Panics where the path has no value.
impl<T> IndexMut<PathIndex> for PerPath<T> {
    #[inline]
    fn index_mut(&mut self, path: PathIndex) -> &mut T {
        match path.index().checked_sub(1) {
            None => &mut self.first,
            Some(other) => &mut self.others[other],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_has_its_own_value_and_those_between_begin_with_the_default() {
        let mut values = PerPath::new(7);
        *values.entry(PathIndex::new(2)) = 9;
        values.push(3);
        assert_eq!(values.iter().copied().collect::<Vec<_>>(), [7, 0, 9, 3]);
        assert_eq!((values.len(), values[PathIndex::FIRST], values[PathIndex::new(2)]), (4, 7, 9));
        assert_eq!((values.get(PathIndex::new(3)), values.get(PathIndex::new(4))), (Some(&3), None));
        let doubled = values.map(|path, value| path.index() + 2 * value);
        assert_eq!(doubled.iter().copied().collect::<Vec<_>>(), [14, 1, 20, 9]);
    }
}
