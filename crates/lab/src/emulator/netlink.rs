//! The two things that the emulator asks of `rtnetlink(7)`, in the calling thread's network namespace.
//!
//! Written out because a netlink library would bring an async runtime into every side for two messages. All fields
//! are in the machine's own byte order.

use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

/// Brings the loopback device up, which is device 1 in every namespace.
pub(super) fn bring_up_loopback() -> nix::Result<()> {
    change_device(1, IFF_UP, &[])
}

/// Sets how many packets may wait at the entrance of device `index`. The older `ioctl` refuses this to a user
/// namespace.
pub(super) fn set_queue_length(index: u32, packets: u32) -> nix::Result<()> {
    change_device(index, 0, &attribute(IFLA_TXQLEN, &packets.to_ne_bytes()))
}

fn change_device(index: u32, flags: u32, attributes: &[u8]) -> nix::Result<()> {
    let mut message = vec![0; 4]; // family, padding, type
    message.extend(index.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend(flags.to_ne_bytes()); // which of them change
    message.extend(attributes);
    request(RTM_NEWLINK, &message)
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    [&length.to_ne_bytes(), &kind.to_ne_bytes(), value].concat()
}

/// Sends a request and waits for its acknowledgement.
fn request(kind: u16, message: &[u8]) -> nix::Result<()> {
    let netlink =
        socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
    let length = u32::try_from(16 + message.len()).map_err(|_| Errno::EMSGSIZE)?;
    let mut request = length.to_ne_bytes().to_vec();
    request.extend(kind.to_ne_bytes());
    request.extend((NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
    request.extend([0; 8]); // sequence number, port
    request.extend(message);
    send(netlink.as_raw_fd(), &request, MsgFlags::empty())?;

    // The header of the answer, then the negative error number or 0.
    let mut answer = [0; 128];
    let length = recv(netlink.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    let code = answer[..length].get(16..20).and_then(|code| <[u8; 4]>::try_from(code).ok());
    match code.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(negative) => Err(Errno::from_raw(negative.saturating_neg())),
        None => Err(Errno::EBADMSG),
    }
}

const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST: u16 = 0x001;
const NLM_F_ACK: u16 = 0x004;
const IFF_UP: u32 = 1;
const IFLA_TXQLEN: u16 = 13;
