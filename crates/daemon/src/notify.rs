//! Talking to systemd: that we are ready, and what it keeps for us when we die.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags,
    SocketType, sendmsg_addr, socket_with,
};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

/// Sends a state such as `READY=1` where `NOTIFY_SOCKET` says; does nothing without that variable (sd_notify(3)).
///
/// # Errors
///
/// The socket cannot be reached.
pub fn tell_systemd(state: &str) -> io::Result<()> {
    send(state, None)
}

/// Lets systemd keep a descriptor under a name, which [`kept`] gives to the next process
/// (sd_pid_notify_with_fds(3)). The unit needs `FileDescriptorStoreMax=`; without it systemd closes what it is
/// sent.
///
/// # Errors
///
/// The socket cannot be reached.
pub fn keep(name: &str, descriptor: BorrowedFd<'_>) -> io::Result<()> {
    send(&format!("FDSTORE=1\nFDNAME={name}"), Some(descriptor))
}

/// Returns the descriptor that systemd has kept under a name for a process before this one (sd_listen_fds(3)).
///
/// # Errors
///
/// The kernel does not give it.
pub fn kept(name: &str) -> io::Result<Option<OwnedFd>> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    if variable("LISTEN_PID").parse() != Ok(std::process::id()) {
        return Ok(None);
    }
    let names = variable("LISTEN_FDNAMES");
    let Some(position) = names.split(':').position(|each| each == name) else { return Ok(None) };
    let number = FIRST_DESCRIPTOR + i32::try_from(position).map_err(io::Error::other)?;
    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    Ok(Some(pidfd_getfd(own, number, PidfdGetfdFlags::empty())?))
}

fn send(state: &str, descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else { return Ok(()) };
    let path = path.to_string_lossy();
    let address = match path.strip_prefix('@') {
        Some(name) => SocketAddrUnix::new_abstract_name(name.as_bytes())?,
        None => SocketAddrUnix::new(&*path)?,
    };
    let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<BorrowedFd<'_>> = descriptor.into_iter().collect();
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("no room for a descriptor"));
    }
    let text = [IoSlice::new(state.as_bytes())];
    sendmsg_addr(&socket, &address, &text, &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// The first descriptor that systemd passes on (SD_LISTEN_FDS_START).
const FIRST_DESCRIPTOR: i32 = 3;
