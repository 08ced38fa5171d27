//! The socket: one daemon has it.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

/// The socket of this daemon, as long as it lives.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) listener: UnixListener,
    path: PathBuf,
    /// The lock on the file beside the socket, which the kernel takes back however the daemon ends.
    _lock: File,
}

/// The reason why there is no socket.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SocketError {
    #[error("{}: another mobilityd has this socket; stop it, or set daemon.socket", .0.display())]
    Taken(PathBuf),
    #[error("{}: this is a file and no socket, and stays; set daemon.socket to another path", .0.display())]
    NoSocket(PathBuf),
    #[error("{}: {because}", path.display())]
    Refused { path: PathBuf, because: io::Error },
}

impl Socket {
    /// Takes the socket. What a daemon has left that was killed is replaced.
    pub(crate) fn open(path: &Path) -> Result<Self, SocketError> {
        let refused = |because| SocketError::Refused { path: path.to_owned(), because };
        let mut beside = path.as_os_str().to_owned();
        beside.push(".lock");
        let mut options = OpenOptions::new();
        let lock = options.create(true).truncate(false).write(true).mode(0o600).open(&beside);
        let lock = lock.map_err(|because| SocketError::Refused { path: beside.into(), because })?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(SocketError::Taken(path.to_owned())),
            Err(TryLockError::Error(because)) => return Err(refused(because)),
        }
        match std::fs::symlink_metadata(path) {
            Ok(found) if found.file_type().is_socket() => std::fs::remove_file(path).map_err(refused)?,
            Ok(_) => return Err(SocketError::NoSocket(path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(because) => return Err(refused(because)),
        }
        let listener = UnixListener::bind(path).map_err(refused)?;
        // It tells what `ip address` tells everybody.
        std::fs::set_permissions(path, Permissions::from_mode(0o666)).map_err(refused)?;
        Ok(Self { listener, path: path.to_owned(), _lock: lock })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.path);
    }
}
