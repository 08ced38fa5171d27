//! The two ends of a simulated flow: a transport below, client or server above.

use core::time::Duration;
use std::net::IpAddr;

use netsim::Host;
use virtual_time::Instant;

use crate::handover::Handover;
use crate::statistics::{OneWay, TransportCounts};
use crate::traffic::{Client, Server};
use crate::transport::{FlowError, FlowPlan, FlowSeed, StopRule, Switching};

/// One end of a flow: a part of a simulated host, with a client or a server on top of its transport.
pub(crate) trait End: Host {
    /// Returns the counters of its end of the transport.
    fn counts(&self) -> TransportCounts {
        TransportCounts::default()
    }

    /// Returns the client, at the end that has it.
    fn client(&self) -> Option<&Client> {
        None
    }

    /// Returns the number of messages delivered, at the end that has the server.
    fn delivered(&self) -> u64 {
        0
    }

    /// Returns the client, when the run is over.
    fn into_client(self: Box<Self>) -> Option<Client> {
        None
    }

    /// Returns what the server received: messages, octets, and until when.
    fn into_received(self: Box<Self>) -> Option<(OneWay, u64, Instant)> {
        None
    }
}

/// The parts that the two ends of a flow are made from, client first.
pub(crate) struct Ends<'a> {
    pub(crate) plan: &'a FlowPlan,
    pub(crate) stop: &'a StopRule,
    pub(crate) seed: FlowSeed,
    /// The rule by which the client goes on from its host's next address.
    pub(crate) leaving: Leaving<'a>,
    /// The first address of each.
    pub(crate) first: [IpAddr; 2],
    /// All addresses of each: one for every link of its host.
    pub(crate) addresses: [Vec<IpAddr>; 2],
}

/// The rule by which a client goes on from its host's next address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving<'a> {
    /// How long it waits for an answer before; `None`: for ever.
    pub(crate) switch_after: Option<Duration>,
    /// The change of its access link, of which its host tells it.
    pub(crate) handover: Option<&'a Handover>,
}

impl Ends<'_> {
    pub(crate) fn client(&self) -> Result<Client, FlowError> {
        let plan = self.plan.client_plan(self.stop, self.seed)?;
        Client::new(plan).map_err(FlowError::at("rate"))
    }

    pub(crate) fn server<L: Clone>(&self) -> Result<Server<L>, FlowError> {
        Ok(Server::new(self.plan.server_plan(self.stop)?))
    }

    /// Returns the rule by which the client goes on from another address.
    pub(crate) fn switching(&self) -> Result<Switching, FlowError> {
        let Leaving { switch_after, handover } = self.leaving;
        if switch_after.is_some() || handover.is_some() {
            self.plan.check_switching()?;
        }
        let told_at = handover.map(|handover| Instant::EPOCH + handover.arrives_at());
        Ok(Switching::new(switch_after, told_at))
    }

    /// Returns when the flow begins.
    pub(crate) fn begin_at(&self) -> Instant {
        Instant::EPOCH + self.plan.start.0
    }
}
