//! Models of the response time of a signalling transaction, as theory predicts it.
//!
//! A transaction sends a small request, the other end answers, and the clock stops when the answer is
//! delivered. On a path that loses packets the transport decides how long that takes: how soon it notices a
//! loss, and which messages have to wait behind the missing one (head-of-line blocking).
//!
//! ```text
//!   request ──► W₁: own recovery, or waiting behind a loss of the same stream ──► answered
//!   answer  ◄── W₂: the same on the way back ◄────────────────────────────────────┘
//!   response time = RTT + W₁ + W₂ + processing
//! ```
//!
//! * [`studies`]: the formulas of the published studies S1 and S4, each citing its equation.
//! * [`resequencing`]: our own model of the same quantity. It gives the whole distribution instead of the
//!   mean only, and knows how each transport finds a loss.
//! * [`redundancy`]: what losses cost where each message carries the last ones once more.
//! * [`startup`]: S5, the delay of messages during slow start on a new path.
//! * [`throughput`]: how fast a sender without pause is: PFTK, RFC 5348, CUBIC.
//! * [`surface`]: interpolation, for who wants a model at more points than it can be worked out for.
//!
//! Everything here is a pure function of its arguments: no input or output, no clock, no random numbers.
//! `docs/models.md` derives the formulas and says where each is good and where it is not.
//!
//! ```
//! use core::time::Duration;
//! use models::studies::{Conditions, Flow, s4};
//! use models::{Probability, Rate};
//!
//! let conditions = Conditions {
//!     rtt: Duration::from_millis(20),
//!     loss: Probability::new(0.01)?,
//!     rate: Rate::per_second(100.0)?,
//!     rto: Duration::from_secs(1),
//!     processing: Duration::from_micros(500),
//! };
//! let one_stream = s4::response_time(&conditions, Flow::ONE_STREAM)?;
//! assert_eq!(one_stream.response_time.as_micros(), 23_573);
//! # Ok::<(), models::ModelError>(())
//! ```
#![forbid(unsafe_code)]

mod error;
mod numeric;
mod quantity;
pub mod redundancy;
pub mod resequencing;
pub mod startup;
pub mod studies;
pub mod surface;
pub mod throughput;

pub use error::ModelError;
pub use quantity::{Probability, Rate};
