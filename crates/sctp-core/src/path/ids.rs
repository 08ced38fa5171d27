//! A set of paths, one bit for each.

use crate::transmit::{MAX_PATHS, PathIndex};

/// A set of paths of one association, a bit for each: every SACK asks for several, and nearly all are empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathIds(u8);

const _: () = assert!(MAX_PATHS <= u8::BITS as usize, "a bit for each path");

impl PathIds {
    pub(crate) fn insert(&mut self, path: PathIndex) {
        self.0 |= bit(path);
    }

    pub(crate) fn contains(self, path: PathIndex) -> bool {
        self.0 & bit(path) != 0
    }

    #[cfg(test)]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Returns the bit of a path, whose number is below [`MAX_PATHS`].
fn bit(path: PathIndex) -> u8 {
    debug_assert!(path.index() < MAX_PATHS, "{path}");
    1 << (path.index() % MAX_PATHS)
}

impl FromIterator<PathIndex> for PathIds {
    fn from_iter<T: IntoIterator<Item = PathIndex>>(paths: T) -> Self {
        let mut set = Self::default();
        paths.into_iter().for_each(|path| set.insert(path));
        set
    }
}

impl IntoIterator for PathIds {
    type Item = PathIndex;
    type IntoIter = Iter;

    fn into_iter(self) -> Iter {
        Iter(self.0)
    }
}

/// The paths of a set, the lowest number first.
#[derive(Debug)]
pub(crate) struct Iter(u8);

impl Iterator for Iter {
    type Item = PathIndex;

    #[inline]
    fn next(&mut self) -> Option<PathIndex> {
        let number = u8::try_from(self.0.trailing_zeros()).ok()?;
        self.0 &= self.0.checked_sub(1)?;
        Some(PathIndex::new(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_gives_each_path_once_in_order() {
        let set: PathIds = [7, 0, 5, 5].map(PathIndex::new).into_iter().collect();
        assert_eq!(set.into_iter().collect::<Vec<_>>(), [0, 5, 7].map(PathIndex::new));
        assert!(set.contains(PathIndex::new(5)));
        assert!(!set.contains(PathIndex::new(1)) && !set.is_empty());
        assert_eq!(PathIds::default().into_iter().next(), None);
    }
}
