//! Takes an SCTP association along when its host changes networks.
//!
//! ```text
//!  kernel ─► interface_watch ─► mobility::Host ─► mobility::Handover ─► Mover ─► sctp::Association
//!                                                        ▲                │      ASCONF (RFC 5061)
//!                                                        └─── answers ────┘
//! ```
//!
//! What is here: the [`Mover`], which reads what the kernel says, carries out what `mobility` decides, and reports both. What is
//! not: the decisions (`mobility`), the kernel's messages (`interface-watch`), the protocol (`sctp`).
//!
//! Both ends of the association have to offer [`Extensions::dynamic_addresses`](sctp::Extensions::dynamic_addresses) and
//! [`authentication`](sctp::Extensions::authentication). The endpoint that moves is bound to all addresses (`0.0.0.0`), and
//! lists those it begins with in [`EndpointConfig::local_addresses`](sctp::EndpointConfig::local_addresses), so that its peer
//! knows them by name.
//!
//! ```no_run
//! use handover::Mover;
//! use mobility::Policies;
//! use sctp::{AssociationConfig, Endpoint, EndpointConfig, Offer, SctpPort};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut association = AssociationConfig::default();
//! association.extensions.authentication = Offer::On;
//! association.extensions.dynamic_addresses = Offer::On;
//! let mut config = EndpointConfig::with_association(SctpPort::try_from(5000)?, association);
//! config.local_addresses = vec!["192.0.2.7".parse()?];
//! let endpoint = Endpoint::bind(config, "0.0.0.0:9899".parse()?).await?;
//! let association = endpoint.connect("203.0.113.1:9899".parse::<std::net::SocketAddr>()?, SctpPort::try_from(7)?).await?;
//!
//! let policy = Policies::parse(&std::fs::read_to_string("handover.toml")?)?.application("video");
//! let mut mover = Mover::new(&endpoint, &association, policy)?;
//! tokio::spawn(async move {
//!     while let Some(report) = mover.next().await {
//!         println!("{report}");
//!     }
//! });
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod measuring;
mod mover;
mod report;

pub use mover::{MoveError, Mover};
pub use report::Report;
