//! WebRTC data channels (RFC 8831, RFC 8832) over [`sctp_core`], as a state machine: no socket, no clock, no thread.
//!
//! A data channel is a pair of SCTP streams with the same number, one for each direction. This crate opens channels by the Data
//! Channel Establishment Protocol, says what a message is (text or octets, empty ones too), gives each channel its order and
//! reliability, and closes it by resetting both streams. What carries SCTP's packets, DTLS over ICE in a browser, is the
//! caller's: `interop/webrtc` has it, and talks to Chromium.
//!
//! ```text
//!                 application
//!   open, send, close │ ▲ ChannelEvent
//!                     ▼ │
//!                DataChannels ── DCEP, payload protocol identifiers, resets
//!   send, reset_streams │ ▲ receive, Event
//!                       ▼ │
//!             sctp_core::Endpoint ── profile webrtc, Destination::channel
//!                       │ ▲
//!                       ▼ │  packets of the caller's: DTLS (RFC 8261)
//! ```
//!
//! Not here: session descriptions, ICE, DTLS; a queue of messages for each channel — [`DataChannels::poll_event`] reads
//! SCTP's own, so that a slow application holds the peer back.
//!
//! ```
//! use data_channel::{ChannelConfig, ChannelEvent, ChannelLimits, DataChannels, DtlsRole, Payload};
//! use sctp_core::{
//!     AssociationConfig, Datagram, Destination, Endpoint, EndpointConfig, Event, Profile, SctpPort,
//! };
//! use virtual_time::Instant;
//!
//! let now = Instant::EPOCH;
//! let port = SctpPort::try_from(5000)?;
//! let webrtc = AssociationConfig::profile(Profile::WebRtc);
//! let config = EndpointConfig::with_association(port, webrtc.clone());
//! let (mut here, mut there) = (Endpoint::new(config.clone(), [1; 32])?, Endpoint::new(config, [2; 32])?);
//!
//! // DTLS is up, and this end was its client.
//! let id = here.connect(now, &[Destination::channel(0)], port, webrtc)?;
//! let mut ours = DataChannels::new(id, DtlsRole::Client, ChannelLimits::default());
//! let chat = ours.open(now, &mut here, ChannelConfig::reliable("chat"))?;
//! ours.send(now, &mut here, chat, "hello")?;
//!
//! let mut theirs = None;
//! let mut heard = Vec::new();
//! for _ in 0..10 {
//!     carry(now, &mut here, &mut there);
//!     carry(now, &mut there, &mut here);
//!     while let Some((id, event)) = there.poll_event() {
//!         let new = || DataChannels::new(id, DtlsRole::Server, ChannelLimits::default());
//!         let channels = theirs.get_or_insert_with(new);
//!         channels.handle_event(now, &mut there, &event);
//!         heard.extend(std::iter::from_fn(|| channels.poll_event(now, &mut there)));
//!     }
//! }
//! assert_eq!(heard[0], ChannelEvent::Opened(chat));
//! assert_eq!(heard[1], ChannelEvent::Message { channel: chat, payload: Payload::text("hello") });
//!
//! /// Carries packets from one end to the other.
//! fn carry(now: Instant, from: &mut Endpoint, to: &mut Endpoint) {
//!     let mut packet = Vec::new();
//!     while from.poll_transmit(now, &mut packet).is_some() {
//!         let source = Destination::channel(0);
//!         to.handle_packet(now, Datagram::new(source, &packet));
//!         packet.clear();
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod channels;
mod config;
mod dcep;
mod error;
mod payload;

pub use channels::{ChannelEvent, ChannelState, DataChannels};
pub use config::{ChannelConfig, ChannelLimits, DtlsRole, Priority};
pub use dcep::{Dcep, DcepError, NotEncodable};
pub use error::{ChannelViolation, OpenError, SendError, UnknownChannel};
pub use payload::Payload;
