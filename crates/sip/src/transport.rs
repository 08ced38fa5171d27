//! Transports: the properties of whatever carries messages, as far as a transaction has to know them.

use core::net::SocketAddr;

/// A transport protocol under SIP.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Transport {
    name: &'static str,
    is_reliable: bool,
    is_message_oriented: bool,
    is_secure: bool,
}

impl Transport {
    /// UDP, over which transactions repeat what may have been lost (RFC 3261 §18).
    pub const UDP: Self =
        Self { name: "UDP", is_reliable: false, is_message_oriented: true, is_secure: false };
    /// TCP, a stream that has to be cut into messages (RFC 3261 §18).
    pub const TCP: Self =
        Self { name: "TCP", is_reliable: true, is_message_oriented: false, is_secure: false };
    /// TLS over TCP (RFC 3261 §26.2.1).
    pub const TLS: Self =
        Self { name: "TLS", is_reliable: true, is_message_oriented: false, is_secure: true };
    /// SCTP, a message of SIP in a message of SCTP (RFC 4168 §4).
    pub const SCTP: Self =
        Self { name: "SCTP", is_reliable: true, is_message_oriented: true, is_secure: false };
    /// TLS over SCTP (RFC 4168 §4).
    pub const TLS_SCTP: Self =
        Self { name: "TLS-SCTP", is_reliable: true, is_message_oriented: true, is_secure: true };

    /// Every transport that has a token in Via.
    pub const ALL: [Self; 5] = [Self::UDP, Self::TCP, Self::TLS, Self::SCTP, Self::TLS_SCTP];

    /// Finds a transport by its token, without regard to case.
    #[must_use]
    pub fn of(token: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|transport| transport.name.eq_ignore_ascii_case(token))
    }

    /// Returns the token in Via (RFC 3261 §20.42, RFC 4168 §4).
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Returns whether what is sent arrives, so that transactions need not repeat it.
    #[must_use]
    pub const fn is_reliable(self) -> bool {
        self.is_reliable
    }

    /// Returns whether the transport keeps the boundaries of messages; otherwise a [`Framer`](crate::Framer) finds them.
    #[must_use]
    pub const fn is_message_oriented(self) -> bool {
        self.is_message_oriented
    }

    /// Returns whether nobody on the way can read what is sent.
    #[must_use]
    pub const fn is_secure(self) -> bool {
        self.is_secure
    }

    /// Returns the port that is meant where none is written: 5061 for what is secure, 5060 otherwise (RFC 3261 §18.1.1).
    #[must_use]
    pub const fn default_port(self) -> u16 {
        if self.is_secure { 5061 } else { 5060 }
    }
}

/// The way by which a message came, or by which it goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Flow {
    /// The transport that carries the message.
    pub transport: Transport,
    /// The address of the other side.
    pub remote: SocketAddr,
    /// The connection, where the transport has such; a driver without it looks for one to `remote`, or opens it.
    pub connection: Option<Connection>,
}

/// A connection, by a number that the driver gives it and never gives to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Connection(pub u64);

impl Flow {
    /// Creates a flow to an address over no connection in particular.
    #[must_use]
    pub const fn new(transport: Transport, remote: SocketAddr) -> Self {
        Self { transport, remote, connection: None }
    }
}
