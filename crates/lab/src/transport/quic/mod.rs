//! QUIC: a stream of one connection per lane. `quinn-proto` in every world: on simulated links under virtual time, on real
//! ones behind a UDP socket, with the same client and server on top (`core`).

mod client;
mod core;
mod peer;
mod real;
mod server;
mod settings;
mod simulated;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::net::SocketAddr;

use models::resequencing;

use self::client::QuicClient;
use self::peer::Peer;
use self::server::QuicServer;
use self::simulated::Simulated;
use super::error::number;
use super::{
    Carriage, End, Ends, Errand, FlowRun, Lanes, Listener, Listening, Search, Task, Transport,
    TransportError, TransportFacts,
};
use crate::transport::{FlowError, RealError};

/// Streams of one QUIC connection.
#[derive(Debug)]
pub(super) struct Quic;

static FACTS: TransportFacts = TransportFacts {
    forms: &[("quic:N", "N streams")],
    settings: Some(settings::IN_WORDS),
    // TLS draws keys and nonces of its own.
    has_random_octets: true,
    can_move: true,
    ..TransportFacts::new("quic", Carriage::Octets, 8..11)
};

impl Transport for Quic {
    fn facts(&self) -> &'static TransportFacts {
        &FACTS
    }

    fn parse(&self, text: &str, argument: Option<&str>) -> Result<Lanes, TransportError> {
        let because = "that needs its number of streams: write quic:1 or quic:6";
        match argument {
            None => Err(TransportError::Argument { text: text.to_owned(), because }),
            Some(count) => Ok(Lanes::ordered(number(text, count, "streams", settings::MOST_STREAMS)?)),
        }
    }

    fn in_words(&self, lanes: Lanes) -> String {
        match lanes.count.get() {
            1 => "QUIC with one stream".to_owned(),
            streams => format!("QUIC with {streams} streams"),
        }
    }

    fn streams(&self, lanes: Lanes) -> Option<u16> {
        Some(lanes.count.get())
    }

    fn model(&self, lanes: Lanes) -> Result<resequencing::Transport, &'static str> {
        Ok(resequencing::Transport::Quic { streams: lanes.count.into() })
    }

    fn simulated(&self, ends: &Ends<'_>) -> Result<[Box<dyn End>; 2], FlowError> {
        let [_, there] = ends.first;
        let seed = |side| Some(ends.seed.of(side));
        let near = Peer::client(seed("client")).map_err(FlowError::at("transport"))?;
        let far = Peer::server(seed("server")).map_err(FlowError::at("transport"))?;
        let to = SocketAddr::new(there, simulated::SERVER_PORT);
        let client = QuicClient::new(ends.client()?, near, to, ends.begin_at(), ends.switching()?);
        let server = QuicServer::new(ends.server()?, far);
        Ok([
            Box::new(Simulated::new(client, ends.addresses[0].clone(), simulated::CLIENT_PORT)),
            Box::new(Simulated::new(server, vec![there], simulated::SERVER_PORT)),
        ])
    }

    fn own_losses(&self, _search: &Search<'_>, _lost: &[&[u8]]) -> Result<BTreeSet<u64>, &'static str> {
        Err("its packets are encrypted")
    }

    fn load<'a>(&'a self, errand: Errand<'a>) -> Task<'a, Result<FlowRun, RealError>> {
        Box::pin(real::load(errand))
    }

    fn listen<'a>(&'a self, at: Listening<'a>) -> Task<'a, Result<Vec<Listener>, RealError>> {
        Box::pin(real::listen(at))
    }
}
