//! SIP (RFC 3261) without IO: messages, framing, transactions, dialogs.
//!
//! ```text
//!  datagrams, user messages ───────────────┐
//!  octets of a stream ─► Framer ───────────┴─► Endpoint ─► Event ─► your user agent ─► Dialog
//!                                                 ▲                      │
//!                                                 └── request, respond ◄─┘
//! ```
//!
//! * **Messages**: [`Message`], [`Request`], [`Response`], [`Headers`]: text as it was written, read on demand by
//!   [`Essentials`], [`Via`], [`NameAddr`], [`SipUri`], [`CSeq`].
//! * **[`Framer`]**: a stream cut into messages.
//! * **[`Endpoint`]**: the four transaction machines of RFC 3261 §17 with RFC 6026 over every [`Transport`], CANCEL, ACK, 2xx
//!   that are repeated until they are acknowledged, symmetric responses (RFC 3581), answers to malformed, merged and
//!   unsupported requests, limits.
//! * **[`Dialog`]**: route sets, targets, order of requests.
//! * **[`Authenticator`]**: challenges by digest, and their answers (RFC 7616, RFC 8760).
//!
//! Not here: sockets, clocks, DNS (RFC 3263), TLS, answers to challenges of others, reliable provisional responses (RFC 3262), session
//! timers (RFC 4028); a peer that requires one of the last two is told so with 420, unless
//! [`EndpointConfig::extensions`] has them, for a user that sees to them itself. Time and octets come in, octets and events
//! go out. Every rule that is kept stands in a table, with its test, in `docs/sip.md`.
//!
//! ```
//! use bytes::Bytes;
//! use sip::{Endpoint, EndpointConfig, Event, Flow, Response, Status, Transport};
//! use virtual_time::Instant;
//!
//! let own = "192.0.2.1:5060".parse().unwrap();
//! let peer = Flow::new(Transport::UDP, "192.0.2.9:5060".parse().unwrap());
//! let mut endpoint = Endpoint::new(EndpointConfig::new(vec![(Transport::UDP, own)]), [7; 32]);
//! let options = Bytes::from_static(
//!     b"OPTIONS sip:192.0.2.1 SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.9;branch=z9hG4bK1\r\nFrom: <sip:a@x.org>;tag=1\r\n\
//!       To: <sip:192.0.2.1>\r\nCall-ID: 1@x.org\r\nCSeq: 1 OPTIONS\r\nMax-Forwards: 70\r\nContent-Length: 0\r\n\r\n",
//! );
//! endpoint.handle_packet(Instant::EPOCH, peer, &options);
//! let Some(Event::Request { transaction, request, .. }) = endpoint.poll_event() else { panic!() };
//! endpoint.respond(Instant::EPOCH, transaction, &Response::to(&request, Status::OK, "tag"));
//! assert!(endpoint.poll_transmit().unwrap().octets.starts_with(b"SIP/2.0 200 OK\r\n"));
//! ```
#![forbid(unsafe_code)]

mod answer;
mod dialog;
mod digest;
mod endpoint;
mod essentials;
mod framer;
mod limits;
mod message;
mod method;
mod status;
mod text;
mod transaction;
mod transport;
mod uri;
mod via;

pub use dialog::{Dialog, DialogError, Order};
pub use digest::{Authentication, Authenticator};
pub use endpoint::{
    CancelOutcome, Counters, Endpoint, EndpointConfig, Event, Failure, TransactionId, Transmit,
};
pub use essentials::{CSeq, Essentials, Fault};
pub use framer::{Framer, FramingError};
pub use limits::MessageLimits;
pub use message::{HeaderName, Headers, Message, ParseError, Request, Response};
pub use method::Method;
pub use status::{Status, StatusClass};
pub use text::Parameters;
pub use transaction::Timers;
pub use transport::{Connection, Flow, Transport};
pub use uri::{Host, NameAddr, SipUri, UriError};
pub use via::Via;
