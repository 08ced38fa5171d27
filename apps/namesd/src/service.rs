//! The server without IO: messages come in, and what is to be sent goes out.
//!
//! Questions are answered at once. Updates are made together, kept together, and answered when they are kept.

mod notices;
mod transfer;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use hickory_proto::op::{Edns, Message, OpCode, Query, ResponseCode};
use hickory_proto::rr::{DNSClass, LowerName, Name, RecordType};
use hickory_proto::serialize::binary::{BinEncodable, BinEncoder};

use self::notices::Notice;
use self::transfer::Asking;
use crate::answer::{answer, response_to};
use crate::journal::Journal;
use crate::keys::{Keyring, Memory, Proof, Said, Verdict};
use crate::secondaries::Secondaries;
use crate::signature::Signing;
use crate::update::{check_prerequisites, check_updates};
use crate::zone::{Change, Zone};

/// The zones, the keys, and what happened so far.
#[derive(Debug)]
pub(crate) struct Service {
    zones: BTreeMap<LowerName, Zone>,
    secondaries: BTreeMap<LowerName, Secondaries>,
    pub(crate) keyring: Keyring,
    notices: BTreeMap<(LowerName, SocketAddr), Notice>,
    next_id: u16,
    pub(crate) counters: Counters,
    pub(crate) log: Quota,
}

/// The counts of what happened, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    /// Questions, by the code of the answer.
    pub(crate) questions: BTreeMap<String, u64>,
    /// Updates, by what became of them.
    pub(crate) updates: BTreeMap<String, u64>,
    /// Transfers to secondaries, by what they were of.
    pub(crate) transfers: BTreeMap<String, u64>,
    /// Requests for a zone that were refused, by why.
    pub(crate) transfers_refused: BTreeMap<String, u64>,
    /// Notices to secondaries, by what became of them.
    pub(crate) notices: BTreeMap<String, u64>,
    /// Messages that nobody is answered.
    pub(crate) ignored: u64,
}

/// How a message came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    Udp,
    Tcp,
}

/// The time at which something happens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    /// Seconds since 1970, by which others sign.
    pub(crate) unix_s: u64,
    /// Time since this server began, which is never set back.
    pub(crate) since_start: Duration,
}

/// The consequence of a message.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The sender gets these messages.
    Answer(Vec<Vec<u8>>),
    /// The message is an update, to be made together with others.
    Update(Box<Asked>),
    /// The message has no consequence.
    Nothing,
}

/// An update that was asked for.
#[derive(Debug)]
pub(crate) struct Asked {
    message: Message,
    octets: Vec<u8>,
    peer: SocketAddr,
    proof: Proof,
}

impl Service {
    /// Creates the service of these zones, each with its secondaries.
    pub(crate) fn new(zones: impl IntoIterator<Item = (Zone, Secondaries)>, keyring: Keyring) -> Self {
        let mut service = Self {
            zones: BTreeMap::new(),
            secondaries: BTreeMap::new(),
            keyring,
            notices: BTreeMap::new(),
            next_id: 0,
            counters: Counters::default(),
            log: Quota::default(),
        };
        for (zone, secondaries) in zones {
            service.secondaries.insert(zone.origin().clone(), secondaries);
            service.zones.insert(zone.origin().clone(), zone);
        }
        service
    }

    pub(crate) fn zones(&self) -> impl Iterator<Item = &Zone> {
        self.zones.values()
    }

    /// Changes a zone, if there is one of this name; returns what `change` returns.
    pub(crate) fn with_zone(&mut self, origin: &LowerName, change: impl FnOnce(&mut Zone) -> bool) -> bool {
        self.zones.get_mut(origin).is_some_and(change)
    }

    /// Makes an update again that was acknowledged before this server began.
    ///
    /// # Errors
    ///
    /// The response code for which it cannot be made.
    pub(crate) fn replay(&mut self, octets: &[u8], peer: SocketAddr) -> Result<(), ResponseCode> {
        let message = Message::from_vec(octets).map_err(|_| ResponseCode::FormErr)?;
        let zone = message.queries.first().map(|query| LowerName::new(query.name()));
        let zone = zone.and_then(|name| self.zones.get_mut(&name)).ok_or(ResponseCode::NotAuth)?;
        if let Some(signature) = message.signature() {
            let (key, mac) = (LowerName::new(&signature.name), signature.data.mac.clone());
            let proof = Proof { key, mac, signed_at: signature.data.time };
            self.keyring.remember(proof, Said { peer, code: ResponseCode::NoError });
        }
        zone.update(&message.authorities).map(|_| ())
    }

    /// Takes in a message.
    pub(crate) fn handle(&mut self, now: Now, octets: &[u8], peer: SocketAddr, via: Via) -> Outcome {
        let (Some(id), Some(flags)) = (octets.first_chunk::<2>(), octets.get(2)) else {
            return self.ignore();
        };
        if octets.len() < SHORTEST || peer.port() == 0 {
            return self.ignore();
        }
        // Whoever answers answers has two servers talk for ever.
        if flags & IS_RESPONSE != 0 {
            self.take_response(now, octets, peer);
            return Outcome::Nothing;
        }
        let request = match Message::from_vec(octets) {
            Ok(request) => request,
            Err(error) => {
                let code = OpCode::from_u8((flags >> 3) & 0xf);
                if code == OpCode::Update {
                    self.count_update("malformed");
                    self.log.warn(now.since_start, format_args!("{peer}: an update is malformed: {error}"));
                } else {
                    *self.counters.questions.entry("malformed".to_owned()).or_default() += 1;
                }
                let response = Message::error_msg(u16::from_be_bytes(*id), code, ResponseCode::FormErr);
                return written(response, None, MOST_UDP);
            }
        };
        match request.metadata.op_code {
            OpCode::Query => self.on_question(now, &request, octets, peer, via),
            OpCode::Update => self.on_update(now, request, octets, peer),
            OpCode::Status | OpCode::Notify | OpCode::Unknown(_) => {
                let mut response = response_to(&request);
                response.metadata.response_code = ResponseCode::NotImp;
                written(response, None, MOST_UDP)
            }
        }
    }

    fn ignore(&mut self) -> Outcome {
        self.counters.ignored += 1;
        Outcome::Nothing
    }

    fn on_question(
        &mut self,
        now: Now,
        request: &Message,
        octets: &[u8],
        peer: SocketAddr,
        via: Via,
    ) -> Outcome {
        let mut response = response_to(request);
        let mut most = if via == Via::Udp { SMALLEST_UDP } else { u16::MAX };
        if let Some(edns) = &request.edns {
            let mut own = Edns::new();
            own.set_max_payload(MOST_UDP);
            response.set_edns(own);
            if via == Via::Udp {
                most = edns.max_payload().clamp(SMALLEST_UDP, MOST_UDP);
            }
            if edns.version() > 0 {
                response.metadata.response_code = ResponseCode::BADVERS;
                return written(response, None, most);
            }
        }
        let (key, signing) = match self.keyring.verify(request, octets, now.unix_s, Memory::NotNeeded) {
            Verdict::Unsigned => (None, None),
            Verdict::By(proof) => {
                let signing = self.keyring.response(&proof, request.metadata.id, now.unix_s);
                (Some(proof.key), signing)
            }
            Verdict::Wrong(fault, context) => {
                self.on_wrong_signature(now, request, peer, fault);
                response.metadata.response_code = ResponseCode::NotAuth;
                return written(response, Some(*context), most);
            }
        };
        let [query] = request.queries.as_slice() else {
            response.metadata.response_code = ResponseCode::FormErr;
            return self.answered(response, signing, most);
        };
        let Some(zone) = self.zone_of(query).filter(|_| query.query_class() == DNSClass::IN) else {
            response.metadata.response_code = ResponseCode::Refused;
            return self.answered(response, signing, most);
        };
        if matches!(query.query_type(), RecordType::AXFR | RecordType::IXFR) {
            let origin = zone.origin().clone();
            return self.transfer(now, &origin, request, Asking { peer, via, key, signing, most });
        }
        answer(zone, query, &mut response);
        self.answered(response, signing, most)
    }

    fn answered(&mut self, response: Message, signing: Option<Signing>, most: u16) -> Outcome {
        let code = label(response.metadata.response_code);
        *self.counters.questions.entry(code).or_default() += 1;
        written(response, signing, most)
    }

    /// Judges who asks; what is asked for is judged when it is made.
    fn on_update(&mut self, now: Now, request: Message, octets: &[u8], peer: SocketAddr) -> Outcome {
        let mut response = response_to(&request);
        match self.keyring.verify(&request, octets, now.unix_s, Memory::Needed) {
            Verdict::By(proof) => {
                Outcome::Update(Box::new(Asked { message: request, octets: octets.to_vec(), peer, proof }))
            }
            Verdict::Unsigned => {
                self.count_update("unsigned");
                self.log.warn(now.since_start, format_args!("{peer}: an update is not signed: refused"));
                response.metadata.response_code = ResponseCode::Refused;
                written(response, None, MOST_UDP)
            }
            Verdict::Wrong(fault, context) => {
                self.count_update(fault.name());
                let key = request.signature().map(|signature| signature.name.to_string());
                let key = key.unwrap_or_default();
                self.log.warn(
                    now.since_start,
                    format_args!("{peer}: an update is not by key {key}: {}", fault.name()),
                );
                response.metadata.response_code = ResponseCode::NotAuth;
                written(response, Some(*context), MOST_UDP)
            }
        }
    }

    /// Makes updates, keeps them all with one wait for the disk, and returns the answer to each.
    pub(crate) fn update(
        &mut self,
        now: Now,
        asked: &[Asked],
        journal: &mut Journal,
    ) -> Vec<Option<Vec<u8>>> {
        let mut made: Vec<(LowerName, Change)> = Vec::new();
        let mut codes = Vec::with_capacity(asked.len());
        for one in asked {
            let (code, outcome) = match self.judge(one) {
                Ok(None) => (ResponseCode::NoError, "no_change"),
                Ok(Some((zone, change))) => {
                    journal.append(&one.octets);
                    made.push((zone, change));
                    (ResponseCode::NoError, "made")
                }
                Err(Refusal { code, outcome }) => (code, outcome),
            };
            if outcome != "made" {
                self.count_update(outcome);
            }
            if code != ResponseCode::NoError {
                let Asked { peer, proof, .. } = one;
                self.log.warn(
                    now.since_start,
                    format_args!("{peer}: an update by key {} is refused: {outcome}, {code}", proof.key),
                );
            }
            // From now on, so that the same update twice in one batch is made once.
            if self.keyring.said(&one.proof).is_none() {
                self.keyring.remember(one.proof.clone(), Said { peer: one.peer, code });
            }
            codes.push(code);
        }
        let count = u64::try_from(made.len()).unwrap_or(u64::MAX);
        match journal.commit() {
            Ok(()) => {
                *self.counters.updates.entry("made".to_owned()).or_default() += count;
                made.iter().for_each(|(zone, _)| self.notify(now, zone));
            }
            Err(error) => {
                tracing::error!(%error, updates = count, "updates cannot be kept, and are not made");
                *self.counters.updates.entry("not_kept".to_owned()).or_default() += count;
                for (zone, change) in made.iter().rev() {
                    if let Some(zone) = self.zones.get_mut(zone) {
                        zone.undo(change);
                    }
                }
                for (code, one) in codes.iter_mut().zip(asked) {
                    if *code == ResponseCode::NoError {
                        *code = ResponseCode::ServFail;
                        self.keyring.forget(&one.proof);
                    }
                }
            }
        }
        let respond = |(one, code): (&Asked, ResponseCode)| {
            let mut response = response_to(&one.message);
            response.metadata.response_code = code;
            let mut signing = self.keyring.response(&one.proof, one.message.metadata.id, now.unix_s)?;
            signing.sign(response)
        };
        asked.iter().zip(codes).map(respond).collect()
    }

    fn judge(&mut self, asked: &Asked) -> Result<Option<(LowerName, Change)>, Refusal> {
        let refusal = |code, outcome| Refusal { code, outcome };
        let Asked { message, peer, proof, .. } = asked;
        if let Some(said) = self.keyring.said(proof) {
            // Whoever has not heard the answer asks the same again, from where it asked before.
            let is_same = said.peer == *peer || said.peer.ip().is_unspecified();
            return Err(if is_same {
                refusal(said.code, "repeated")
            } else {
                refusal(ResponseCode::Refused, "replayed")
            });
        }
        let [query] = message.queries.as_slice() else {
            return Err(refusal(ResponseCode::FormErr, "malformed"));
        };
        if query.query_type() != RecordType::SOA {
            return Err(refusal(ResponseCode::FormErr, "malformed"));
        }
        let origin = LowerName::new(query.name());
        let is_ours = query.query_class() == DNSClass::IN;
        let Some(zone) = self.zones.get_mut(&origin).filter(|_| is_ours) else {
            return Err(refusal(ResponseCode::NotAuth, "not_our_zone"));
        };
        check_prerequisites(zone, &message.answers).map_err(|code| refusal(code, "prerequisite"))?;
        check_updates(zone, &message.authorities).map_err(|code| refusal(code, "malformed"))?;
        let may = |name: &Name| self.keyring.may_change(&proof.key, name);
        if !message.authorities.iter().all(|record| may(&record.name)) {
            return Err(refusal(ResponseCode::Refused, "not_permitted"));
        }
        let change = zone.update(&message.authorities).map_err(|code| refusal(code, "beyond_a_bound"))?;
        Ok(change.map(|change| (origin, change)))
    }

    fn count_update(&mut self, outcome: &str) {
        *self.counters.updates.entry(outcome.to_owned()).or_default() += 1;
    }

    /// Returns the zone that a question is about: the closest one above the name.
    fn zone_of(&self, query: &Query) -> Option<&Zone> {
        let mut name = LowerName::new(query.name());
        loop {
            if let Some(zone) = self.zones.get(&name) {
                return Some(zone);
            }
            if name.is_root() {
                return None;
            }
            name = name.base_name();
        }
    }
}

/// The reason why an update is not made.
struct Refusal {
    code: ResponseCode,
    outcome: &'static str,
}

/// Writes a response of at most so many octets, cut short where it has more (RFC 2181 §9).
fn written(mut response: Message, signing: Option<Signing>, most: u16) -> Outcome {
    let most = if signing.is_some() { most.saturating_sub(ROOM_FOR_SIGNATURE) } else { most };
    let encode = |response: &Message| {
        let mut octets = Vec::with_capacity(512);
        let mut encoder = BinEncoder::new(&mut octets);
        encoder.set_max_size(most);
        response.emit(&mut encoder).ok()?;
        Some(octets)
    };
    let Some(octets) = encode(&response) else { return Outcome::Nothing };
    let is_cut = octets.get(2).is_some_and(|flags| flags & IS_CUT != 0);
    if is_cut {
        response = response.truncate();
    }
    let octets = match signing {
        Some(mut signing) => signing.sign(response),
        None if is_cut => encode(&response),
        None => Some(octets),
    };
    octets.map_or(Outcome::Nothing, |octets| Outcome::Answer(vec![octets]))
}

/// Returns the name of a response code for metrics.
fn label(code: ResponseCode) -> String {
    let names = [
        (ResponseCode::NoError, "answered"),
        (ResponseCode::NXDomain, "no_such_name"),
        (ResponseCode::Refused, "refused"),
    ];
    let name = names.iter().find(|(known, _)| *known == code).map_or("other", |(_, name)| name);
    name.to_owned()
}

/// Lines of a log that others cause: so many a second, and how many more there were.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Quota {
    second: u64,
    written: u32,
    left_out: u64,
}

impl Quota {
    fn warn(&mut self, now: Duration, line: core::fmt::Arguments<'_>) {
        if now.as_secs() != self.second {
            if self.left_out > 0 {
                tracing::warn!("{} more lines were left out", self.left_out);
            }
            *self = Self { second: now.as_secs(), written: 0, left_out: 0 };
        }
        if self.written < LINES_PER_SECOND {
            self.written += 1;
            tracing::warn!("{line}");
        } else {
            self.left_out += 1;
        }
    }
}

const LINES_PER_SECOND: u32 = 50;
/// The octets of a header.
const SHORTEST: usize = 12;
const IS_RESPONSE: u8 = 0x80;
const IS_CUT: u8 = 0x02;
/// Octets over UDP without EDNS (RFC 1035 §4.2.1).
const SMALLEST_UDP: u16 = 512;
/// Octets over UDP that pass every path without fragments.
const MOST_UDP: u16 = 1232;
/// More than a signature by SHA-512 with a long name takes.
const ROOM_FOR_SIGNATURE: u16 = 400;

#[cfg(test)]
mod tests;
