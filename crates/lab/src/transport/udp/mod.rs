//! UDP with the retransmission of a SIP client transaction: every message a datagram, and nothing waits for another.

mod outbox;
mod real;
mod simulated;

use core::time::Duration;
use std::collections::BTreeSet;

use models::resequencing;
use workload::{FirstTimeout, RetransmissionConfig};

use self::simulated::{UdpClient, UdpServer};
use super::{
    Carriage, End, Ends, Errand, FlowRun, Lanes, Listener, Listening, Search, Task, Transport,
    TransportError, TransportFacts,
};
use crate::transport::{FlowError, FlowPlan, RealError};

/// UDP, whose requests the client repeats.
#[derive(Debug)]
pub(super) struct Udp;

static FACTS: TransportFacts = TransportFacts {
    forms: &[("udp", "SIP-like retransmission")],
    most_message_bytes: Some(65_507),
    has_profiles: true,
    ..TransportFacts::new("udp", Carriage::Datagrams, 7..8)
};

impl Transport for Udp {
    fn facts(&self) -> &'static TransportFacts {
        &FACTS
    }

    fn parse(&self, text: &str, argument: Option<&str>) -> Result<Lanes, TransportError> {
        let because = "udp has neither streams nor connections, write udp";
        match argument {
            None => Ok(Lanes::UNORDERED),
            Some(_) => Err(TransportError::Argument { text: text.to_owned(), because }),
        }
    }

    fn write(&self, _lanes: Lanes) -> String {
        FACTS.name.to_owned()
    }

    fn in_words(&self, _lanes: Lanes) -> String {
        "UDP with SIP-like retransmission".to_owned()
    }

    fn connections(&self, _lanes: Lanes) -> Option<u16> {
        None
    }

    /// Returns the time in which the last request is given up, 32 s.
    fn drain(&self) -> Duration {
        RetransmissionConfig::default().timer_b()
    }

    fn model(&self, _lanes: Lanes) -> Result<resequencing::Transport, &'static str> {
        Ok(resequencing::Transport::Udp { first_timeout: RetransmissionConfig::default().t1 })
    }

    fn simulated(&self, ends: &Ends<'_>) -> Result<[Box<dyn End>; 2], FlowError> {
        let [here, there] = ends.first;
        let config = config(ends.plan.profile.as_deref()).map_err(FlowError::at("profile"))?;
        let client = UdpClient::new(ends.client()?, ends.begin_at(), config, here, there);
        let server = UdpServer::new(ends.server()?, there);
        Ok([Box::new(client), Box::new(server)])
    }

    /// Returns the requests of the datagrams: each is a message.
    fn own_losses(&self, search: &Search<'_>, lost: &[&[u8]]) -> Result<BTreeSet<u64>, &'static str> {
        let message =
            |datagram: &&[u8]| search.message_at(datagram).ok_or("a datagram was lost that is no message");
        lost.iter().map(message).collect()
    }

    fn refused_on_real_packets(&self, flow: &FlowPlan) -> Option<(&'static str, &'static str)> {
        flow.profile.is_some().then_some(("profile", "on real packets the timer of UDP is that of RFC 3261"))
    }

    fn load<'a>(&'a self, errand: Errand<'a>) -> Task<'a, Result<FlowRun, RealError>> {
        Box::pin(real::load(errand))
    }

    fn listen<'a>(&'a self, at: Listening<'a>) -> Task<'a, Result<Vec<Listener>, RealError>> {
        Box::pin(real::listen(at))
    }
}

/// Returns the timers of a profile.
fn config(profile: Option<&str>) -> Result<RetransmissionConfig, String> {
    let first_timeout = match profile {
        None | Some("rfc3261") => FirstTimeout::T1,
        Some("estimated") => FirstTimeout::Estimated,
        Some(other) => return Err(format!("UDP has no profile `{other}`: use rfc3261 or estimated")),
    };
    Ok(RetransmissionConfig { first_timeout, ..RetransmissionConfig::default() })
}
