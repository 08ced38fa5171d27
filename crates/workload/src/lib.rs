//! The traffic of every measurement, without IO: send times, messages, and the repetitions of requests over
//! UDP. Client and server on top of it are in the crate `lab`, the same two in every world.
//!
//! * [`ArrivalProcess`] draws send times from the [`Arrivals`]; they do not wait for responses (open loop), and a response
//!   time runs from the **intended** send time ([`Sample`]), so that a stalled transport cannot hide the requests that it
//!   made wait (coordinated omission).
//! * [`Message`] is what is sent: its number, its send time, and zeros up to its size.
//! * [`FrameSizes`] draws how long the frames of a video are.
//! * [`StreamFramer`] finds the messages in a byte stream (TCP).
//! * [`Spread`] is how times are distributed, of messages and of packets: what a quantile is, everybody says alike.
//! * [`UdpRequester`] repeats requests over an unreliable transport as a SIP client transaction does.
//!
//! Not here: sockets, the wall clock, what is concluded from times (crate `lab`). A *lane* is what a transport keeps in order: a
//! stream of an SCTP association or one of several TCP connections.
//!
//! ```
//! use core::time::Duration;
//! use workload::{ArrivalProcess, Arrivals, Message, MessageNumber, MessageSize, SendTime, StreamFramer};
//!
//! // Ten messages, 10 ms apart, as octets of a stream and out of it again.
//! let mut arrivals = ArrivalProcess::new(Arrivals::Constant, Duration::from_millis(10), 1)?;
//! let mut framer = StreamFramer::new(MessageSize::MAX);
//! for number in 0..10 {
//!     let due = arrivals.next_offset().unwrap_or_default();
//!     let sent = SendTime(u64::try_from(due.as_nanos())?);
//!     framer.push(&Message { number: MessageNumber(number), sent, size: MessageSize::default() }.encode());
//! }
//! let first = framer.next_message()?.unwrap_or_default();
//! assert_eq!(Message::decode(&first)?.number, MessageNumber(0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod arrivals;
mod framer;
mod frames;
mod message;
mod requester;
mod sample;
mod spans;
mod spread;
mod units;

pub use arrivals::{ArrivalProcess, ArrivalSpec, Arrivals, ArrivalsError, TraceError, parse_trace};
pub use framer::{FramingError, StreamFramer};
pub use frames::FrameSizes;
pub use message::{HEADER_BYTES, Message, MessageError, MessageNumber, MessageSize, SendTime};
pub use requester::{
    Datagram, FirstTimeout, RequesterCounters, ResponseNovelty, RetransmissionConfig, Transmission,
    UdpRequester,
};
pub use sample::{LATE_SEND_BOUND, Lane, Sample};
pub use spans::ExponentialSpans;
pub use spread::Spread;
pub use units::{DurationError, parse_duration};
