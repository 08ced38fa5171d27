//! The zone that tests have in common.

pub(crate) mod verifier;

use std::str::FromStr;

use hickory_proto::rr::rdata::{CNAME, NS, SOA, SRV};
use hickory_proto::rr::{Name, RData, Record};

use crate::zone::{Zone, ZoneBounds};

pub(crate) fn name(text: &str) -> Name {
    let mut name = Name::from_str(text).unwrap();
    name.set_fqdn(true);
    name
}

/// Creates a record with an address.
pub(crate) fn record(of: &str, ttl: u32, address: &str) -> Record {
    Record::from_rdata(name(of), ttl, RData::from(address.parse::<std::net::IpAddr>().unwrap()))
}

pub(crate) fn soa(serial: u32) -> Record {
    let soa = SOA::new(name("ns.example.org"), name("admin.example.org"), serial, 60, 10, 3600, 5);
    Record::from_rdata(name("example.org"), 60, RData::SOA(soa))
}

pub(crate) const BOUNDS: ZoneBounds = ZoneBounds { names: 20, records_per_name: 4, history: 100 };

pub(crate) fn zone() -> Zone {
    let of = |text: &str, data| Record::from_rdata(name(text), 60, data);
    let records = [
        soa(7),
        of("example.org", RData::NS(NS(name("ns.example.org")))),
        record("ns.example.org", 60, "192.0.2.53"),
        record("phone.example.org", 5, "192.0.2.9"),
        record("phone.example.org", 5, "192.0.2.1"),
        of("alias.example.org", RData::CNAME(CNAME(name("phone.example.org")))),
        of("_x._sctp.example.org", RData::SRV(SRV::new(1, 0, 5060, name("phone.example.org")))),
    ];
    Zone::new(&name("example.org"), records, BOUNDS)
}
