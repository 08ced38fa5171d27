//! Notices: secondaries are told that a zone has changed until they answer (RFC 1996).

use std::net::SocketAddr;
use std::time::Duration;

use hickory_proto::op::{Message, MessageType, OpCode, Query};
use hickory_proto::rr::{LowerName, Name, RecordType};

use super::{Now, Service};
use crate::zone::Zone;

/// A secondary that has to be told of a change (RFC 1996).
#[derive(Debug)]
pub(super) struct Notice {
    id: u16,
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
        for secondary in self.secondaries.get(zone).into_iter().flatten() {
            self.next_id = self.next_id.wrapping_add(1);
            let notice = Notice { id: self.next_id, attempts: 0, due: now.since_start + GATHERING };
            let place = self.notices.entry((zone.clone(), *secondary));
            place
                .and_modify(|known| {
                    if known.attempts > 0 {
                        *known = Notice { id: self.next_id, attempts: 0, due: now.since_start + GATHERING };
                    }
                })
                .or_insert(notice);
        }
    }

    /// Returns when a secondary has to be told the next time.
    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        self.notices.values().map(|notice| notice.due).min()
    }

    /// Returns what secondaries have to be told by now.
    pub(crate) fn poll_notices(&mut self, now: Duration) -> Vec<(SocketAddr, Vec<u8>)> {
        let mut due = Vec::new();
        self.notices.retain(|(zone, secondary), notice| {
            if notice.due > now {
                return true;
            }
            if notice.attempts >= MOST_ATTEMPTS {
                tracing::warn!(%secondary, %zone, "a secondary does not answer; it asks by itself when its time has come");
                return false;
            }
            notice.due = now + FIRST_WAIT * 2_u32.pow(notice.attempts);
            notice.attempts += 1;
            let mut message = Message::new(notice.id, MessageType::Query, OpCode::Notify);
            message.metadata.authoritative = true;
            message.add_query(Query::query(Name::from(zone), RecordType::SOA));
            message.answers.extend(self.zones.get(zone).and_then(Zone::soa).cloned());
            due.extend(message.to_vec().ok().map(|octets| (*secondary, octets)));
            true
        });
        due
    }

    /// A secondary that answers has heard, whatever it says.
    pub(super) fn take_response(&mut self, octets: &[u8], peer: SocketAddr) {
        let Ok(message) = Message::from_vec(octets) else {
            self.counters.ignored += 1;
            return;
        };
        let before = self.notices.len();
        self.notices.retain(|(_, secondary), notice| {
            *secondary != peer || notice.id != message.metadata.id || notice.attempts == 0
        });
        self.counters.ignored += u64::from(before == self.notices.len());
    }
}

/// Changes that come together are told together.
const GATHERING: Duration = Duration::from_millis(20);
/// The wait for a secondary's answer, doubled each time.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const MOST_ATTEMPTS: u32 = 5;
