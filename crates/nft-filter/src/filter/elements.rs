//! Elements as messages: of pinholes, and of the registry.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::io::Errno;
use simco::{PolicyRule, PolicyRuleId};
use virtual_time::Instant;

use super::Removes;
use crate::error::NftError;
use crate::netlink::{
    Attributes, Batch, CREATE, DUMP_ATTEMPTS, Dump, NetlinkError, Socket, attribute, attributes, data,
    element, message,
};
use crate::record;
use crate::ruleset::{Key, registries, registry};

/// Writes elements into a transaction.
#[derive(Debug)]
pub(super) struct ElementWriter<'a> {
    pub(super) batch: &'a mut Batch,
    pub(super) table: &'a str,
    pub(super) removal: Removes,
}

impl ElementWriter<'_> {
    /// An element that ends by itself after `remaining`, with octets that mean nothing to the kernel.
    pub(super) fn add(&mut self, set: &str, key: &[u8], value: &Key, remaining: Duration, user_data: &[u8]) {
        self.element(message::NEW_ELEMENT, CREATE, set, |element| {
            write_timed(element, key, value, remaining);
            if !user_data.is_empty() {
                element.octets(element::USER_DATA, user_data);
            }
        });
    }

    /// Gives the set these elements and no others, many in a message; returns whether there are any.
    pub(super) fn refill<'e>(
        &mut self,
        set: &str,
        elements: impl IntoIterator<Item = (&'e [u8], &'e Key, Duration)>,
    ) -> bool {
        let table = self.table;
        self.batch.message(message::DELETE_ELEMENT, 0, |attributes| {
            attributes.text(element::TABLE, table);
            attributes.text(element::SET, set);
        });
        let mut elements = elements.into_iter().peekable();
        let has_any = elements.peek().is_some();
        while elements.peek().is_some() {
            self.batch.message(message::NEW_ELEMENT, CREATE, |attributes| {
                attributes.text(element::TABLE, table);
                attributes.text(element::SET, set);
                attributes.nested(element::ELEMENTS, |list| {
                    for (key, value, remaining) in elements.by_ref().take(ELEMENTS_TO_A_MESSAGE) {
                        list.nested(element::LIST_ELEMENT, |element| {
                            write_timed(element, key, value, remaining);
                        });
                    }
                });
            });
        }
        has_any
    }

    /// No such element any more, whether there was one or not.
    pub(super) fn remove(&mut self, set: &str, key: &[u8], value: &Key) {
        let kind = match self.removal {
            Removes::Destroying => message::DESTROY_ELEMENT,
            Removes::AddingAndDeleting => {
                self.add(set, key, value, Duration::from_secs(1), &[]);
                message::DELETE_ELEMENT
            }
        };
        self.element(kind, 0, set, |element| {
            element.nested(element::KEY, |nested| nested.octets(data::VALUE, key));
        });
    }

    /// Adds an element and takes it away: nothing remains but another generation of the tables.
    pub(super) fn mark(&mut self, set: &str, key: &[u8]) {
        self.add(set, key, &Key::new(), Duration::from_secs(1), &[]);
        self.element(message::DELETE_ELEMENT, 0, set, |element| {
            element.nested(element::KEY, |nested| nested.octets(data::VALUE, key));
        });
    }

    /// Keeps a rule's record.
    pub(super) fn remember(&mut self, now: Instant, rule: &PolicyRule) -> Result<(), NftError> {
        let octets = record::encode(rule)?;
        let remaining = rule.deadline.since(now);
        let mut user_data = Vec::with_capacity(PART_BYTES + 2);
        for (part, octets) in (0..).zip(octets.chunks(PART_BYTES)) {
            user_data.clear();
            user_data.push(RECORD);
            user_data.push(u8::try_from(octets.len()).unwrap_or(u8::MAX));
            user_data.extend_from_slice(octets);
            let (set, key) = (registry(rule.id), registry_key(rule.id, part));
            self.add(set, &key, &Key::new(), remaining, &user_data);
        }
        Ok(())
    }

    /// Drops a rule's record.
    pub(super) fn forget(&mut self, rule: &PolicyRule) -> Result<(), NftError> {
        let parts = record::encode(rule)?.len().div_ceil(PART_BYTES);
        for part in (0..).take(parts) {
            self.remove(registry(rule.id), &registry_key(rule.id, part), &Key::new());
        }
        Ok(())
    }

    fn element(&mut self, kind: u8, flags: u16, set: &str, write: impl FnOnce(&mut Attributes<'_>)) {
        let table = self.table;
        self.batch.message(kind, flags, |attributes| {
            attributes.text(element::TABLE, table);
            attributes.text(element::SET, set);
            attributes.nested(element::ELEMENTS, |list| list.nested(element::LIST_ELEMENT, write));
        });
    }
}

/// Writes an element that ends by itself.
fn write_timed(element: &mut Attributes<'_>, key: &[u8], value: &Key, remaining: Duration) {
    element.nested(element::KEY, |nested| nested.octets(data::VALUE, key));
    if !value.is_empty() {
        element.nested(element::DATA, |nested| nested.octets(data::VALUE, value));
    }
    element.u64(element::TIMEOUT, milliseconds(remaining));
}

/// An element as the kernel lists it.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) key: Key,
    pub(super) remaining: Duration,
    pub(super) user_data: Vec<u8>,
}

/// Returns all elements of a set that live; a set that somebody took away has none.
///
/// The kernel tells them piece by piece and finds its place again by counting. While it moves a set into a larger table, which
/// it does behind its answers, the order changes: one element then comes twice for each that is left out.
pub(super) fn elements(socket: &mut Socket, table: &str, set: &str) -> Result<Vec<Listed>, NetlinkError> {
    for _ in 0..DUMP_ATTEMPTS {
        let (mut found, mut told) = (BTreeMap::new(), 0);
        let ask = |request: &mut Attributes<'_>| {
            request.text(element::TABLE, table);
            request.text(element::SET, set);
        };
        let asked = socket.dump_once(message::GET_ELEMENT, ask, |answer| {
            let list = attribute(answer, element::ELEMENTS).unwrap_or_default();
            for listed in attributes(list).filter_map(|(_, octets)| listed(octets)) {
                told += 1;
                found.insert(listed.key.clone(), listed);
            }
        });
        match asked {
            Ok(Dump::Complete) if found.len() == told => return Ok(found.into_values().collect()),
            Ok(Dump::Complete | Dump::Interrupted) => {}
            Err(NetlinkError::Refused { errno: Errno::NOENT, .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        }
    }
    Err(NetlinkError::KeepsChanging)
}

fn listed(octets: &[u8]) -> Option<Listed> {
    let key = attribute(attribute(octets, element::KEY)?, data::VALUE)?;
    let remaining = attribute(octets, element::EXPIRATION)?.first_chunk()?;
    Some(Listed {
        key: Key::from_slice(key),
        remaining: Duration::from_millis(u64::from_be_bytes(*remaining)),
        user_data: attribute(octets, element::USER_DATA).unwrap_or_default().to_vec(),
    })
}

/// The driver's clock while a table is taken over, which takes the kernel longer than lifetimes are exact.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    now: Instant,
    since: std::time::Instant,
}

impl Clock {
    /// Creates a clock that shows `now` now.
    pub(super) fn starting(now: Instant) -> Self {
        Self { now, since: std::time::Instant::now() }
    }

    pub(super) fn now(&self) -> Instant {
        self.now + self.since.elapsed()
    }
}

/// The policy rules that a table has on record.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) rules: Vec<PolicyRule>,
    /// Keys of records that nobody can read, with the set they are in.
    pub(super) unreadable: Vec<(String, Key)>,
}

/// Reads all records.
pub(super) fn recorded(socket: &mut Socket, table: &str, clock: Clock) -> Result<Recorded, NetlinkError> {
    let mut recorded = Recorded { rules: Vec::new(), unreadable: Vec::new() };
    for set in registries() {
        let mut parts: BTreeMap<u32, BTreeMap<u32, Listed>> = BTreeMap::new();
        let listed = elements(socket, table, set)?;
        let now = clock.now();
        for listed in listed {
            match *listed.key {
                [a, b, c, d, e, f, g, h] => {
                    let (rule, part) = (u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h]));
                    parts.entry(rule).or_default().insert(part, listed);
                }
                _ => recorded.unreadable.push((set.clone(), listed.key)),
            }
        }
        for (number, parts) in parts {
            let octets: Vec<u8> = parts
                .values()
                .flat_map(|part| part.user_data.get(2..).unwrap_or_default())
                .copied()
                .collect();
            let remaining = parts.values().map(|part| part.remaining).min().unwrap_or_default();
            let rule = record::decode(&octets, now + remaining).ok();
            match rule.filter(|rule| rule.id.get() == number && registry(rule.id) == set) {
                Some(rule) => recorded.rules.push(rule),
                None => {
                    let keys = parts.into_values().map(|part| (set.clone(), part.key));
                    recorded.unreadable.extend(keys);
                }
            }
        }
    }
    Ok(recorded)
}

/// Returns the key in the host's order, as nft prints numbers of this type.
fn registry_key(rule: PolicyRuleId, part: u32) -> [u8; 8] {
    let ([a, b, c, d], [e, f, g, h]) = (rule.get().to_ne_bytes(), part.to_ne_bytes());
    [a, b, c, d, e, f, g, h]
}

/// Returns milliseconds, rounded up; never zero, which would be for ever.
fn milliseconds(remaining: Duration) -> u64 {
    u64::try_from(remaining.as_micros().div_ceil(1000)).unwrap_or(u64::MAX).max(1)
}

/// An attribute has 64 KiB at most, an element less than 120 octets.
const ELEMENTS_TO_A_MESSAGE: usize = 500;
/// The kernel takes 256 octets, of which nft reads one for the kind and one for the length.
const PART_BYTES: usize = 240;
/// A kind that nft does not know, and leaves alone.
const RECORD: u8 = 0x48;
