//! What a contender is asked to do.

use std::hint::black_box;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use sctp_core::{AssociationConfig, Delivery, Message, StandingQueue, StreamId};

use headway_benches::pair::{Framing, config};

/// Which end it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Counts what arrives.
    Receive,
    /// Sends as much as goes.
    Send,
    /// Sends back what arrives.
    Echo,
    /// Sends one message and waits for its echo, time after time.
    Ping,
}

impl End {
    /// Opens the association.
    #[must_use]
    pub fn opens(self) -> bool {
        matches!(self, Self::Send | Self::Ping)
    }
}

/// A run, as the command line has it.
#[derive(Clone, Debug)]
pub struct Task {
    /// Which end.
    pub end: End,
    /// Where the receiver is.
    pub address: SocketAddr,
    /// Length of every message.
    pub octets: usize,
    /// How long to count, or to send single messages.
    pub time: Duration,
    /// Streams the messages are dealt to in turn.
    pub streams: u16,
    /// In order or not.
    pub delivery: Delivery,
    /// DATA or I-DATA chunks, where there is a choice.
    pub framing: Framing,
    /// The longest SCTP packet.
    pub packet_bytes: usize,
    /// The messages that come back have company: as much of [`BULK_BYTES`] each as goes, on a stream of less priority.
    pub beside_bulk: bool,
    /// What a receiver of ours offers room for, in octets; `None`: as much as everywhere.
    pub window_bytes: Option<usize>,
    /// How long a queue our own stack may keep; `None`: without a bound.
    pub queue: Option<Duration>,
    /// Each message is made anew, and each that arrives is read, as programs do.
    pub is_fresh: bool,
}

impl Task {
    /// Of `END ADDRESS OCTETS MILLISECONDS [OPTION]...`.
    ///
    /// # Panics
    /// If that is not what the arguments are.
    #[must_use]
    pub fn parse(arguments: &[String]) -> Self {
        let [end, address, octets, milliseconds, options @ ..] = arguments else { panic!("{arguments:?}") };
        let end = match end.as_str() {
            "receive" => End::Receive,
            "send" => End::Send,
            "echo" => End::Echo,
            "ping" => End::Ping,
            other => panic!("{other} is no end"),
        };
        let number = |text: &str| text.parse::<u16>().unwrap_or_else(|_| panic!("{text} is no number"));
        let mut task = Self {
            end,
            address: address.parse().expect("an address with a port"),
            octets: octets.parse().expect("a length"),
            time: Duration::from_millis(milliseconds.parse().expect("a time")),
            streams: 1,
            delivery: Delivery::Ordered,
            framing: Framing::Data,
            packet_bytes: 1400,
            beside_bulk: false,
            window_bytes: None,
            queue: None,
            is_fresh: false,
        };
        for option in options {
            match option.split_once('=').unwrap_or((option, "")) {
                ("streams", count) => task.streams = number(count),
                ("packet", count) => task.packet_bytes = number(count).into(),
                ("window-kib", count) => task.window_bytes = Some(usize::from(number(count)) << 10),
                ("queue-us", time) => task.queue = Some(Duration::from_micros(number(time).into())),
                ("beside-bulk", _) => task.beside_bulk = true,
                ("fresh", _) => task.is_fresh = true,
                ("unordered", _) => task.delivery = Delivery::Unordered,
                ("i-data", _) => task.framing = Framing::IData,
                other => panic!("{other:?} is no option"),
            }
        }
        task
    }

    /// Settings of our own stack for it.
    #[must_use]
    pub fn config(&self) -> AssociationConfig {
        let mut config = config(self.framing, self.streams.max(16));
        let headers = if self.address.is_ipv6() { 48 } else { 28 };
        config.path_mtu.bytes = self.packet_bytes + headers;
        if let Some(allowed) = self.queue {
            config.congestion.standing_queue = StandingQueue::Within(allowed);
        }
        if let Some(bytes) = self.window_bytes {
            config.buffers.receive_bytes = bytes;
            config.buffers.message_bytes = config.buffers.message_bytes.min(bytes);
        }
        config
    }

    /// What is sent.
    #[must_use]
    pub fn payload(&self) -> Bytes {
        vec![0xa5; self.octets].into()
    }

    /// Messages for our own stack, dealt to the streams in turn.
    pub fn messages(&self) -> impl Iterator<Item = Message> + use<> {
        let (payload, streams, delivery) = (self.payload(), self.streams, self.delivery);
        let (octets, is_fresh, mut last) = (self.octets, self.is_fresh, 0_u8);
        (0..streams).cycle().map(move |stream| {
            // Never zero: memory full of zeros need not be written.
            last = last % u8::MAX + 1;
            let payload = if is_fresh { vec![last; octets].into() } else { payload.clone() };
            Message::new(StreamId::new(stream), delivery, payload)
        })
    }

    /// Returns the length of a message that arrived, after reading it if that is asked.
    #[must_use]
    pub fn read(&self, payload: &[u8]) -> usize {
        if self.is_fresh {
            black_box(payload.iter().fold(0_u64, |sum, octet| sum.wrapping_add(u64::from(*octet))));
        }
        payload.len()
    }
}

/// Of every stack that has ports of its own.
pub const SCTP_PORT: u16 = 5000;
/// Length of the messages that are company.
pub const BULK_BYTES: usize = 1200;
/// Messages handed over between two looks at anything else.
pub const AT_ONCE: usize = 256;
