//! Parts that the daemons of this project have in common: the page that Prometheus reads, the messages to systemd, and the
//! reasons why a configuration is refused, and who a daemon is over TLS.
//!
//! ```text
//!  counters of a daemon ─► Page ◄─ Scraping ◄─ GET /metrics
//!  READY=1, STATUS=… ────► tell_systemd
//! ```
//!
//! What is not here: what a daemon counts, what its configuration says, and its log.
#![forbid(unsafe_code)]

pub mod config;
mod metrics;
mod notify;
mod tls;

pub use metrics::{Page, Scraping};
pub use notify::{keep, kept, tell_systemd};
pub use tls::TlsIdentity;
