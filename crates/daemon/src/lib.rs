//! Parts that the daemons of this project have in common: the page that Prometheus reads, the messages to systemd, the beginning
//! and the end of the process, the reasons why a configuration is refused, who a daemon is over TLS, and the keys that sign
//! updates of names.
//!
//! ```text
//!  counters of a daemon ─► Page ◄─ Scraping ◄─ GET /metrics
//!  READY=1, STATUS=… ────► tell_systemd
//!  SIGHUP, SIGTERM ──────► controls ─► Control
//! ```
//!
//! What is not here: what a daemon counts, and what its configuration says.
#![forbid(unsafe_code)]

pub mod config;
mod metrics;
mod notify;
mod process;
mod signals;
mod tls;
#[cfg(feature = "names")]
pub mod tsig;

pub use metrics::{Page, Scraping};
pub use notify::{keep, kept, tell_systemd};
pub use process::{ready, run};
pub use signals::{Control, controls};
pub use tls::TlsIdentity;
