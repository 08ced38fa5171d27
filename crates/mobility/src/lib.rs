//! Session handover for hosts that move: what their interfaces can do, what their users want, and what follows for an
//! association.
//!
//! ```text
//!  kernel, probes ──► Host ──► Handover ──► Decision ──► whoever has the association
//!      Event        facts and   Policy of     Action, Rule,   │
//!                   states      one           what was found  │
//!                                  ▲                          │
//!                                  └────────── Answer ────────┘
//! ```
//!
//! * **[`Host`]**: facts in any order; six states of an interface that follow from them ([`InterfaceState`]); interfaces that
//!   flap are damped ([`Damping`]). Bounded: [`MAX_INTERFACES`], [`MAX_ADDRESSES`], [`EVENTS_PER_SECOND`].
//! * **[`Policies`]**: TOML, checked; a [`Policy`] for each application.
//! * **[`Handover`]**: one association. It decides which addresses the peer is told, by which data goes, and which are forgotten.
//!   Each [`Decision`] says which [`Rule`] fired and what was found about every address.
//!
//! Not here: netlink, sockets, clocks, SCTP. Events and answers come in, decisions go out; time comes as
//! [`Instant`](virtual_time::Instant).
//!
//! ```
//! use mobility::{Action, Answer, Damping, Event, Handover, Host, InterfaceId, LinkState, Policies, Usability};
//! use virtual_time::Instant;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let policy = Policies::parse("")?.application("telephone");
//! let (mobile, wlan) = ("192.0.2.7".parse()?, "198.51.100.7".parse()?);
//! let mut handover = Handover::new(policy, [mobile], Some(mobile));
//! let mut host = Host::new(Damping::default());
//!
//! // The mobile network was lost, and a WLAN found: three messages of the kernel.
//! let (now, interface) = (Instant::from_millis(5), InterfaceId::new(3));
//! host.handle_event(now, Event::Address { interface, address: wlan, usability: Usability::Preferred })?;
//! host.handle_event(now, Event::Link { interface, name: "wlan0".parse()?, state: LinkState::Operational })?;
//! handover.handle_host(&host.settle(now));
//!
//! let decision = handover.poll_decision().ok_or("nothing is decided")?;
//! assert_eq!(decision.action, Action::Add(wlan));
//! assert_eq!(decision.to_string(), "\
//!     add 198.51.100.7: the primary address cannot be used any more\n  \
//!     198.51.100.7 on wlan0 (addressed): fit, cost 0, by prefer[0]");
//!
//! // The peer has agreed: data goes there.
//! handover.handle_answer(&host.settle(now), decision.action, Answer::Done);
//! assert_eq!(handover.poll_decision().map(|next| next.action), Some(Action::SetPrimary(wlan)));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod damping;
mod decision;
mod event;
mod handover;
mod host;
mod interface;
mod policy;

pub use damping::Damping;
pub use decision::{Action, Decision, Judgement, Rule, Verdict};
pub use event::{
    Event, Family, InterfaceId, InterfaceName, InterfaceNameError, LinkState, Quality, Usability,
};
pub use handover::{Answer, Handover, Snapshot};
pub use host::{EVENTS_PER_SECOND, Host, MAX_ADDRESSES, MAX_INTERFACES, Refused, RefusedEvents, Settled};
pub use interface::InterfaceState;
pub use policy::{
    DEFAULT_APPLICATION, Handing, Needs, Pattern, Policies, Policy, PolicyError, Preference, SignalBound,
};
