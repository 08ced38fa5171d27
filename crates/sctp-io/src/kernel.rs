//! The parts that all sockets of this crate share: counters, buffer sizes, reports of the network.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(target_os = "linux")]
use quinn_udp::{TransportError, TransportErrorPayload};
#[cfg(target_os = "linux")]
use rustix::io::Errno;
#[cfg(target_os = "linux")]
use socket2::Socket;

use crate::batch::ReceiveBatch;
use crate::packet_io::{IoStatistics, Outgoing, PacketIo};
#[cfg(target_os = "linux")]
use crate::packet_io::{NetworkError, NetworkErrorKind};

/// [`IoStatistics`], countable from several threads.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) packets_sent: AtomicU64,
    pub(crate) send_calls: AtomicU64,
    packets_received: AtomicU64,
    pub(crate) packets_foreign: AtomicU64,
    receive_calls: AtomicU64,
    receive_empty: AtomicU64,
    pub(crate) send_blocked: AtomicU64,
    pub(crate) send_too_big: AtomicU64,
    pub(crate) send_refused: AtomicU64,
    reported_unreachable: AtomicU64,
    reported_too_big: AtomicU64,
    reported_other: AtomicU64,
}

impl Counters {
    pub(crate) fn snapshot(&self) -> IoStatistics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        IoStatistics {
            packets_sent: read(&self.packets_sent),
            send_calls: read(&self.send_calls),
            packets_received: read(&self.packets_received),
            packets_foreign: read(&self.packets_foreign),
            receive_calls: read(&self.receive_calls),
            receive_empty: read(&self.receive_empty),
            send_blocked: read(&self.send_blocked),
            send_too_big: read(&self.send_too_big),
            send_refused: read(&self.send_refused),
            reported_unreachable: read(&self.reported_unreachable),
            reported_too_big: read(&self.reported_too_big),
            reported_other: read(&self.reported_other),
        }
    }

    /// Counts a call that took `batch` from the socket, or found nothing there.
    pub(crate) fn received(&self, batch: &ReceiveBatch, outcome: io::Result<()>) -> io::Result<()> {
        match &outcome {
            Ok(()) => {
                count(&self.receive_calls);
                add(&self.packets_received, batch.packets());
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => count(&self.receive_empty),
            Err(_) => {}
        }
        outcome
    }

    /// Counts a report that came as the error of another call.
    #[cfg(target_os = "linux")]
    pub(crate) fn unreachable(&self) {
        count(&self.reported_unreachable);
    }

    /// Counts what the error queue held.
    #[cfg(target_os = "linux")]
    pub(crate) fn report(&self, report: &TransportError) -> NetworkError {
        let kind = match report.payload {
            TransportErrorPayload::Unreachable => {
                count(&self.reported_unreachable);
                NetworkErrorKind::Unreachable
            }
            TransportErrorPayload::TooBig { mtu } => {
                count(&self.reported_too_big);
                NetworkErrorKind::TooBig { mtu_bytes: mtu }
            }
            // The enum is marked as growing, so what is not known yet counts as other too.
            TransportErrorPayload::Other | _ => {
                count(&self.reported_other);
                NetworkErrorKind::Other(report.raw_errno)
            }
        };
        NetworkError { reporter: report.addr.map(|address| address.ip().to_canonical()), kind }
    }
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn add(counter: &AtomicU64, packets: usize) {
    counter.fetch_add(u64::try_from(packets).unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// Repeats `send_some`, which says how many octets the kernel took, until nothing is left or it fails for good.
pub(crate) fn send_all(
    packets: &mut Outgoing<'_>,
    counters: &Counters,
    mut send_some: impl FnMut(&Outgoing<'_>) -> io::Result<usize>,
) -> io::Result<()> {
    let mut is_retry = false;
    while !packets.contents.is_empty() {
        match send_some(packets) {
            Ok(len) => packets.contents = &packets.contents[len..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                count(&counters.send_blocked);
                return Err(error);
            }
            // The error may be an ICMP report about an earlier packet, perhaps of another destination,
            // or quinn-udp may just have learned that the device cannot segment: the second try tells.
            Err(_) if !is_retry => is_retry = true,
            Err(error) if quinn_udp::is_msg_size_err(&error) => {
                count(&counters.send_too_big);
                return Err(error);
            }
            Err(error) => {
                count(&counters.send_refused);
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Repeats `receive` until it succeeds, would block, or fails for good: a pending ICMP report makes a call fail
/// once, without one the socket is broken.
pub(crate) fn past_reports<T>(
    socket: &impl PacketIo,
    mut receive: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    loop {
        match receive() {
            Ok(received) => return Ok(received),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
            Err(error) => match socket.receive_error()? {
                Some(_) => {}
                None if is_report(&error) => {}
                None => return Err(error),
            },
        }
    }
}

/// Returns whether `error` is one an ICMP report leaves on a socket, according to the kernel's tables
/// (`icmp_err_convert`, `icmpv6_err_convert`).
#[cfg(target_os = "linux")]
fn is_report(error: &io::Error) -> bool {
    const REPORTS: [Errno; 10] = [
        Errno::CONNREFUSED,
        Errno::HOSTUNREACH,
        Errno::NETUNREACH,
        Errno::MSGSIZE,
        Errno::NOPROTOOPT,
        Errno::OPNOTSUPP,
        Errno::HOSTDOWN,
        Errno::NONET,
        Errno::PROTO,
        Errno::ACCESS,
    ];
    error.raw_os_error().is_some_and(|number| REPORTS.iter().any(|report| report.raw_os_error() == number))
}

/// Returns whether `error` is one that a report of the network leaves on a socket.
#[cfg(not(target_os = "linux"))]
fn is_report(error: &io::Error) -> bool {
    use io::ErrorKind;
    let reports = [
        ErrorKind::ConnectionRefused,
        ErrorKind::ConnectionReset,
        ErrorKind::HostUnreachable,
        ErrorKind::NetworkUnreachable,
        ErrorKind::NetworkDown,
    ];
    reports.contains(&error.kind())
}

/// Asks for [`BUFFER_BYTES`] each way: beyond the system's limit where the process may (CAP_NET_ADMIN), up to
/// it otherwise.
#[cfg(target_os = "linux")]
pub(crate) fn enlarge_buffers(socket: &Socket) -> io::Result<()> {
    use rustix::net::sockopt::{set_socket_recv_buffer_size_force, set_socket_send_buffer_size_force};
    if set_socket_send_buffer_size_force(socket, BUFFER_BYTES).is_err() {
        socket.set_send_buffer_size(BUFFER_BYTES)?;
    }
    if set_socket_recv_buffer_size_force(socket, BUFFER_BYTES).is_err() {
        socket.set_recv_buffer_size(BUFFER_BYTES)?;
    }
    Ok(())
}

/// Buffer asked for in each direction: 40 ms of a 1 Gbit/s link, and a burst of thousands of small requests.
pub(crate) const BUFFER_BYTES: usize = 4 << 20;
