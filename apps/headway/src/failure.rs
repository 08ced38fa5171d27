//! The end of a command that did not go well.

/// An error that ends a command: standard error gets its words, the shell its number.
pub(crate) trait CommandError: std::error::Error {
    /// Returns the exit status: 1 if the run failed, 2 if what was asked for makes no sense.
    fn exit_status(&self) -> u8;
}

impl<E: CommandError + 'static> From<E> for Box<dyn CommandError> {
    fn from(error: E) -> Self {
        Box::new(error)
    }
}
