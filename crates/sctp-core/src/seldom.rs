//! Values that are seldom there, so that their owners are small without them.

/// A value that is seldom there, above all counters of what seldom happens: it exists from the first time on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seldom<T>(Option<Box<T>>);

impl<T: Clone + Default> Seldom<T> {
    #[inline]
    pub(crate) fn exists(&self) -> bool {
        self.0.is_some()
    }

    #[inline]
    pub(crate) fn get(&self) -> T {
        self.0.as_deref().cloned().unwrap_or_default()
    }

    #[inline]
    pub(crate) fn as_ref(&self) -> Option<&T> {
        self.0.as_deref()
    }

    /// Returns the value to be changed, and makes it if there is none yet.
    pub(crate) fn note(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}
