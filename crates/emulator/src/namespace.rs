//! The network namespace of the calling thread. Threads it spawns afterwards inherit it.

use std::fs::{self, File};
use std::path::Path;

use nix::sched::{CloneFlags, setns, unshare};

use super::error::EmulatorError;
use super::netlink::Netlink;

/// Moves the calling thread into a new network namespace, with its loopback device up.
pub(super) fn enter_new() -> Result<(), EmulatorError> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| EmulatorError::NewNamespace { errno })?;
    Netlink::open()
        .and_then(|netlink| netlink.bring_up_loopback())
        .map_err(|errno| EmulatorError::Loopback { errno })
}

/// Moves the calling thread into the network namespace at `path`.
pub(super) fn enter(path: &Path) -> Result<(), EmulatorError> {
    let file =
        File::open(path).map_err(|source| EmulatorError::OpenNamespace { path: path.to_owned(), source })?;
    setns(file, CloneFlags::CLONE_NEWNET)
        .map_err(|errno| EmulatorError::EnterNamespace { path: path.to_owned(), errno })
}

/// Sets a kernel parameter, such as `net.ipv4.tcp_sack`, of the calling thread's namespace.
pub(super) fn set_parameter(name: &str, value: &str) -> Result<(), EmulatorError> {
    let path = format!("/proc/sys/{}", name.replace('.', "/"));
    fs::write(path, value).map_err(|source| EmulatorError::KernelParameter {
        name: name.to_owned(),
        value: value.to_owned(),
        source,
    })
}
