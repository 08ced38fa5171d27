//! SCTP, ours in every world: a stream of one association per lane, or one stream with unordered delivery.

mod carrier;
mod config;
mod losses;
mod news;
mod options;
mod real;
mod roaming;
mod simulated;

use std::collections::BTreeSet;

use models::resequencing;
use netsim::sctp::SctpHost;
use sctp_core::{Delivery, Destination, Encapsulation, Endpoint, EndpointConfig, SctpPort};
use virtual_time::Instant;

pub use self::carrier::{Carrier, EncapsulationPorts};
pub use self::options::{
    CarrierName, InitialWindowName, PathOptions, SctpOptions, StartUpName, ValidationName, WindowOptions,
};
use self::roaming::{Addresses, Roaming};
use self::simulated::{Journey, Move, Opening, SctpClient, SctpServer};
use super::error::number;
use super::{
    Carriage, End, Ends, Errand, FlowRun, Lanes, Listener, Listening, Search, Task, Transport,
    TransportError, TransportFacts,
};
use crate::handover::Handover;
use crate::lanes::Order;
use crate::transport::{FlowError, FlowPlan, RealError};

/// Streams of one SCTP association.
#[derive(Debug)]
pub(super) struct Sctp;

static FACTS: TransportFacts = TransportFacts {
    forms: &[("sctp:N", "N streams"), ("sctp:unordered", "")],
    takes_profile: true,
    has_profiles: true,
    can_move: true,
    ..TransportFacts::new("sctp", Carriage::Messages, 3..7)
};

impl Transport for Sctp {
    fn facts(&self) -> &'static TransportFacts {
        &FACTS
    }

    fn parse(&self, text: &str, argument: Option<&str>) -> Result<Lanes, TransportError> {
        let because = "that needs its number of streams: write sctp:1, sctp:6 or sctp:unordered";
        match argument {
            None => Err(TransportError::Argument { text: text.to_owned(), because }),
            Some("unordered") => Ok(Lanes::UNORDERED),
            Some(count) => Ok(Lanes::ordered(number(text, count, "streams", u16::MAX)?)),
        }
    }

    fn write(&self, lanes: Lanes) -> String {
        match lanes.order {
            Order::Kept => format!("sctp:{}", lanes.count),
            Order::Free => "sctp:unordered".to_owned(),
        }
    }

    fn in_words(&self, lanes: Lanes) -> String {
        match (lanes.order, lanes.count.get()) {
            (Order::Free, _) => "unordered SCTP".to_owned(),
            (Order::Kept, 1) => "SCTP with one stream".to_owned(),
            (Order::Kept, streams) => format!("SCTP with {streams} streams"),
        }
    }

    fn streams(&self, lanes: Lanes) -> Option<u16> {
        Some(lanes.count.get())
    }

    fn model(&self, lanes: Lanes) -> Result<resequencing::Transport, &'static str> {
        Ok(match lanes.order {
            Order::Kept => resequencing::Transport::Sctp { streams: lanes.count.into() },
            Order::Free => resequencing::Transport::SctpUnordered,
        })
    }

    fn simulated(&self, ends: &Ends<'_>) -> Result<[Box<dyn End>; 2], FlowError> {
        let mut config = config::config(ends.plan).map_err(FlowError::at("profile"))?;
        if let Some(handover) = ends.leaving.handover {
            config::for_handover(&mut config, handover).map_err(FlowError::at("profile"))?;
        }
        let port = SctpPort::try_from(SIMULATED_PORT).map_err(FlowError::at("transport"))?;
        let endpoint = |side: usize, label| {
            let mut of_endpoint = EndpointConfig::with_association(port, config.clone());
            if ends.addresses[side].len() > 1 {
                of_endpoint.local_addresses.clone_from(&ends.addresses[side]);
            }
            let mut entropy = [0; 32];
            entropy[..8].copy_from_slice(&ends.seed.of(label).to_le_bytes());
            Endpoint::new(of_endpoint, entropy).map_err(FlowError::at("sctp"))
        };
        let encapsulation = match ends.plan.sctp.carrier {
            Some(CarrierName::Udp) => Encapsulation::Udp { port: ENCAPSULATION_PORT },
            Some(CarrierName::Ip) | None => Encapsulation::Ip,
        };
        let to = vec![Destination { address: ends.first[1], encapsulation }];
        let opening = Opening {
            at: ends.begin_at(),
            to,
            port,
            config: config.clone(),
            priorities: ends.plan.sctp.messages.priorities.clone(),
            moves: moves(ends)?,
            journey: ends.leaving.handover.and_then(|handover| journey(ends, handover)),
        };
        let client = SctpClient::new(ends.client()?, opening, delivery(ends.plan));
        let server = SctpServer::new(ends.server()?);
        let client = SctpHost::new(endpoint(0, "client")?, client);
        let server = SctpHost::new(endpoint(1, "server")?, server);
        Ok([Box::new(client), Box::new(server)])
    }

    fn own_losses(&self, search: &Search<'_>, lost: &[&[u8]]) -> Result<BTreeSet<u64>, &'static str> {
        losses::own_losses(search, lost)
    }

    fn refused_on_real_packets(&self, flow: &FlowPlan) -> Option<(&'static str, &'static str)> {
        if flow.sctp.carrier == Some(CarrierName::Ip) {
            return Some(("sctp.carrier", "between namespaces UDP carries SCTP"));
        }
        if flow.sctp.paths.moves_at.is_some() {
            return Some(("sctp.paths.moves_at", "each namespace has one address"));
        }
        let has_priorities = !flow.sctp.messages.priorities.is_empty();
        has_priorities.then_some(("sctp.messages.priorities", "on real packets all streams are alike"))
    }

    fn load<'a>(&'a self, errand: Errand<'a>) -> Task<'a, Result<FlowRun, RealError>> {
        Box::pin(real::load(errand))
    }

    fn listen<'a>(&'a self, at: Listening<'a>) -> Task<'a, Result<Vec<Listener>, RealError>> {
        Box::pin(real::listen(at))
    }
}

/// Returns when the client moves, and the address of the server that it then sends to.
fn moves(ends: &Ends<'_>) -> Result<Option<Move>, FlowError> {
    let Some(after) = ends.plan.sctp.paths.moves_at else { return Ok(None) };
    let to = ends.addresses[1].iter().find(|address| **address != ends.first[1]);
    let because = "the server has one address: a second link of its own takes another one";
    let to = to.copied().ok_or(because).map_err(FlowError::at("sctp.paths.moves_at"))?;
    Ok(Some(Move { at: Instant::EPOCH + after.0, to }))
}

/// Returns when the client's host loses and finds its networks, and where the client then goes; `None` where it has no second one.
fn journey(ends: &Ends<'_>, handover: &Handover) -> Option<Box<Journey>> {
    let [[old, new, ..], [_, peer, ..]] = ends.addresses.each_ref().map(Vec::as_slice) else { return None };
    Some(Box::new(Journey {
        leaves_at: Some(Instant::EPOCH + handover.leaves_at()),
        arrives_at: Some(Instant::EPOCH + handover.arrives_at()),
        roaming: Roaming::new(Addresses { old: *old, new: *new, peer: *peer }, handover),
    }))
}

fn delivery(flow: &FlowPlan) -> Delivery {
    if flow.transport.0.is_ordered() { Delivery::Ordered } else { Delivery::Unordered }
}

/// The port of SIMCO; any would do.
const SIMULATED_PORT: u16 = 7626;

/// The registered port of SCTP in UDP (RFC 6951 §7).
const ENCAPSULATION_PORT: u16 = 9899;
