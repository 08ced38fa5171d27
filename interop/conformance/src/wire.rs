//! The needs of a script of whatever carries its packets.

use core::time::Duration;

use sctp_core::Event;

/// A packet that the stack sent, and to which of the script's addresses.
pub struct Arrival {
    /// The position of the address, 0 or 1.
    pub to: usize,
    /// The octets of the SCTP packet.
    pub octets: Vec<u8>,
    /// Whether IP may fragment the packet on its way.
    pub may_be_fragmented: bool,
}

/// An act of the user of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Opens an association with the first address of the script.
    Connect,
    /// Opens one with both addresses of the script.
    ConnectToBoth,
    /// Sends a message of so many octets, ordered, on a stream.
    Send {
        /// The stream of the message.
        stream: u16,
        /// The number of octets of payload.
        octets: usize,
    },
    /// Sends an unordered message of so many octets on a stream.
    SendUnordered {
        /// The stream of the message.
        stream: u16,
        /// The number of octets of payload.
        octets: usize,
    },
    /// Sends back every message from now on; before, messages are left unread.
    Echo,
    /// Reads one message that has come.
    Read,
    /// Ends the association gracefully.
    Shutdown,
    /// Ends it at once, with the reason "enough".
    Abort,
    /// Closes the endpoint, with whatever associations it has.
    Leave,
}

/// The difference from an association without HEARTBEATs and with the RFC's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settings {
    /// Nothing is different from that.
    Plain,
    /// HEARTBEATs are sent, every 30 s and RTO.
    Heartbeats,
    /// The receive buffer has 3000 octets.
    SmallBuffer,
    /// The send buffer has room for 65,536 messages.
    LargeBuffer,
    /// The receive buffer has 3000 octets, and the user gets long messages in pieces from 1000 octets on.
    Pieces,
    /// The stack has three addresses, of both families, and lists them.
    Listed,
}

/// Carries the packets of a script to a stack and back.
pub trait Wire {
    /// Hands a packet to the stack as if it came from the script's address at this position.
    ///
    /// # Errors
    /// The system refuses.
    fn send(&mut self, from: usize, packet: &[u8]) -> Result<(), WireError>;

    /// Returns the next packet of the stack, if it comes within this time. On a wire in real time it may come later.
    fn receive(&mut self, within: Duration) -> Option<Arrival>;

    /// Returns the next packet that comes within this time, where none is expected. In real time the wait is a short one.
    fn overhear(&mut self, during: Duration) -> Option<Arrival>;

    /// Makes the user of the stack do something.
    ///
    /// # Errors
    /// The process with the stack is gone.
    fn call(&mut self, call: Call) -> Result<(), WireError>;

    /// Takes out what the user of the stack has been told; nothing where a wire does not show it.
    fn events(&mut self) -> Vec<Event>;

    /// Returns the milliseconds since the script began.
    fn now_ms(&self) -> u64;
}

/// The reason why a wire does not work.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// A system call has failed.
    #[error("{what}: {source}")]
    System {
        /// The attempt that has failed.
        what: &'static str,
        /// The answer of the system.
        source: std::io::Error,
    },
    /// The configuration is refused.
    #[error("the stack refuses its configuration: {0}")]
    Config(#[from] sctp_core::ConfigError),
    /// The stack refuses what its user asks.
    #[error("the stack refuses {call:?}: {reason}")]
    Call {
        /// The call that is refused.
        call: Call,
        /// The reason that the stack gives.
        reason: String,
    },
}
