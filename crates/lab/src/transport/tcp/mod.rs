//! TCP: a connection per lane. In virtual time it is `tcp-core`, on real packets the kernel's.

mod losses;
mod options;
mod real;
mod simulated;

use core::num::NonZeroU16;
use std::collections::BTreeSet;

use models::resequencing;

pub use self::options::TcpOptions;
pub use self::real::set_tcp_congestion;
use self::simulated::{Dialling, Place, TcpClient, TcpServer};
use super::error::number;
use super::{
    Carriage, End, Ends, Errand, FlowRun, Lanes, Listener, Listening, Search, Task, Transport,
    TransportError, TransportFacts,
};
use crate::transport::{FlowError, FlowPlan, RealError};

/// The most TCP connections of one run: every one takes two file descriptors on one host.
pub const MAX_CONNECTIONS: u16 = 256;

/// Parallel TCP connections; `tcp` is one.
#[derive(Debug)]
pub(super) struct Tcp;

static FACTS: TransportFacts = TransportFacts {
    forms: &[("tcp", ""), ("tcp:N", "N connections")],
    has_profiles: true,
    can_move: true,
    ..TransportFacts::new("tcp", Carriage::Octets, 0..3)
};

impl Transport for Tcp {
    fn facts(&self) -> &'static TransportFacts {
        &FACTS
    }

    fn parse(&self, text: &str, argument: Option<&str>) -> Result<Lanes, TransportError> {
        let count = argument.map(|count| number(text, count, "connections", MAX_CONNECTIONS));
        Ok(Lanes::ordered(count.transpose()?.unwrap_or(NonZeroU16::MIN)))
    }

    fn write(&self, lanes: Lanes) -> String {
        match lanes.count.get() {
            1 => "tcp".to_owned(),
            count => format!("tcp:{count}"),
        }
    }

    fn in_words(&self, lanes: Lanes) -> String {
        match lanes.count.get() {
            1 => "one TCP connection".to_owned(),
            count => format!("{count} TCP connections"),
        }
    }

    fn connections(&self, lanes: Lanes) -> Option<u16> {
        Some(lanes.count.get())
    }

    fn model(&self, lanes: Lanes) -> Result<resequencing::Transport, &'static str> {
        Ok(resequencing::Transport::Tcp { connections: lanes.count.into() })
    }

    fn simulated(&self, ends: &Ends<'_>) -> Result<[Box<dyn End>; 2], FlowError> {
        let config = ends.plan.tcp.config(ends.plan.profile.as_deref()).map_err(FlowError::at("profile"))?;
        let initial = |label| u32::try_from(ends.seed.of(label) >> 32).unwrap_or(1);
        let [near, far] = &ends.addresses;
        let places =
            near.iter().zip(far.iter().cycle()).map(|(local, peer)| Place { local: *local, peer: *peer });
        let opening = Dialling {
            at: Some(ends.begin_at()),
            config,
            connections: ends.plan.transport.0.lanes(),
            initial_sequence: initial("client"),
            places: places.collect(),
        };
        let client = TcpClient::new(ends.client()?, opening, ends.switching()?);
        let server = TcpServer::new(ends.server()?, config, initial("server"));
        Ok([Box::new(client), Box::new(server)])
    }

    fn own_losses(&self, search: &Search<'_>, lost: &[&[u8]]) -> Result<BTreeSet<u64>, &'static str> {
        losses::own_losses(search, lost)
    }

    fn refused_on_real_packets(&self, flow: &FlowPlan) -> Option<(&'static str, &'static str)> {
        if flow.profile.is_some() {
            return Some(("profile", "the TCP of real packets is the kernel's, which has no profiles"));
        }
        let is_refused = !flow.tcp.is_only_congestion();
        is_refused.then_some(("tcp", "of the kernel's TCP only the congestion control can be chosen"))
    }

    fn load<'a>(&'a self, errand: Errand<'a>) -> Task<'a, Result<FlowRun, RealError>> {
        Box::pin(real::load(errand))
    }

    fn listen<'a>(&'a self, at: Listening<'a>) -> Task<'a, Result<Vec<Listener>, RealError>> {
        Box::pin(async move { real::listen(&at) })
    }
}
