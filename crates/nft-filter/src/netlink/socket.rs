//! The socket: transactions out, dumps in.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::netlink::{NETFILTER, SocketAddrNetlink};
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, getsockname, recv, sendto,
    socket_with,
};

use super::attributes::{Attributes, attribute};
use super::batch::{Batch, frame, nftables};
use super::codes::{DONE, DUMP, ERROR, INTERRUPTED, REQUEST, generation, message};

/// A netlink socket to netfilter, of the network namespace it was opened in.
#[derive(Debug)]
pub(crate) struct Socket {
    socket: OwnedFd,
    sequence: u32,
    received: Vec<u8>,
    /// The socket's number among those of its namespace, by which the kernel knows the owner of a table.
    port: u32,
}

impl Socket {
    pub(crate) fn open() -> Result<Self, NetlinkError> {
        let open = || {
            let family = AddressFamily::NETLINK;
            let socket = socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, Some(NETFILTER))?;
            bind(&socket, &SocketAddrNetlink::new(0, 0))?;
            enlarge_buffers(&socket)?;
            sockopt::set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
            Ok(socket)
        };
        let socket = open().map_err(|errno| NetlinkError::Socket { action: "open", errno })?;
        Self::of(socket)
    }

    /// Goes on with a socket that another process has opened, with its buffers and its tables. What that has asked and not
    /// read is passed over.
    pub(crate) fn inherit(socket: OwnedFd) -> Result<Self, NetlinkError> {
        let mut socket = Self::of(socket)?;
        loop {
            match recv(&socket.socket, socket.received.as_mut_slice(), RecvFlags::DONTWAIT) {
                Ok(_) | Err(Errno::INTR | Errno::NOBUFS) => {}
                Err(Errno::AGAIN) => return Ok(socket),
                Err(errno) => return Err(NetlinkError::Socket { action: "receive from", errno }),
            }
        }
    }

    fn of(socket: OwnedFd) -> Result<Self, NetlinkError> {
        let failed = |errno| NetlinkError::Socket { action: "know the address of", errno };
        let address = getsockname(&socket).map_err(failed)?;
        let address = SocketAddrNetlink::try_from(address).map_err(failed)?;
        Ok(Self { socket, sequence: 0, received: vec![0; RECEIVE_BYTES], port: address.pid() })
    }

    /// Returns the socket's number, as the kernel names the owner of a table.
    pub(crate) const fn port(&self) -> u32 {
        self.port
    }

    /// Returns the socket itself, for whoever is to keep it open.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Begins a transaction.
    pub(crate) fn begin(&self, batch: &mut Batch) {
        batch.begin(self.sequence.wrapping_add(1));
    }

    /// Lets the kernel do all that is in the batch, or nothing. An empty batch is done already.
    pub(crate) fn transact(&mut self, batch: &mut Batch) -> Result<(), NetlinkError> {
        if batch.is_empty() {
            return Ok(());
        }
        let (begin, last) = (batch.base(), batch.last_sequence());
        self.sequence = last.wrapping_add(1);
        self.send(batch.finish())?;
        let mut refusal = None;
        loop {
            let bytes = self.receive()?;
            for (header, payload) in messages(&self.received[..bytes]) {
                let number = header.sequence.wrapping_sub(begin);
                if header.kind != ERROR || number > last.wrapping_sub(begin) {
                    continue;
                }
                if let Some(errno) = error_of(payload) {
                    refusal.get_or_insert(NetlinkError::Refused { errno, message: number });
                }
                // An error of the batch as such stands alone; all others come with the answer to the last message.
                if header.sequence == last || number == 0 {
                    return refusal.map_or(Ok(()), Err);
                }
            }
        }
    }

    /// Asks for one thing, and calls `read` with its attributes.
    pub(crate) fn ask<T>(
        &mut self,
        kind: u8,
        write: impl FnOnce(&mut Attributes<'_>),
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, NetlinkError> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut request = Vec::new();
        frame(&mut request, nftables(kind), REQUEST, self.sequence, None, write);
        self.send(&request)?;
        loop {
            let bytes = self.receive()?;
            for (header, payload) in messages(&self.received[..bytes]) {
                if header.sequence != self.sequence {
                    continue;
                }
                if header.kind == ERROR {
                    let errno = error_of(payload).unwrap_or(Errno::PROTO);
                    return Err(NetlinkError::Refused { errno, message: 0 });
                }
                return Ok(read(payload.get(FAMILY_HEADER_BYTES..).unwrap_or_default()));
            }
        }
    }

    /// Returns the number that rises with every change of any table in the namespace, whoever makes it.
    pub(crate) fn generation(&mut self) -> Result<u32, NetlinkError> {
        let number = |answer: &[u8]| {
            attribute(answer, generation::ID).and_then(|octets| octets.first_chunk().copied())
        };
        let asked = self.ask(message::GET_GENERATION, |_| {}, number)?;
        asked.map(u32::from_be_bytes).ok_or(NetlinkError::Refused { errno: Errno::PROTO, message: 0 })
    }

    /// Asks for everything of a kind, and calls `each` with the attributes of every message.
    ///
    /// What is told may be told twice, when the kernel's tables changed meanwhile.
    pub(crate) fn dump(
        &mut self,
        kind: u8,
        write: impl Fn(&mut Attributes<'_>),
        mut each: impl FnMut(&[u8]),
    ) -> Result<(), NetlinkError> {
        for _ in 0..DUMP_ATTEMPTS {
            if self.dump_once(kind, &write, &mut each)? == Dump::Complete {
                return Ok(());
            }
        }
        Err(NetlinkError::KeepsChanging)
    }

    /// Asks for a dump once: what is told may be wrong when the answer is [`Dump::Interrupted`].
    pub(crate) fn dump_once(
        &mut self,
        kind: u8,
        write: impl FnOnce(&mut Attributes<'_>),
        mut each: impl FnMut(&[u8]),
    ) -> Result<Dump, NetlinkError> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut request = Vec::new();
        frame(&mut request, nftables(kind), REQUEST | DUMP, self.sequence, None, write);
        self.send(&request)?;
        let mut outcome = Dump::Complete;
        loop {
            let bytes = self.receive()?;
            for (header, payload) in messages(&self.received[..bytes]) {
                if header.sequence != self.sequence {
                    continue;
                }
                if header.flags & INTERRUPTED != 0 {
                    outcome = Dump::Interrupted;
                }
                match header.kind {
                    DONE => return Ok(outcome),
                    ERROR => {
                        let errno = error_of(payload).unwrap_or(Errno::PROTO);
                        return Err(NetlinkError::Refused { errno, message: 0 });
                    }
                    _ => each(payload.get(FAMILY_HEADER_BYTES..).unwrap_or_default()),
                }
            }
        }
    }

    fn send(&self, octets: &[u8]) -> Result<(), NetlinkError> {
        let kernel = SocketAddrNetlink::new(0, 0);
        match sendto(&self.socket, octets, SendFlags::empty(), &kernel) {
            Ok(_) => Ok(()),
            Err(errno) => Err(NetlinkError::Socket { action: "send to", errno }),
        }
    }

    fn receive(&mut self) -> Result<usize, NetlinkError> {
        loop {
            match recv(&self.socket, self.received.as_mut_slice(), RecvFlags::empty()) {
                Ok((bytes, _)) => return Ok(bytes),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(NetlinkError::Socket { action: "receive from", errno }),
            }
        }
    }
}

/// Enlarges the buffers of the socket: a large transaction is one datagram, and each refused message in it is
/// answered.
fn enlarge_buffers(socket: &OwnedFd) -> Result<(), Errno> {
    if sockopt::set_socket_send_buffer_size_force(socket, SEND_BUFFER_BYTES).is_err() {
        sockopt::set_socket_send_buffer_size(socket, SEND_BUFFER_BYTES)?;
    }
    if sockopt::set_socket_recv_buffer_size_force(socket, RECEIVE_BUFFER_BYTES).is_err() {
        sockopt::set_socket_recv_buffer_size(socket, RECEIVE_BUFFER_BYTES)?;
    }
    Ok(())
}

/// The reason why the kernel did not do what it was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NetlinkError {
    /// The socket does not work.
    #[error("cannot {action} the netlink socket: {errno}")]
    Socket {
        /// The name of what was tried.
        action: &'static str,
        /// The error of the kernel. `EPERM`: CAP_NET_ADMIN is missing.
        errno: Errno,
    },
    /// The kernel refused a transaction, of which nothing has been done, or a dump.
    #[error("the kernel refused message {message} of a transaction: {errno}")]
    Refused {
        /// The error of the kernel. `EPERM`: CAP_NET_ADMIN is missing.
        errno: Errno,
        /// The number of the message, from 1; 0 is the transaction as a whole.
        message: u32,
    },
    /// Each time the tables were read they changed meanwhile.
    #[error("the kernel's tables change faster than they can be read")]
    KeepsChanging,
}

impl NetlinkError {
    /// Returns what the kernel said.
    #[must_use]
    pub const fn errno(&self) -> Option<Errno> {
        match self {
            Self::Socket { errno, .. } | Self::Refused { errno, .. } => Some(*errno),
            Self::KeepsChanging => None,
        }
    }
}

/// How a dump went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dump {
    Complete,
    /// The kernel's tables changed meanwhile.
    Interrupted,
}

#[derive(Clone, Copy, Debug)]
struct Header {
    kind: u16,
    flags: u16,
    sequence: u32,
}

/// Returns the messages of a datagram with their payload, up to the first that is broken.
fn messages(mut octets: &[u8]) -> impl Iterator<Item = (Header, &[u8])> {
    core::iter::from_fn(move || {
        let (head, _) = octets.split_first_chunk::<HEADER_BYTES>()?;
        let [l0, l1, l2, l3, k0, k1, f0, f1, s0, s1, s2, s3, ..] = *head;
        let length = usize::try_from(u32::from_ne_bytes([l0, l1, l2, l3])).ok()?;
        let payload = octets.get(HEADER_BYTES..length)?;
        octets = octets.get(length.next_multiple_of(4)..).unwrap_or_default();
        let kind = u16::from_ne_bytes([k0, k1]);
        let flags = u16::from_ne_bytes([f0, f1]);
        Some((Header { kind, flags, sequence: u32::from_ne_bytes([s0, s1, s2, s3]) }, payload))
    })
}

/// Returns the error an answer carries; `None` for an acknowledgement.
fn error_of(payload: &[u8]) -> Option<Errno> {
    let code = payload.first_chunk().map_or(-Errno::PROTO.raw_os_error(), |code| i32::from_ne_bytes(*code));
    (code != 0).then(|| Errno::from_raw_os_error(code.saturating_neg()))
}

const HEADER_BYTES: usize = 16;
const FAMILY_HEADER_BYTES: usize = 4;
const RECEIVE_BYTES: usize = 1 << 16;
/// A bound, not memory: a million elements of one set change in one transaction.
const SEND_BUFFER_BYTES: usize = 128 << 20;
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;
pub(crate) const DUMP_ATTEMPTS: u32 = 8;
/// The kernel answers at once; this only keeps a fault from being silent.
const PATIENCE: Duration = Duration::from_secs(10);
