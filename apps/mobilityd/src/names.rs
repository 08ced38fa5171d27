//! The name of this host, kept in line with its addresses by signed updates (RFC 2136, RFC 8945): messages without IO.
//!
//! Each update says all that the name is to have, so that one that was lost, or came late, is made up for by the next.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType, TSigVerifier, TSigner};
use virtual_time::Instant;

use crate::line::ForApplication;

/// What a configuration says of the host's name.
#[derive(Clone)]
pub(crate) struct NameSettings {
    pub(crate) server: SocketAddr,
    pub(crate) zone: Name,
    pub(crate) name: Name,
    /// The application whose policy says which addresses are fit.
    pub(crate) application: String,
    pub(crate) ttl_s: u32,
    pub(crate) signer: TSigner,
}

impl NameSettings {
    /// Returns the update after which the name has these addresses and no others.
    fn update(&self, id: u16, addresses: &[IpAddr]) -> Message {
        let mut message = Message::new(id, MessageType::Query, OpCode::Update);
        message.add_query(Query::query(self.zone.clone(), RecordType::SOA));
        for kind in [RecordType::A, RecordType::AAAA] {
            let mut all = Record::update0(self.name.clone(), 0, kind);
            all.dns_class = DNSClass::ANY;
            message.add_authority(all);
        }
        for address in addresses {
            message.add_authority(Record::from_rdata(self.name.clone(), self.ttl_s, RData::from(*address)));
        }
        message
    }
}

/// Never shows the key.
impl std::fmt::Debug for NameSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NameSettings").field("server", &self.server).finish_non_exhaustive()
    }
}

impl PartialEq for NameSettings {
    fn eq(&self, other: &Self) -> bool {
        let all = |of: &Self| {
            let signer = (of.signer.signer_name().clone(), of.signer.key().to_vec());
            (of.server, of.zone.clone(), of.name.clone(), of.application.clone(), of.ttl_s, signer)
        };
        all(self) == all(other) && self.signer.algorithm() == other.signer.algorithm()
    }
}

impl Eq for NameSettings {}

/// The name of this host at its server.
pub(crate) struct HostName {
    settings: NameSettings,
    /// The addresses that it is to have, the best first.
    wanted: Vec<IpAddr>,
    /// The server has acknowledged those.
    is_told: bool,
    attempts: u32,
    due: Option<Instant>,
    /// The update that is under way, and what its answer is verified by.
    sent: Option<(u16, TSigVerifier)>,
    next_id: u16,
    pub(crate) counters: NameCounters,
}

/// What became of updates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NameCounters {
    pub(crate) sent: u64,
    pub(crate) acknowledged: u64,
    pub(crate) refused: u64,
    /// Answers that are none, or not by the server's key.
    pub(crate) ignored: u64,
}

impl std::fmt::Debug for HostName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostName")
            .field("wanted", &self.wanted)
            .field("is_told", &self.is_told)
            .finish_non_exhaustive()
    }
}

impl HostName {
    /// Creates the name; `seed` is where the numbers of messages begin.
    pub(crate) fn new(settings: NameSettings, seed: u16) -> Self {
        Self {
            settings,
            wanted: Vec::new(),
            is_told: true,
            attempts: 0,
            due: None,
            sent: None,
            next_id: seed,
            counters: NameCounters::default(),
        }
    }

    pub(crate) const fn settings(&self) -> &NameSettings {
        &self.settings
    }

    /// Takes in what is decided for applications. A host without any address keeps its name as it was: it could tell nobody.
    pub(crate) fn look(&mut self, now: Instant, application: Option<&ForApplication>) {
        let Some(application) = application else { return };
        let is_fit = |judged: &&mobility::Judgement| matches!(judged.verdict, mobility::Verdict::Fit { .. });
        let fit = application.addresses.iter().filter(is_fit).map(|judged| judged.address);
        let all = application.primary.into_iter().chain(fit);
        let mut wanted: Vec<IpAddr> = Vec::new();
        for address in all.filter(|address| is_reached_from_elsewhere(*address)) {
            if !wanted.contains(&address) {
                wanted.push(address);
            }
        }
        wanted.truncate(MOST_ADDRESSES);
        if wanted.is_empty() || wanted == self.wanted {
            return;
        }
        (self.wanted, self.is_told, self.attempts, self.sent) = (wanted, false, 0, None);
        self.due = Some(now);
    }

    /// Returns when something has to be sent.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.due.filter(|_| !self.is_told)
    }

    /// Returns the update that is due; `unix_s` is what it is signed at.
    pub(crate) fn poll_transmit(&mut self, now: Instant, unix_s: u64) -> Option<Vec<u8>> {
        self.poll_timeout().filter(|due| *due <= now)?;
        let wait = FIRST_WAIT.saturating_mul(1 << self.attempts.min(6)).min(LONGEST_WAIT);
        self.due = Some(now + wait);
        self.attempts += 1;
        if self.attempts == WARN_AFTER {
            let server = self.settings.server;
            tracing::warn!(%server, "the name server does not answer; it is asked again until it does");
        }
        self.next_id = self.next_id.wrapping_add(1);
        let mut message = self.settings.update(self.next_id, &self.wanted);
        let (signature, verifier) = self.settings.signer.sign_message(&message, unix_s).ok()?;
        message.set_signature(signature);
        self.sent = verifier.map(|verifier| (self.next_id, verifier));
        self.counters.sent += 1;
        message.to_vec().ok()
    }

    /// Takes in what has come from the server's address.
    pub(crate) fn handle_response(&mut self, octets: &[u8]) {
        let id = octets.first_chunk().map(|id| u16::from_be_bytes(*id));
        let Some((_, verifier)) = self.sent.as_mut().filter(|(sent, _)| Some(*sent) == id) else {
            self.counters.ignored += 1;
            return;
        };
        let name = &self.settings.name;
        match verifier.verify(octets) {
            Ok(response) if response.metadata.response_code == ResponseCode::NoError => {
                self.counters.acknowledged += 1;
                (self.is_told, self.sent) = (true, None);
                tracing::info!(%name, addresses = ?self.wanted, "the name has these addresses");
            }
            Ok(response) => {
                self.counters.refused += 1;
                self.sent = None;
                tracing::warn!(%name, code = %response.metadata.response_code, "the name server refuses the update; it is asked again");
            }
            // What is not signed may be from anybody, and is no answer; a server that knows no such key says so in this way.
            Err(error) => {
                self.counters.ignored += 1;
                tracing::warn!(%name, %error, "an answer is not by the key of the name: is it the server's, and the clock right?");
            }
        }
    }
}

/// Returns whether others could reach this address.
fn is_reached_from_elsewhere(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !address.is_loopback() && !address.is_link_local(),
        IpAddr::V6(address) => !address.is_loopback() && !address.is_unicast_link_local(),
    }
}

/// Addresses of the name.
const MOST_ADDRESSES: usize = 8;
/// The wait for an answer, doubled each time.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
const WARN_AFTER: u32 = 4;

#[cfg(test)]
mod tests {
    use hickory_proto::rr::TSigResponseContext;
    use hickory_proto::rr::rdata::tsig::TsigAlgorithm;
    use mobility::{InterfaceId, InterfaceState, Judgement, Verdict};

    use super::*;

    const NOW_S: u64 = 1_800_000_000;

    fn signer(secret: u8) -> TSigner {
        TSigner::new(vec![secret; 32], TsigAlgorithm::HmacSha256, name("phone"), 300).unwrap()
    }

    fn name(text: &str) -> Name {
        text.parse().unwrap()
    }

    fn host_name() -> HostName {
        let settings = NameSettings {
            server: "192.0.2.53:53".parse().unwrap(),
            zone: name("example.org."),
            name: name("phone.example.org."),
            application: "default".to_owned(),
            ttl_s: 5,
            signer: signer(1),
        };
        HostName::new(settings, 7)
    }

    fn decided(addresses: &[&str]) -> ForApplication {
        let judged = |address: &&str| Judgement {
            address: address.parse().unwrap(),
            interface: InterfaceId::new(2),
            name: None,
            state: InterfaceState::Addressed,
            preference: None,
            verdict: Verdict::Fit { cost: 1 },
        };
        let primary = addresses.last().map(|address| address.parse().unwrap());
        ForApplication { primary, decision: None, addresses: addresses.iter().map(judged).collect() }
    }

    fn at(second: u64) -> Instant {
        Instant::EPOCH + Duration::from_secs(second)
    }

    /// The answer of a server that has this secret.
    fn answer(octets: &[u8], secret: u8, code: ResponseCode) -> Vec<u8> {
        let request = Message::from_vec(octets).unwrap();
        let mac = request.signature().unwrap().data.mac.clone();
        let mut response = Message::response(request.metadata.id, OpCode::Update);
        response.metadata.response_code = code;
        let unsigned = response.to_vec().unwrap();
        let context = TSigResponseContext::new(request.metadata.id, NOW_S, signer(secret), mac, None);
        response.set_signature(context.sign(&unsigned).unwrap());
        response.to_vec().unwrap()
    }

    #[test]
    fn the_name_gets_all_addresses_the_primary_one_first_until_the_server_has_acknowledged_it() {
        let mut host = host_name();
        assert_eq!(host.poll_timeout(), None);
        host.look(at(1), Some(&decided(&["10.0.0.1", "127.0.0.1", "fe80::1", "2001:db8::1"])));
        let first = host.poll_transmit(at(1), NOW_S).unwrap();
        let message = Message::from_vec(&first).unwrap();
        let found: Vec<String> =
            message.authorities[2..].iter().map(|record| record.data.to_string()).collect();
        assert_eq!(found, ["2001:db8::1", "10.0.0.1"]);
        assert!(message.authorities[..2].iter().all(|record| record.dns_class == DNSClass::ANY));
        // It was lost: again after a second, with another number.
        assert_eq!(host.poll_transmit(at(1), NOW_S), None);
        let second = host.poll_transmit(at(2), NOW_S + 1).unwrap();
        assert_ne!(first[..2], second[..2]);
        host.handle_response(&answer(&first, 1, ResponseCode::NoError));
        host.handle_response(&answer(&second, 2, ResponseCode::NoError));
        assert_eq!((host.counters.ignored, host.is_told), (2, false), "too late, and by another key");
        host.handle_response(&answer(&second, 1, ResponseCode::NoError));
        assert_eq!((host.counters.acknowledged, host.poll_timeout()), (1, None));
        // The same again is nothing new; a host that nobody can reach tells nobody.
        host.look(at(3), Some(&decided(&["10.0.0.1", "127.0.0.1", "fe80::1", "2001:db8::1"])));
        host.look(at(4), Some(&decided(&[])));
        host.look(at(4), Some(&decided(&["127.0.0.1", "fe80::1"])));
        assert_eq!(host.poll_timeout(), None);
    }

    #[test]
    fn a_refusal_is_not_the_end_and_a_move_meanwhile_begins_anew() {
        let mut host = host_name();
        host.look(at(1), Some(&decided(&["10.0.0.1"])));
        let first = host.poll_transmit(at(1), NOW_S).unwrap();
        host.handle_response(&answer(&first, 1, ResponseCode::Refused));
        assert_eq!((host.counters.refused, host.poll_timeout()), (1, Some(at(2))));
        host.look(at(1), Some(&decided(&["10.0.0.2"])));
        let second = host.poll_transmit(at(1), NOW_S).unwrap();
        host.handle_response(&answer(&second, 1, ResponseCode::NoError));
        assert_eq!(host.counters, NameCounters { sent: 2, acknowledged: 1, refused: 1, ignored: 0 });
        // It waits longer and longer, and no longer than half a minute.
        host.look(at(10), Some(&decided(&["10.0.0.3"])));
        let mut times = Vec::new();
        while times.len() < 9 {
            let due = host.poll_timeout().unwrap();
            host.poll_transmit(due, NOW_S).unwrap();
            times.push(due.since(at(10)).as_secs());
        }
        assert_eq!(times, [0, 1, 3, 7, 15, 31, 61, 91, 121]);
    }
}
