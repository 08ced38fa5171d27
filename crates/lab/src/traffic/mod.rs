//! What a flow sends and who answers: messages one way, echoed requests, octets without pause, or the firewall control of
//! study S4. Transports carry octets between the two, in every world, and do not know which it is.
//!
//! ```text
//!  ClientPlan ─► Client ── message for a lane ─► transport ─► Server ◄─ ServerPlan
//!                  ▲                                            │
//!                  └────────── on_response ◄── transport ◄──────┘
//! ```

mod client;
mod server;
mod simco;
mod workload;

use ::workload::{MessageSize, StreamFramer};
use bytes::Bytes;

pub(crate) use self::client::Client;
pub use self::client::ClientPlan;
pub(crate) use self::server::Server;
pub use self::server::ServerPlan;
use self::simco::MessageFramer;
pub use self::simco::pinhole;
pub(crate) use self::simco::{CallPlan, Responder, Told, Transactions, framing};
pub use self::workload::Workload;

/// Cuts a byte stream into messages.
#[derive(Debug)]
pub(crate) enum Framer {
    Echo(StreamFramer),
    Simco(MessageFramer),
}

impl Framer {
    fn new(workload: Workload) -> Self {
        match workload {
            Workload::Simco => Self::Simco(MessageFramer::default()),
            Workload::Echo | Workload::Messages | Workload::Bulk => {
                Self::Echo(StreamFramer::new(MessageSize::MAX))
            }
        }
    }

    pub(crate) fn push(&mut self, octets: &[u8]) {
        match self {
            Self::Echo(framer) => framer.push(octets),
            Self::Simco(framer) => framer.push(octets),
        }
    }

    /// The next whole message; why there will be none any more.
    pub(crate) fn next_message(&mut self) -> Result<Option<Bytes>, String> {
        match self {
            Self::Echo(framer) => framer.next_message().map_err(|error| error.to_string()),
            Self::Simco(framer) => framer.next_message().map_err(|error| error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
