//! dcsctp, by the authors of WebRTC's stack. As published it prints every packet into a string before it asks whether
//! anybody wants it; `dcsctp-quiet` is this program with that mended (`peers/dcsctp-quiet`).

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use dcsctp::api::{DcSctpSocket, Message, Options, PpId, SendOptions, SocketEvent, SocketTime, StreamId};
use sctp_core::Delivery;

use super::Turns;
use crate::driver::Stack;
use crate::link::Link;
use crate::task::{End, Task};

/// A socket, which is an association.
pub struct Dcsctp {
    socket: Box<dyn DcSctpSocket>,
    is_up: bool,
    octets: usize,
    /// Messages handed over at once.
    count: usize,
    how: SendOptions,
    turns: Turns,
    epoch: Instant,
}

impl Dcsctp {
    /// Opens the association if the task says so.
    #[must_use]
    pub fn new(task: &Task) -> Self {
        let options = Options {
            mtu: task.packet_bytes,
            max_receiver_window_buffer_size: 4 << 20,
            max_message_size: 1 << 20,
            ..Options::default()
        };
        let mut socket = dcsctp::new_socket("", &options);
        if task.end.opens() {
            socket.connect();
        }
        let how = SendOptions { unordered: task.delivery == Delivery::Unordered, ..SendOptions::default() };
        let (octets, turns) = (task.octets, Turns::new(task.streams));
        let count = match task.end {
            End::Ping | End::Echo => 1,
            End::Receive | End::Send => (PACKETS_BYTES / octets).clamp(1, 512),
        };
        Self { socket, is_up: false, octets, count, how, turns, epoch: Instant::now() }
    }

    fn at(&self, now: Instant) -> SocketTime {
        SocketTime::zero() + now.saturating_duration_since(self.epoch)
    }
}

impl Stack for Dcsctp {
    fn take(&mut self, now: Instant, _source: SocketAddr, packet: &[u8]) {
        self.socket.advance_time(self.at(now));
        self.socket.handle_input(packet);
    }

    fn is_up(&self) -> bool {
        self.is_up
    }

    /// Several at once: by themselves they would travel in packets of their own.
    fn send(&mut self, _now: Instant) -> bool {
        let stream = StreamId(self.turns.next_stream());
        let message = || Message::new(stream, PpId(0), vec![0xa5; self.octets]);
        let has_room =
            self.socket.buffered_amount(stream) + PACKETS_BYTES < BUFFER_BYTES / self.turns.streams();
        if has_room {
            let messages = (0..self.count).map(|_| message()).collect();
            self.socket.send_many(messages, &self.how).expect("there is room");
            self.turns.advance();
        }
        has_room
    }

    fn receive(&mut self, _now: Instant) -> Option<usize> {
        self.socket.get_next_message().map(|message| message.payload.len())
    }

    fn transmit(&mut self, now: Instant, link: &mut Link) {
        self.socket.advance_time(self.at(now));
        while let Some(event) = self.socket.poll_event() {
            match event {
                SocketEvent::SendPacket(packet) => link.push(packet.into()),
                SocketEvent::OnConnected() => self.is_up = true,
                SocketEvent::OnAborted(_, reason) => panic!("{reason}"),
                _ => {}
            }
        }
    }

    fn due(&self) -> Option<Instant> {
        let passed: Duration = self.socket.poll_timeout() - SocketTime::zero();
        (passed < Duration::MAX).then(|| self.epoch + passed)
    }

    fn on_time(&mut self, now: Instant) {
        self.socket.advance_time(self.at(now));
    }
}

/// What its send buffer holds by default.
const BUFFER_BYTES: usize = 1_800_000;
/// Of messages handed over at once.
const PACKETS_BYTES: usize = 64_000;
