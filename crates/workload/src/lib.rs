//! The traffic of every measurement: a load generator, an echo server and what both need, without IO.
//!
//! The same two cores are driven by real sockets (`headway compare`, `load`, `echo`) and by the simulator, so
//! that a difference between two runs is a difference between two transports and never between two generators.
//!
//! ```text
//!  ArrivalProcess ─► LoadGenerator ── Request{lane, message} ─► transport ─► EchoServer
//!                         ▲                                                      │ holds for the
//!                         └── handle_response(now, lane, message) ◄── transport ◄┘ processing time
//! ```
//!
//! * [`LoadGenerator`] is *open loop*: the send times are drawn from the [`Arrivals`] and do not wait for
//!   responses. A response time runs from the **intended** send time, so a stalled transport cannot hide the
//!   requests that it made wait (coordinated omission).
//! * [`EchoServer`] returns every whole message on the lane that it came on.
//! * [`StreamFramer`] finds the messages in a byte stream (TCP).
//! * [`UdpRequester`] repeats requests over an unreliable transport as a SIP client transaction does.
//!
//! Not here: sockets, the wall clock, statistics (crate `lab`). A *lane* is what a transport keeps in order: a
//! stream of an SCTP association or one of several TCP connections.
//!
//! # The contract of the cores
//!
//! *Mutate → drain `poll_transmit` → drain `poll_event` → read `poll_timeout` → wait.* Time never goes back;
//! extra calls are harmless.
//!
//! ```
//! use core::time::Duration;
//! use virtual_time::Instant;
//! use workload::{Arrivals, EchoConfig, EchoServer, LoadConfig, LoadGenerator};
//!
//! // Ten requests, 10 ms apart, over a perfect transport that needs 20 ms for the round trip.
//! let config = LoadConfig {
//!     arrivals: Arrivals::Constant,
//!     duration: Duration::from_millis(100),
//!     ..LoadConfig::default()
//! };
//! let mut generator = LoadGenerator::new(config, Instant::EPOCH)?;
//! let mut server = EchoServer::new(EchoConfig::default());
//! while let Some(now) = generator.poll_timeout() {
//!     generator.handle_timeout(now);
//!     while let Some(request) = generator.poll_transmit(now) {
//!         server.handle_message(now, request.lane, request.message)?;
//!     }
//!     while let Some(reply) = server.poll_transmit(now) {
//!         let answered = now + Duration::from_millis(20);
//!         generator.handle_response(answered, reply.lane, &reply.message, None)?;
//!     }
//! }
//! assert_eq!(generator.counters().responses, 10);
//! assert_eq!(generator.samples()[3].response, Some(Duration::from_millis(20)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod arrivals;
mod echo;
mod framer;
mod generator;
mod message;
mod replies;
mod requester;
mod spans;
mod units;

pub use arrivals::{ArrivalProcess, ArrivalSpec, Arrivals, ArrivalsError, TraceError, parse_trace};
pub use echo::{EchoConfig, EchoCounters, EchoServer};
pub use framer::{FramingError, StreamFramer};
pub use generator::{
    ConfigError, Event, LATE_SEND_BOUND, Lane, LoadConfig, LoadCounters, LoadGenerator, Request, Sample,
    WorkloadError,
};
pub use message::{HEADER_BYTES, Message, MessageError, MessageNumber, MessageSize, SendTime};
pub use replies::{Replies, Reply};
pub use requester::{
    Datagram, RequesterCounters, RequesterEvent, ResponseNovelty, RetransmissionConfig, Transmission,
    UdpRequester,
};
pub use spans::ExponentialSpans;
pub use units::{DurationError, parse_duration};
