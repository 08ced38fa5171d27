//! How wide the terminal is.

/// Returns the number of columns of the terminal that standard output is; `None` where it is a file or a pipe.
pub(crate) fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    // Some tell nothing.
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}
