//! Calls through a back-to-back user agent that opens the firewall for their media (RFC 3261, RFC 4540; study S4), as a state machine: no
//! socket, no clock, no thread.
//!
//! [`Calls`] takes in messages of both sides, verdicts of the firewall and times, and gives out messages, [`Demand`]s on the firewall and a
//! [`Record`] for each call. A [`Pinhole`] says by which request of SIMCO it is opened. `apps/sip-b2bua` carries the messages and asks
//! middleboxes; the laboratory does both in virtual time (study S4's `S4-answer`).
//!
//! ```text
//!        messages of both sides             verdicts
//!                │ ▲                           │ ▲
//!   handle_packet│ │poll_transmit              │ │ poll_demand ─► Pinhole::request ─► SIMCO
//!                ▼ │                           ▼ │
//!              ┌───────────────── Calls ───────────────┐
//!              │ sip::Endpoint   calls, two legs each  │─► poll_record
//!              └───────────────────────────────────────┘
//! ```
//!
//! Not here: sockets, sessions with middleboxes, names that are looked up, a configuration file.
//!
//! ```
//! use call_core::{CallSettings, Calls, Demand, NextHop, Route};
//! use simco::filter::Network;
//! use sip::{EndpointConfig, Flow, Transport};
//! use virtual_time::Instant;
//!
//! let (caller, here) = ("10.1.8.3:5060".parse()?, "10.1.8.1:5060".parse()?);
//! let callee = Flow::new(Transport::UDP, "198.51.100.9:5060".parse()?);
//! let route = Route { prefix: String::new(), domain: None, to: NextHop::Address(callee) };
//! let inside = vec![Network::new("10.0.0.0".parse()?, 8)];
//! let endpoint = EndpointConfig::new(vec![(Transport::UDP, here)]);
//! let mut calls = Calls::new(CallSettings::new(vec![route], vec![inside]), endpoint, [1; 32]);
//!
//! // The caller inside says where it listens for media.
//! let now = Instant::EPOCH;
//! let invite = "INVITE sip:b@10.1.8.1 SIP/2.0\r\nVia: SIP/2.0/UDP 10.1.8.3:5060;branch=z9hG4bK1\r\n\
//!     Max-Forwards: 70\r\nFrom: <sip:a@10.1.8.3>;tag=1\r\nTo: <sip:b@10.1.8.1>\r\nCall-ID: 1\r\n\
//!     CSeq: 1 INVITE\r\nContact: <sip:a@10.1.8.3:5060>\r\nContent-Type: application/sdp\r\n\r\n\
//!     v=0\r\no=- 1 1 IN IP4 10.1.8.3\r\ns=-\r\nc=IN IP4 10.1.8.3\r\nt=0 0\r\nm=audio 6000 RTP/AVP 0\r\n";
//! calls.handle_packet(now, Flow::new(Transport::UDP, caller), &invite.into());
//!
//! // 100 Trying goes back, and the INVITE waits for the firewall.
//! assert!(calls.poll_transmit().is_some_and(|sent| sent.flow.remote == caller));
//! assert!(calls.poll_transmit().is_none());
//! let Some(Demand::Open { id, .. }) = calls.poll_demand() else { panic!("no pinhole is asked for") };
//! calls.handle_verdict(now, id, Ok(None));
//! assert!(calls.poll_transmit().is_some_and(|sent| sent.flow.remote == callee.remote));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod calls;
mod media;
mod pinhole;

pub use calls::{
    AuthenticationSettings, BOUNDS_MS, CallCounters, CallId, CallSettings, Calls, Demand, Histogram,
    HopAddress, HopName, NextHop, PinholeId, Record, Refusal, Route,
};
pub use pinhole::Pinhole;
