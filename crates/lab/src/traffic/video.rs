//! A video: frames one way, of variable size. The receiver sends a receipt for each, which says when it had the frame, so that
//! nothing of the way back is in the delays. Both ends have one clock, as in virtual time and on one machine.
//!
//! ```text
//!   client                       server
//!     │ frame 0, due at 0 ms ───► │
//!     │ ◄───── had 0 at 104 ms ── │   delay 104 ms, in time
//!     │ frame 1, due at 33 ms ──► │
//!     │ ◄───── had 1 at 260 ms ── │   delay 227 ms: late
//! ```

use core::time::Duration;
use std::collections::BTreeMap;

use bytes::Bytes;
use virtual_time::Instant;
use workload::{ArrivalsError, FrameSizes, Message, MessageError, MessageNumber, MessageSize, SendTime};

use super::{Asked, Greeting, Kind, Measure, Reaction, Script, Service, Terms, Told, Usual, WorkloadFacts};
use crate::lanes::Carriage;
use crate::statistics::FrameCounts;

#[derive(Debug)]
pub(super) struct Video;

static FACTS: WorkloadFacts = WorkloadFacts {
    in_words: "frames",
    unit: "frames",
    is_one_exchange: false,
    // Frames as long as those of study S5, 30 a second; beyond 150 ms people begin to interrupt each other (ITU-T G.114).
    usual: Usual { octets: 6395, interval: Some(Duration::from_nanos(33_333_334)), is_regular: true },
    deadline: Some(Duration::from_millis(150)),
    ..WorkloadFacts::of_messages("video", "frames of a video, one way", Measure::Responses)
};

impl Kind for Video {
    fn facts(&self) -> &'static WorkloadFacts {
        &FACTS
    }

    fn longest(&self, mean: MessageSize) -> Result<MessageSize, MessageError> {
        FrameSizes::longest(mean)
    }

    fn check(&self, carriage: Carriage, _lanes: u16) -> Result<(), &'static str> {
        match carriage {
            Carriage::Messages | Carriage::Octets => Ok(()),
            Carriage::Datagrams => Err("frames are longer than datagrams"),
        }
    }

    fn script(&self, terms: &Terms, seed: u64) -> Result<Option<Box<dyn Script>>, ArrivalsError> {
        let deadline = terms.deadline.or(FACTS.deadline).unwrap_or_default();
        Ok(Some(Box::new(Camera {
            sizes: FrameSizes::new(terms.size, seed),
            lanes: terms.lanes,
            under_way: BTreeMap::new(),
            counts: FrameCounts { deadline, ..FrameCounts::default() },
        })))
    }

    fn service(&self, _terms: Option<Terms>) -> Box<dyn Service> {
        Box::new(Screen::default())
    }
}

/// The side that sends frames and is told when they were there.
#[derive(Debug)]
struct Camera {
    sizes: FrameSizes,
    lanes: u16,
    /// The frames without a receipt, and when they were due.
    under_way: BTreeMap<u64, Instant>,
    counts: FrameCounts,
}

impl Script for Camera {
    fn begin(&mut self, _now: Instant) -> Greeting {
        Greeting::Needless
    }

    fn ask(&mut self, number: u64, due: Instant) -> Option<Asked> {
        let size = self.sizes.next_size();
        let frame = Message { number: MessageNumber(number), sent: SendTime::from(due), size };
        self.under_way.insert(number, due);
        let stream = u16::try_from(number % u64::from(self.lanes.max(1))).unwrap_or(0);
        Some(Asked { stream, octets: frame.encode(), is_timed: true })
    }

    fn handle_response(
        &mut self,
        _now: Instant,
        _stream: u16,
        wire: &[u8],
        _blocked: Option<Duration>,
    ) -> Result<Vec<Told>, String> {
        let receipt = Message::decode(wire).map_err(|error| format!("no receipt: {error}"))?;
        let (number, at) = (receipt.number.0, Instant::from_nanos(receipt.sent.0));
        let Some(due) = self.under_way.remove(&number) else { return Ok(Vec::new()) };
        self.counts.late += u64::from(at.since(due) > self.counts.deadline);
        Ok(vec![Told::Received { number, due, at }])
    }

    fn frames(&self) -> Option<FrameCounts> {
        Some(self.counts)
    }
}

/// The receiver says when it had a frame: when the transport delivered it, the first time if a client that moved sent it again.
#[derive(Debug, Default)]
struct Screen {
    /// When the last frames were there, by number.
    had: BTreeMap<u64, Instant>,
}

impl Service for Screen {
    fn on_message(&mut self, now: Instant, _arrived: Instant, _stream: u16, wire: Bytes) -> Reaction {
        self.on_datagram(now, wire)
    }

    fn on_datagram(&mut self, now: Instant, wire: Bytes) -> Reaction {
        let Ok(frame) = Message::decode(&wire) else { return Reaction::Nothing };
        let had_at = *self.had.entry(frame.number.0).or_insert(now);
        if self.had.len() > REMEMBERED {
            self.had.pop_first();
        }
        Reaction::Answer(Message { sent: SendTime::from(had_at), size: MessageSize::MIN, ..frame }.encode())
    }
}

/// The frames of two minutes: what a client that moves sends again is younger.
const REMEMBERED: usize = 3600;

#[cfg(test)]
mod tests;
