//! Notices: secondaries are told that a zone has changed until they answer (RFC 1996), by their key where they have one.

use std::net::SocketAddr;
use std::time::Duration;

use hickory_proto::op::{Message, MessageType, OpCode, Query};
use hickory_proto::rr::{LowerName, Name, RecordType};

use super::{Now, Service};
use crate::keys::Signed;
use crate::zone::Zone;

/// A secondary that has to be told of a change (RFC 1996).
#[derive(Debug)]
pub(super) struct Notice {
    id: u16,
    /// The key that signs what it is told, and its answer.
    key: Option<LowerName>,
    /// The message as it was sent the first time. It is sent again as it is, so that whichever answer comes is one to it.
    sent: Option<Signed>,
    attempts: u32,
    due: Duration,
}

impl Service {
    /// All secondaries are to be told what there is.
    pub(crate) fn notify_all(&mut self, now: Now) {
        let zones: Vec<LowerName> = self.zones.keys().cloned().collect();
        zones.iter().for_each(|zone| self.notify(now, zone));
    }

    /// The secondaries of a zone are to be told that it has changed; those that are being told are told again.
    pub(super) fn notify(&mut self, now: Now, zone: &LowerName) {
        let due = now.since_start + GATHERING;
        for secondary in self.secondaries.get(zone).into_iter().flat_map(|all| &all.told) {
            self.next_id = self.next_id.wrapping_add(1);
            let (id, key) = (self.next_id, secondary.key.clone());
            let notice = Notice { id, key, sent: None, attempts: 0, due };
            let place = (zone.clone(), secondary.address);
            // One that has not been told yet is told of both changes at once.
            if self.notices.get(&place).is_none_or(|known| known.attempts > 0) {
                self.notices.insert(place, notice);
            }
        }
    }

    /// Returns when a secondary has to be told the next time.
    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        self.notices.values().map(|notice| notice.due).min()
    }

    /// Returns what secondaries have to be told by now.
    pub(crate) fn poll_notices(&mut self, now: Now) -> Vec<(SocketAddr, Vec<u8>)> {
        let mut due = Vec::new();
        self.notices.retain(|(zone, secondary), notice| {
            if notice.due > now.since_start {
                return true;
            }
            if notice.attempts >= MOST_ATTEMPTS {
                tracing::warn!(%secondary, %zone, "a secondary does not answer; it asks by itself when its time has come");
                count(&mut self.counters.notices, "not_answered");
                return false;
            }
            if notice.sent.is_none() {
                let message = notification(notice.id, zone, self.zones.get(zone));
                notice.sent = match &notice.key {
                    Some(key) => self.keyring.sign_request(key, message, now.unix_s),
                    None => message.to_vec().ok().map(|octets| Signed { octets, mac: Vec::new() }),
                };
            }
            let Some(sent) = &notice.sent else {
                tracing::warn!(%secondary, %zone, "a secondary is not told: the configuration has its key no more");
                count(&mut self.counters.notices, "without_key");
                return false;
            };
            notice.due = now.since_start + FIRST_WAIT * 2_u32.pow(notice.attempts);
            notice.attempts += 1;
            due.push((*secondary, sent.octets.clone()));
            true
        });
        due
    }

    /// A secondary that answers has heard, whatever it says; one with a key has to sign that.
    pub(super) fn take_response(&mut self, now: Now, octets: &[u8], peer: SocketAddr) {
        let message = Message::from_vec(octets).ok();
        let id = message.as_ref().map(|message| message.metadata.id);
        let mut waiting = self.notices.iter();
        let found = waiting.find(|((_, secondary), notice)| *secondary == peer && Some(notice.id) == id);
        let Some((place, Notice { key, sent: Some(sent), .. })) = found else {
            self.counters.ignored += 1;
            return;
        };
        let is_proven = |key| self.keyring.is_response_by(key, octets, &sent.mac, now.unix_s);
        if key.as_ref().is_none_or(is_proven) {
            let place = place.clone();
            self.notices.remove(&place);
            count(&mut self.counters.notices, "heard");
            return;
        }
        let error = message.as_ref().and_then(|message| message.signature()).and_then(|own| own.data.error);
        let line = format_args!("{peer}: its answer to NOTIFY is not by the key that it has here: {error:?}");
        self.log.warn(now.since_start, line);
        count(&mut self.counters.notices, "answer_not_signed");
    }
}

/// Returns what a secondary is told: that a zone has changed, and its SOA as it is now.
fn notification(id: u16, origin: &LowerName, zone: Option<&Zone>) -> Message {
    let mut message = Message::new(id, MessageType::Query, OpCode::Notify);
    message.metadata.authoritative = true;
    message.add_query(Query::query(Name::from(origin), RecordType::SOA));
    message.answers.extend(zone.and_then(Zone::soa).cloned());
    message
}

fn count(counters: &mut std::collections::BTreeMap<String, u64>, outcome: &str) {
    *counters.entry(outcome.to_owned()).or_default() += 1;
}

/// Changes that come together are told together.
const GATHERING: Duration = Duration::from_millis(20);
/// The wait for a secondary's answer, doubled each time.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const MOST_ATTEMPTS: u32 = 5;
