//! A set of paths, one bit for each.

use crate::transmit::{MAX_PATHS, PathId};

/// A set of paths of one association, a bit for each: every SACK asks for several, and nearly all are empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathIds(u8);

const _: () = assert!(MAX_PATHS <= u8::BITS as usize, "a bit for each path");

impl PathIds {
    pub(crate) fn insert(&mut self, path: PathId) {
        self.0 |= bit(path);
    }

    pub(crate) fn contains(self, path: PathId) -> bool {
        self.0 & bit(path) != 0
    }

    #[cfg(test)]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Returns the bit of a path, whose number is below [`MAX_PATHS`].
fn bit(path: PathId) -> u8 {
    debug_assert!(path.index() < MAX_PATHS, "{path}");
    1 << (path.index() % MAX_PATHS)
}

impl FromIterator<PathId> for PathIds {
    fn from_iter<T: IntoIterator<Item = PathId>>(paths: T) -> Self {
        let mut set = Self::default();
        paths.into_iter().for_each(|path| set.insert(path));
        set
    }
}

impl IntoIterator for PathIds {
    type Item = PathId;
    type IntoIter = Iter;

    fn into_iter(self) -> Iter {
        Iter(self.0)
    }
}

/// The paths of a set, the lowest number first.
#[derive(Debug)]
pub(crate) struct Iter(u8);

impl Iterator for Iter {
    type Item = PathId;

    #[inline]
    fn next(&mut self) -> Option<PathId> {
        let number = u8::try_from(self.0.trailing_zeros()).ok()?;
        self.0 &= self.0.checked_sub(1)?;
        Some(PathId::new(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_gives_each_path_once_in_order() {
        let set: PathIds = [7, 0, 5, 5].map(PathId::new).into_iter().collect();
        assert_eq!(set.into_iter().collect::<Vec<_>>(), [0, 5, 7].map(PathId::new));
        assert!(set.contains(PathId::new(5)));
        assert!(!set.contains(PathId::new(1)) && !set.is_empty());
        assert_eq!(PathIds::default().into_iter().next(), None);
    }
}
