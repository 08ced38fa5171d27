//! The two ends of a simulated flow: a transport below, client or server above.

use core::time::Duration;
use std::net::IpAddr;

use netsim::Host;
use virtual_time::Instant;

use crate::statistics::{OneWay, TransportCounts};
use crate::traffic::{Client, Server, Workload};
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
    /// How long a client waits for an answer before it goes on from its host's next address.
    pub(crate) switch_after: Option<Duration>,
    /// The first address of each.
    pub(crate) first: [IpAddr; 2],
    /// All addresses of each: one for every link of its host.
    pub(crate) addresses: [Vec<IpAddr>; 2],
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
        if self.switch_after.is_some() && self.plan.workload != Workload::ECHO {
            let because = "with `switch_after` requests are echoed: other workloads have a session that would begin anew";
            return Err(FlowError { key: "workload", because: because.to_owned() });
        }
        Ok(Switching::new(self.switch_after))
    }

    /// Returns when the flow begins.
    pub(crate) fn begin_at(&self) -> Instant {
        Instant::EPOCH + self.plan.start.0
    }
}
