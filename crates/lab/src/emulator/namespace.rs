//! The network namespace of the calling thread. Threads it spawns afterwards inherit it.

use std::fs::{self, File};
use std::path::Path;

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};
use std::os::fd::AsRawFd;

use super::error::EmulatorError;

/// Moves the calling thread into a new network namespace, with its loopback device up.
pub(super) fn enter_new() -> Result<(), EmulatorError> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| EmulatorError::NewNamespace { errno })?;
    bring_up_loopback().map_err(|errno| EmulatorError::Loopback { errno })
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

/// One `RTM_NEWLINK` for device 1, which is the loopback device in every namespace (`rtnetlink(7)`). Written out
/// because a netlink library would bring an async runtime into every side for these 32 octets.
fn bring_up_loopback() -> nix::Result<()> {
    let netlink =
        socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
    let mut request = Vec::with_capacity(32);
    request.extend(32_u32.to_ne_bytes());
    request.extend(RTM_NEWLINK.to_ne_bytes());
    request.extend((NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
    request.extend([0; 8]); // sequence number, port
    request.extend([0; 4]); // family, padding, type
    request.extend(LOOPBACK_INDEX.to_ne_bytes());
    request.extend(IFF_UP.to_ne_bytes()); // flags
    request.extend(IFF_UP.to_ne_bytes()); // which of them change
    send(netlink.as_raw_fd(), &request, MsgFlags::empty())?;

    let mut answer = [0; 64];
    let length = recv(netlink.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    match answer.get(16..20).filter(|_| length >= 20).and_then(|code| <[u8; 4]>::try_from(code).ok()) {
        Some(code) => match i32::from_ne_bytes(code) {
            0 => Ok(()),
            negative => Err(Errno::from_raw(negative.saturating_neg())),
        },
        None => Err(Errno::EBADMSG),
    }
}

const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const LOOPBACK_INDEX: i32 = 1;
const IFF_UP: u32 = 1;
