//! Answers to questions about the zones (RFC 1034 §4.3.2), and what secondaries are sent (RFC 5936, RFC 1995).

use hickory_proto::op::{Message, Metadata, Query, ResponseCode};
use hickory_proto::rr::{LowerName, RData, Record, RecordType};
use hickory_proto::serialize::binary::BinEncodable;

use crate::zone::{Change, Zone, soa_of};

/// Writes into `response` what a zone says to a question.
pub(crate) fn answer(zone: &Zone, query: &Query, response: &mut Message) {
    response.metadata.authoritative = true;
    let kind = query.query_type();
    let mut name = LowerName::new(query.name());
    for _ in 0..LONGEST_CHAIN {
        let Some(node) = zone.node(&name) else {
            response.metadata.response_code = ResponseCode::NXDomain;
            response.authorities.extend(negative(zone));
            return;
        };
        let found = node.iter().filter(|record| kind == RecordType::ANY || record.record_type() == kind);
        let before = response.answers.len();
        response.answers.extend(found.cloned());
        if response.answers.len() > before {
            break;
        }
        let alias = node.iter().find_map(|record| {
            let RData::CNAME(target) = &record.data else { return None };
            Some((record, LowerName::new(&target.0)))
        });
        let Some((record, target)) = alias else {
            response.authorities.extend(negative(zone));
            return;
        };
        response.answers.push(record.clone());
        if !zone.origin().zone_of(&target) {
            return;
        }
        name = target;
    }
    add_addresses(zone, response);
}

/// The addresses of what the answer names, which the other side asks for next.
fn add_addresses(zone: &Zone, response: &mut Message) {
    let target = |record: &Record| {
        if let RData::SRV(srv) = &record.data {
            Some(LowerName::new(&srv.target))
        } else if let RData::NS(server) = &record.data {
            Some(LowerName::new(&server.0))
        } else if let RData::MX(mail) = &record.data {
            Some(LowerName::new(&mail.exchange))
        } else {
            None
        }
    };
    let targets: Vec<LowerName> = response.answers.iter().filter_map(target).collect();
    for target in targets {
        for kind in [RecordType::A, RecordType::AAAA] {
            response.additionals.extend(zone.records(&target, kind).cloned());
        }
    }
}

/// Returns the record that says how long an answer is no (RFC 2308 §3).
fn negative(zone: &Zone) -> Option<Record> {
    let mut record = zone.soa()?.clone();
    record.ttl = record.ttl.min(soa_of(&record)?.minimum);
    Some(record)
}

/// Returns a whole zone, in messages (RFC 5936 §2.2).
pub(crate) fn whole(zone: &Zone, request: &Message) -> Vec<Message> {
    let Some(soa) = zone.soa() else { return Vec::new() };
    let records = core::iter::once(soa).chain(zone.all()).chain(core::iter::once(soa));
    packed(request, records)
}

/// Returns what a secondary with this serial number lacks: the changes, or everything where they are not known any more
/// (RFC 1995 §4).
pub(crate) fn increments<'a>(zone: &'a Zone, request: &Message, serial: u32) -> Vec<Message> {
    let Some(soa) = zone.soa() else { return Vec::new() };
    if serial == zone.serial() {
        return packed(request, core::iter::once(soa));
    }
    let Some(changes) = zone.since(serial) else { return whole(zone, request) };
    let of = |change: &'a Change| {
        let Change { from, to, removed, added } = change;
        core::iter::once(from).chain(removed).chain(core::iter::once(to)).chain(added)
    };
    packed(request, core::iter::once(soa).chain(changes.flat_map(of)).chain(core::iter::once(soa)))
}

/// Deals records to messages of a moderate size; a record alone may make one larger.
fn packed<'a>(request: &Message, records: impl Iterator<Item = &'a Record>) -> Vec<Message> {
    let empty = |queries: Vec<Query>| {
        let mut message = response_to(request);
        message.metadata.authoritative = true;
        message.queries = queries;
        message
    };
    let mut messages = Vec::new();
    let mut last = empty(request.queries.clone());
    let mut octets = 0;
    for record in records {
        octets += size(record);
        if octets > OCTETS_PER_MESSAGE && !last.answers.is_empty() {
            messages.push(core::mem::replace(&mut last, empty(Vec::new())));
            octets = size(record);
        }
        last.answers.push(record.clone());
    }
    messages.push(last);
    messages
}

/// Returns how many octets a record takes, uncompressed.
pub(crate) fn size(record: &Record) -> usize {
    record.to_bytes().map_or(usize::MAX, |octets| octets.len())
}

/// Returns the response to a request, empty.
pub(crate) fn response_to(request: &Message) -> Message {
    let mut response = Message::response(request.metadata.id, request.metadata.op_code);
    response.metadata = Metadata::response_from_request(&request.metadata);
    response.queries.clone_from(&request.queries);
    response
}

/// Aliases that are followed, one to the next.
const LONGEST_CHAIN: usize = 8;
/// Octets of the records of a message.
const OCTETS_PER_MESSAGE: usize = 16_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{name, record, zone};

    fn asked(name_of: &str, kind: RecordType) -> Message {
        let mut message = Message::query();
        message.add_query(Query::query(name(name_of), kind));
        let mut response = response_to(&message);
        answer(&zone(), &message.queries[0], &mut response);
        response
    }

    #[test]
    fn addresses_come_in_the_order_in_which_they_were_added() {
        let response = asked("phone.example.org", RecordType::A);
        let found: Vec<String> = response.answers.iter().map(|record| record.data.to_string()).collect();
        assert_eq!(
            (found, response.metadata.authoritative),
            (vec!["192.0.2.9".into(), "192.0.2.1".into()], true)
        );
    }

    #[test]
    fn what_is_not_there_is_told_from_what_has_no_such_record() {
        // RFC 2308 §2: also a name that only has others below it exists.
        for (of, kind, code) in [
            ("nobody.example.org", RecordType::A, ResponseCode::NXDomain),
            ("phone.example.org", RecordType::TXT, ResponseCode::NoError),
            ("_sctp.example.org", RecordType::A, ResponseCode::NoError),
        ] {
            let response = asked(of, kind);
            assert_eq!((response.metadata.response_code, response.answers.len()), (code, 0), "{of}");
            let soa = &response.authorities[0];
            assert_eq!((soa.record_type(), soa.ttl), (RecordType::SOA, 5));
        }
    }

    #[test]
    fn aliases_and_services_bring_the_addresses_along() {
        let response = asked("ALIAS.example.org", RecordType::A);
        assert_eq!(response.answers.len(), 3);
        let response = asked("_x._sctp.example.org", RecordType::SRV);
        assert_eq!((response.answers.len(), response.additionals.len()), (1, 2));
    }

    #[test]
    fn a_secondary_gets_the_changes_it_lacks_or_everything() {
        let mut zone = zone();
        let first = zone.serial();
        for address in ["192.0.2.50", "192.0.2.51"] {
            zone.update(&[record("new.example.org", 5, address)]).unwrap().unwrap();
        }
        let request = Message::query();
        let count =
            |messages: Vec<Message>| messages.iter().map(|message| message.answers.len()).sum::<usize>();
        // SOA, twice (SOA, SOA, one added), SOA; everything: two SOA and all the rest; what is up to date: one SOA.
        assert_eq!(count(increments(&zone, &request, first)), 8);
        assert_eq!(count(increments(&zone, &request, first - 1)), zone.all().count() + 2);
        assert_eq!(count(increments(&zone, &request, first + 2)), 1);
    }
}
