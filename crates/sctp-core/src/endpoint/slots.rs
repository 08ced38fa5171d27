//! A table whose places are used again: what is in it is found by number, without a search.

use core::ops::{Index, IndexMut};

/// Values by number; the numbers of removed ones are given out anew.
#[derive(Debug)]
pub(super) struct Slots<T> {
    places: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// Puts a value in and gives its number.
    pub(super) fn insert(&mut self, value: T) -> usize {
        if let Some(slot) = self.free.pop() {
            self.places[slot] = Some(value);
            return slot;
        }
        self.places.push(Some(value));
        self.places.len() - 1
    }

    /// Takes a value out, if there is one.
    pub(super) fn remove(&mut self, slot: usize) -> Option<T> {
        let value = self.places.get_mut(slot)?.take()?;
        self.free.push(slot);
        Some(value)
    }

    pub(super) fn get(&self, slot: usize) -> Option<&T> {
        self.places.get(slot)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: usize) -> Option<&mut T> {
        self.places.get_mut(slot)?.as_mut()
    }

    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Returns all of them with their numbers, in the order of these.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.places.iter().enumerate().filter_map(|(slot, place)| Some((slot, place.as_ref()?)))
    }
}

/// For numbers that are known to be in use.
impl<T> Index<usize> for Slots<T> {
    type Output = T;

    fn index(&self, slot: usize) -> &T {
        self.get(slot).unwrap_or_else(|| vacant(slot))
    }
}

impl<T> IndexMut<usize> for Slots<T> {
    fn index_mut(&mut self, slot: usize) -> &mut T {
        self.get_mut(slot).unwrap_or_else(|| vacant(slot))
    }
}

#[expect(clippy::panic, reason = "as every index that is out of bounds")]
fn vacant(slot: usize) -> ! {
    panic!("slot {slot} is vacant")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_removed_values_are_given_out_anew() {
        let mut slots = Slots::default();
        assert_eq!([slots.insert('a'), slots.insert('b'), slots.insert('c')], [0, 1, 2]);
        assert_eq!((slots.remove(1), slots.remove(1), slots.len()), (Some('b'), None, 2));
        assert_eq!((slots.get(1), slots.get(9)), (None, None));
        assert_eq!(slots.insert('d'), 1);
        slots[1] = 'e';
        assert_eq!(
            slots.iter().map(|(slot, value)| (slot, *value)).collect::<Vec<_>>(),
            [(0, 'a'), (1, 'e'), (2, 'c')]
        );
    }
}
