//! Parts that the daemons of this project have in common: the page that Prometheus reads, and the messages to systemd.
//!
//! ```text
//!  counters of a daemon ─► Page ◄─ Scraping ◄─ GET /metrics
//!  READY=1, STATUS=… ────► tell_systemd
//! ```
//!
//! What is not here: what a daemon counts, its configuration and its log.
#![forbid(unsafe_code)]

mod metrics;
mod notify;

pub use metrics::{Page, Scraping};
pub use notify::{keep, kept, tell_systemd};
