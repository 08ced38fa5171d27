//! The socket of the common driver: runs of packets out and in, by offload, without copies of its own.

use std::io::{IoSlice, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use bytes::Bytes;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use quinn_udp::{RecvMeta, UdpSocketState};

use crate::task::Task;

/// A UDP socket and the packets on their way to it.
pub struct Link {
    socket: UdpSocket,
    offload: UdpSocketState,
    buffers: Vec<u8>,
    /// Packets of one size but perhaps the last, for [`peer`](Self::peer).
    run: Vec<Bytes>,
    run_bytes: usize,
    /// Where packets go: to whom the last one came from.
    pub peer: SocketAddr,
    /// Packets have left since this was last asked.
    has_sent: bool,
}

impl Link {
    /// Binds the receiver's address, or any for the sender.
    ///
    /// # Panics
    /// If the system refuses.
    #[must_use]
    pub fn bind(task: &Task) -> Self {
        let any = SocketAddr::new(task.address.ip(), 0);
        let socket = UdpSocket::bind(if task.end.opens() { any } else { task.address }).expect("it is free");
        socket.set_nonblocking(true).expect("sockets can be made non-blocking");
        let offload = UdpSocketState::new((&socket).into()).expect("a UDP socket");
        setsockopt(&socket, sockopt::RcvBufForce, &BUFFER_BYTES).expect("the process may");
        setsockopt(&socket, sockopt::SndBufForce, &BUFFER_BYTES).expect("the process may");
        Self {
            socket,
            offload,
            buffers: vec![0; MESSAGES * MESSAGE_BYTES],
            run: Vec::new(),
            run_bytes: 0,
            peer: task.address,
            has_sent: false,
        }
    }

    /// Hands over the packets that wait, as many as one call brings; whether there were any.
    ///
    /// # Panics
    /// If the socket is of no more use.
    pub fn receive(&mut self, mut take: impl FnMut(SocketAddr, &[u8])) -> bool {
        let mut slots: Vec<_> = self.buffers.chunks_mut(MESSAGE_BYTES).map(IoSliceMut::new).collect();
        let mut metas = [RecvMeta::default(); MESSAGES];
        let count = match self.offload.recv((&self.socket).into(), &mut slots, &mut metas) {
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return false,
            Err(error) => panic!("{error}"),
        };
        for (slot, meta) in slots.iter().zip(&metas).take(count) {
            self.peer = meta.addr;
            slot[..meta.len].chunks(meta.stride).for_each(|packet| take(meta.addr, packet));
        }
        true
    }

    /// Puts a packet into the run, which leaves when it is full or of another size.
    pub fn push(&mut self, packet: Bytes) {
        let first = self.run.first().map_or(packet.len(), Bytes::len);
        let last = self.run.last().map_or(packet.len(), Bytes::len);
        let is_full = self.run.len() == RUN_PACKETS || self.run_bytes + packet.len() > RUN_BYTES;
        if is_full || packet.len() > first || last < first {
            self.flush();
        }
        self.run_bytes += packet.len();
        self.run.push(packet);
    }

    /// What is in the run leaves.
    pub fn flush(&mut self) {
        let Some(first) = self.run.first().map(Bytes::len) else { return };
        let slices: Vec<_> = self.run.iter().map(|packet| IoSlice::new(packet)).collect();
        send_run(&self.socket, self.peer, &slices, (self.run.len() > 1).then_some(first));
        self.run.clear();
        self.run_bytes = 0;
        self.has_sent = true;
    }

    /// Sends a run that lies in one piece.
    pub fn send(&mut self, run: &[u8], packet_bytes: usize) {
        let segment = (run.len() > packet_bytes).then_some(packet_bytes);
        send_run(&self.socket, self.peer, &[IoSlice::new(run)], segment);
        self.has_sent = true;
    }

    /// Whether packets have left since the last call.
    pub fn has_sent(&mut self) -> bool {
        std::mem::take(&mut self.has_sent)
    }

    /// Waits for a packet, so long at most.
    ///
    /// # Panics
    /// If the system has no memory for it.
    pub fn wait(&self, at_most: Option<Duration>) {
        let mut descriptors = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut descriptors, at_most.map(TimeSpec::from), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// What a full buffer has no room for is lost, as on the way.
fn send_run(socket: &UdpSocket, peer: SocketAddr, slices: &[IoSlice<'_>], segment: Option<usize>) {
    let segment = segment.map(|octets| u16::try_from(octets).expect("packets are short"));
    let control = segment.as_ref().map(ControlMessage::UdpGsoSegments);
    let flags = MsgFlags::MSG_NOSIGNAL;
    let peer = SockaddrStorage::from(peer);
    match sendmsg(socket.as_raw_fd(), slices, control.as_slice(), flags, Some(&peer)) {
        Ok(_) | Err(Errno::EAGAIN | Errno::ECONNREFUSED) => {}
        Err(error) => panic!("{error}"),
    }
}

const BUFFER_BYTES: usize = 4 << 20;
const MESSAGES: usize = 16;
const MESSAGE_BYTES: usize = 1 << 16;
const RUN_PACKETS: usize = 45;
const RUN_BYTES: usize = 65_000;
