//! The bounds of what an update may ask for: its form, its names, and its prerequisites (RFC 2136 §3.1 to §3.4.1).

use std::collections::BTreeMap;

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::{DNSClass, LowerName, Record, RecordData, RecordType};

use crate::zone::Zone;

/// Checks the prerequisites against the zone as it is.
///
/// # Errors
///
/// The response code that the RFC gives for the first one that does not hold.
pub(crate) fn check_prerequisites(zone: &Zone, prerequisites: &[Record]) -> Result<(), ResponseCode> {
    // Sets that have to be there exactly so, by name and type.
    let mut wanted: BTreeMap<(LowerName, u16), Vec<&Record>> = BTreeMap::new();
    for record in prerequisites {
        let name = LowerName::new(&record.name);
        if record.ttl != 0 {
            return Err(ResponseCode::FormErr);
        }
        if !zone.origin().zone_of(&name) {
            return Err(ResponseCode::NotZone);
        }
        let kind = record.record_type();
        let is_in_use = || zone.node(&name).is_some_and(|node| !node.is_empty());
        let is_there = || zone.records(&name, kind).next().is_some();
        match (record.dns_class, record.data.is_update()) {
            (DNSClass::ANY, true) if kind == RecordType::ANY => {
                is_in_use().then_some(()).ok_or(ResponseCode::NXDomain)?;
            }
            (DNSClass::ANY, true) => is_there().then_some(()).ok_or(ResponseCode::NXRRSet)?,
            (DNSClass::NONE, true) if kind == RecordType::ANY => {
                (!is_in_use()).then_some(()).ok_or(ResponseCode::YXDomain)?;
            }
            (DNSClass::NONE, true) => (!is_there()).then_some(()).ok_or(ResponseCode::YXRRSet)?,
            (DNSClass::IN, false) => wanted.entry((name, kind.into())).or_default().push(record),
            _ => return Err(ResponseCode::FormErr),
        }
    }
    for ((name, kind), records) in wanted {
        let there: Vec<_> = zone.records(&name, kind.into()).collect();
        let all_wanted = there.iter().all(|record| records.iter().any(|wanted| wanted.data == record.data));
        let all_there = records.iter().all(|wanted| there.iter().any(|record| record.data == wanted.data));
        if !all_wanted || !all_there {
            return Err(ResponseCode::NXRRSet);
        }
    }
    Ok(())
}

/// Checks the form of updates, before any is made (RFC 2136 §3.4.1).
///
/// # Errors
///
/// The response code: no record for a zone, another zone's name, or a type that updates may not have here.
pub(crate) fn check_updates(zone: &Zone, updates: &[Record]) -> Result<(), ResponseCode> {
    for record in updates {
        if !zone.origin().zone_of(&LowerName::new(&record.name)) {
            return Err(ResponseCode::NotZone);
        }
        let kind = record.record_type();
        let is_empty = record.data.is_update();
        let is_formed = match record.dns_class {
            DNSClass::IN => !is_empty && !is_question(kind),
            DNSClass::ANY => record.ttl == 0 && is_empty && (kind == RecordType::ANY || !is_question(kind)),
            DNSClass::NONE => record.ttl == 0 && !is_empty && !is_question(kind),
            DNSClass::CH | DNSClass::HS | DNSClass::OPT(_) | DNSClass::Unknown(_) => false,
        };
        if !is_formed {
            return Err(ResponseCode::FormErr);
        }
        // The configuration says who serves the zone, nothing is delegated, and nothing is signed.
        if record.dns_class == DNSClass::IN && is_of_configuration(kind) {
            return Err(ResponseCode::Refused);
        }
        if record.ttl > LONGEST_TTL {
            return Err(ResponseCode::FormErr);
        }
    }
    Ok(())
}

/// Returns whether only questions have this type.
fn is_question(kind: RecordType) -> bool {
    matches!(kind, RecordType::ANY | RecordType::AXFR | RecordType::IXFR | RecordType::OPT | RecordType::TSIG)
        || (128..=255).contains(&u16::from(kind))
}

fn is_of_configuration(kind: RecordType) -> bool {
    matches!(
        kind,
        RecordType::SOA
            | RecordType::NS
            | RecordType::DS
            | RecordType::DNSKEY
            | RecordType::RRSIG
            | RecordType::NSEC
            | RecordType::NSEC3
            | RecordType::NSEC3PARAM
    ) || u16::from(kind) == DNAME
}

const DNAME: u16 = 39;
/// The longest time to live (RFC 2181 §8).
const LONGEST_TTL: u32 = 0x7fff_ffff;
