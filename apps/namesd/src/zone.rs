//! A zone: its names with their records, and the changes that led to its serial number.

use std::collections::{BTreeMap, VecDeque};

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::rdata::SOA;
use hickory_proto::rr::{DNSClass, LowerName, Name, RData, Record, RecordType};

use crate::answer::size;

/// A zone that this server is the primary of.
#[derive(Clone, Debug)]
pub(crate) struct Zone {
    origin: LowerName,
    /// The records of each name, in the order in which they were added.
    nodes: BTreeMap<LowerName, Vec<Record>>,
    /// The changes that a secondary lacks that has an earlier serial number, oldest first.
    history: VecDeque<Change>,
    bounds: ZoneBounds,
}

/// How much a zone may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ZoneBounds {
    pub(crate) names: usize,
    pub(crate) records_per_name: usize,
    /// Changes that secondaries can be told of one by one; beyond them they are told everything.
    pub(crate) history: usize,
}

/// The change that an update made: it leads from one serial number to the next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Change {
    pub(crate) from: Record,
    pub(crate) to: Record,
    pub(crate) removed: Vec<Record>,
    pub(crate) added: Vec<Record>,
}

impl Zone {
    /// Creates a zone of these records; the first one of type SOA at the origin is what it begins with.
    pub(crate) fn new(origin: &Name, records: impl IntoIterator<Item = Record>, bounds: ZoneBounds) -> Self {
        let mut zone =
            Self { origin: LowerName::new(origin), nodes: BTreeMap::new(), history: VecDeque::new(), bounds };
        for record in records {
            zone.nodes.entry(LowerName::new(&record.name)).or_default().push(record);
        }
        zone
    }

    pub(crate) const fn origin(&self) -> &LowerName {
        &self.origin
    }

    /// Returns the record of type SOA; every zone has one.
    pub(crate) fn soa(&self) -> Option<&Record> {
        self.records(&self.origin, RecordType::SOA).next()
    }

    pub(crate) fn serial(&self) -> u32 {
        self.soa().and_then(|record| soa_of(record)).map_or(0, |soa| soa.serial)
    }

    pub(crate) fn names(&self) -> usize {
        self.nodes.len()
    }

    /// Returns all records of a name; `None` if there is no such name, neither with records nor above one that has.
    pub(crate) fn node(&self, name: &LowerName) -> Option<&[Record]> {
        let (next, records) = self.nodes.range(name..).next()?;
        if next == name {
            return Some(records);
        }
        // Names below follow at once, in the order of names.
        name.zone_of(next).then_some(&[])
    }

    /// Returns the records of a type.
    pub(crate) fn records<'a>(
        &'a self,
        name: &LowerName,
        kind: RecordType,
    ) -> impl Iterator<Item = &'a Record> + use<'a> {
        let node = self.nodes.get(name).map_or(&[][..], Vec::as_slice);
        node.iter().filter(move |record| record.record_type() == kind)
    }

    /// Returns all records but that of type SOA.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Record> {
        self.nodes.values().flatten().filter(|record| record.record_type() != RecordType::SOA)
    }

    /// Returns the changes since a serial number, if they are all known.
    pub(crate) fn since(&self, serial: u32) -> Option<impl Iterator<Item = &Change>> {
        let begins = |change: &Change| soa_of(&change.from).is_some_and(|soa| soa.serial == serial);
        let first = self.history.iter().position(begins)?;
        Some(self.history.range(first..))
    }

    /// Makes the changes of an update (RFC 2136 §3.4.2), all or none; `None` if they change nothing.
    ///
    /// # Errors
    ///
    /// The response code: a bound would be broken.
    pub(crate) fn update(&mut self, updates: &[Record]) -> Result<Option<Change>, ResponseCode> {
        let mut change = Difference::default();
        for update in updates {
            if let Err(code) = self.apply(update, &mut change) {
                self.restore(&change.removed, &change.added);
                return Err(code);
            }
        }
        if change.removed.is_empty() && change.added.is_empty() {
            return Ok(None);
        }
        let Some(from) = self.soa().cloned() else { return Err(ResponseCode::ServFail) };
        let mut to = from.clone();
        if let RData::SOA(soa) = &mut to.data {
            soa.increment_serial();
        }
        self.replace_soa(&to);
        let change = Change { from, to, removed: change.removed, added: change.added };
        self.history.push_back(change.clone());
        while self.history.len() > self.bounds.history {
            self.history.pop_front();
        }
        Ok(Some(change))
    }

    /// Takes back the last change.
    pub(crate) fn undo(&mut self, change: &Change) {
        self.restore(&change.removed, &change.added);
        self.replace_soa(&change.from);
        self.history.pop_back();
    }

    /// Sets the record of type SOA.
    pub(crate) fn replace_soa(&mut self, soa: &Record) {
        let node = self.nodes.entry(self.origin.clone()).or_default();
        node.retain(|record| record.record_type() != RecordType::SOA);
        node.insert(0, soa.clone());
    }

    /// Returns whether these are the servers of the zone, with these addresses and no others.
    pub(crate) fn has_servers(&self, servers: &[Record]) -> bool {
        servers.iter().all(|server| {
            let (name, kind) = (LowerName::new(&server.name), server.record_type());
            let wanted =
                servers.iter().filter(|other| other.record_type() == kind && other.name == server.name);
            self.records(&name, kind).count() == wanted.count()
                && self.records(&name, kind).any(|record| is_exactly(record, server))
        })
    }

    /// Sets the servers of the zone, and their addresses; what secondaries are told one by one begins anew.
    pub(crate) fn set_servers(&mut self, servers: &[Record]) {
        if let Some(node) = self.nodes.get_mut(&self.origin) {
            node.retain(|record| record.record_type() != RecordType::NS);
        }
        let addresses = || servers.iter().filter(|server| server.record_type() != RecordType::NS);
        for server in addresses() {
            if let Some(node) = self.nodes.get_mut(&LowerName::new(&server.name)) {
                node.retain(|record| record.data.ip_addr().is_none());
            }
        }
        for server in servers {
            self.nodes.entry(LowerName::new(&server.name)).or_default().push(server.clone());
        }
        self.history.clear();
    }

    fn apply(&mut self, update: &Record, difference: &mut Difference) -> Result<(), ResponseCode> {
        let name = LowerName::new(&update.name);
        let (class, kind) = (update.dns_class, update.record_type());
        match class {
            DNSClass::ANY if kind == RecordType::ANY => {
                self.remove(&name, difference, |record| !is_kept(record));
            }
            DNSClass::ANY => {
                self.remove(&name, difference, |record| record.record_type() == kind && !is_kept(record));
            }
            DNSClass::NONE => {
                self.remove(&name, difference, |record| record.data == update.data && !is_kept(record));
            }
            DNSClass::IN | DNSClass::CH | DNSClass::HS | DNSClass::OPT(_) | DNSClass::Unknown(_) => {
                return self.add(&name, update, difference);
            }
        }
        Ok(())
    }

    fn remove(&mut self, name: &LowerName, difference: &mut Difference, is_gone: impl Fn(&Record) -> bool) {
        let Some(node) = self.nodes.get_mut(name) else { return };
        let (gone, left): (Vec<_>, Vec<_>) =
            core::mem::take(node).into_iter().partition(|record| is_gone(record));
        *node = left;
        if node.is_empty() {
            self.nodes.remove(name);
        }
        gone.into_iter().for_each(|record| difference.remove(record));
    }

    fn add(
        &mut self,
        name: &LowerName,
        update: &Record,
        difference: &mut Difference,
    ) -> Result<(), ResponseCode> {
        let names = self.nodes.len();
        let node = self.nodes.entry(name.clone()).or_default();
        let kind = update.record_type();
        // A name has an alias or other records, never both (RFC 2136 §3.4.2.2): what does not fit is left out.
        let is_alias = kind == RecordType::CNAME;
        let fits = node.iter().all(|record| (record.record_type() == RecordType::CNAME) == is_alias);
        if !fits {
            return Ok(());
        }
        let is_same = |record: &&Record| record.data == update.data;
        if node.iter().find(is_same).is_some_and(|record| record.ttl == update.ttl) {
            return Ok(());
        }
        if size(update) > MOST_OCTETS || node.is_empty() && names >= self.bounds.names {
            if node.is_empty() {
                self.nodes.remove(name);
            }
            return Err(ResponseCode::Refused);
        }
        // All records of a type have one time to live (RFC 2181 §5.2), and a name one alias.
        for record in node.iter_mut().filter(|record| record.record_type() == kind) {
            if record.data == update.data || record.ttl != update.ttl || is_alias {
                difference.remove(record.clone());
                record.ttl = update.ttl;
                if record.data != update.data && !is_alias {
                    difference.add(record.clone());
                }
            }
        }
        node.retain(|record| record.data != update.data && !(is_alias && record.record_type() == kind));
        if node.len() >= self.bounds.records_per_name {
            // What was taken out just now is put back by who asked.
            return Err(ResponseCode::Refused);
        }
        let mut record = Record::from_rdata(update.name.clone(), update.ttl, update.data.clone());
        record.dns_class = DNSClass::IN;
        node.push(record.clone());
        difference.add(record);
        Ok(())
    }

    /// Goes back: takes out what was added, and puts back what was removed.
    fn restore(&mut self, removed: &[Record], added: &[Record]) {
        for record in added {
            let name = LowerName::new(&record.name);
            if let Some(node) = self.nodes.get_mut(&name) {
                node.retain(|other| other.data != record.data);
                if node.is_empty() {
                    self.nodes.remove(&name);
                }
            }
        }
        for record in removed {
            let node = self.nodes.entry(LowerName::new(&record.name)).or_default();
            node.retain(|other| other.data != record.data);
            node.push(record.clone());
        }
    }
}

/// The records that differ so far, without those that come and go again.
#[derive(Debug, Default)]
struct Difference {
    removed: Vec<Record>,
    added: Vec<Record>,
}

impl Difference {
    fn remove(&mut self, record: Record) {
        match self.added.iter().position(|added| is_exactly(added, &record)) {
            Some(place) => drop(self.added.remove(place)),
            None => self.removed.push(record),
        }
    }

    fn add(&mut self, record: Record) {
        match self.removed.iter().position(|removed| is_exactly(removed, &record)) {
            Some(place) => drop(self.removed.remove(place)),
            None => self.added.push(record),
        }
    }
}

/// Returns whether two records have everything in common, the time to live, too.
fn is_exactly(one: &Record, other: &Record) -> bool {
    one == other && one.ttl == other.ttl
}

/// Returns whether no update takes a record away: the configuration says what serves the zone.
fn is_kept(record: &Record) -> bool {
    matches!(record.record_type(), RecordType::SOA | RecordType::NS)
}

/// Returns the data of a record of type SOA.
pub(crate) const fn soa_of(record: &Record) -> Option<&SOA> {
    if let RData::SOA(soa) = &record.data { Some(soa) } else { None }
}

/// The octets that a record may have.
const MOST_OCTETS: usize = 16_000;

#[cfg(test)]
mod tests {
    use hickory_proto::rr::rdata::CNAME;

    use super::*;
    use crate::testing::{name, record, zone};

    fn of_class(class: DNSClass, mut record: Record) -> Record {
        (record.dns_class, record.ttl) = (class, 0);
        record
    }

    fn addresses(zone: &Zone, of: &str) -> Vec<(String, u32)> {
        let node = zone.node(&LowerName::new(&name(of))).unwrap_or_default();
        node.iter().map(|record| (record.data.to_string(), record.ttl)).collect()
    }

    #[test]
    fn records_are_added_once_and_have_one_time_to_live() {
        let mut zone = zone();
        assert_eq!(zone.update(&[record("phone.example.org", 5, "192.0.2.9")]), Ok(None));
        let change = zone.update(&[record("phone.example.org", 9, "192.0.2.7")]).unwrap().unwrap();
        assert_eq!((change.removed.len(), change.added.len()), (2, 3));
        let found = addresses(&zone, "phone.example.org");
        let expected = ["192.0.2.9", "192.0.2.1", "192.0.2.7"].map(|address| (address.to_owned(), 9));
        assert_eq!((found, zone.serial()), (expected.to_vec(), 8));
    }

    #[test]
    fn records_go_one_by_one_by_type_or_with_their_name_but_never_those_of_the_configuration() {
        let mut zone = zone();
        let one = of_class(DNSClass::NONE, record("phone.example.org", 0, "192.0.2.1"));
        zone.update(&[one]).unwrap().unwrap();
        assert_eq!(addresses(&zone, "phone.example.org").len(), 1);
        let kind = of_class(DNSClass::ANY, Record::update0(name("phone.example.org"), 0, RecordType::A));
        zone.update(&[kind]).unwrap().unwrap();
        assert_eq!(zone.node(&LowerName::new(&name("phone.example.org"))), None);
        let all = of_class(DNSClass::ANY, Record::update0(name("example.org"), 0, RecordType::ANY));
        assert_eq!(zone.update(&[all]), Ok(None));
        assert_eq!(addresses(&zone, "example.org").len(), 2);
    }

    #[test]
    fn a_name_has_an_alias_or_records() {
        let mut zone = zone();
        let alias = |of: &str, to: &str| Record::from_rdata(name(of), 60, RData::CNAME(CNAME(name(to))));
        assert_eq!(zone.update(&[alias("phone.example.org", "ns.example.org")]), Ok(None));
        assert_eq!(zone.update(&[record("alias.example.org", 5, "192.0.2.1")]), Ok(None));
        zone.update(&[alias("alias.example.org", "ns.example.org")]).unwrap().unwrap();
        assert_eq!(addresses(&zone, "alias.example.org"), [("ns.example.org.".to_owned(), 60)]);
    }

    #[test]
    fn bounds_hold_and_what_breaks_one_changes_nothing() {
        let mut zone = zone();
        let before = format!("{:?}", zone.nodes);
        let mut many: Vec<Record> =
            (0..9).map(|last| record("new.example.org", 5, &format!("192.0.2.{last}"))).collect();
        many.push(of_class(DNSClass::NONE, record("phone.example.org", 0, "192.0.2.1")));
        assert_eq!(zone.update(&many), Err(ResponseCode::Refused));
        let names: Vec<Record> =
            (0..30).map(|of| record(&format!("n{of}.example.org"), 5, "192.0.2.1")).collect();
        assert_eq!(zone.update(&names), Err(ResponseCode::Refused));
        assert_eq!((format!("{:?}", zone.nodes), zone.serial()), (before, 7));
    }

    #[test]
    fn the_last_change_can_be_taken_back() {
        let mut zone = zone();
        let before = format!("{:?}", zone.all().collect::<std::collections::BTreeSet<_>>());
        let gone = of_class(DNSClass::ANY, Record::update0(name("phone.example.org"), 0, RecordType::ANY));
        let change = zone.update(&[gone, record("phone.example.org", 1, "192.0.2.77")]).unwrap().unwrap();
        zone.undo(&change);
        let after = format!("{:?}", zone.all().collect::<std::collections::BTreeSet<_>>());
        assert_eq!((before, zone.serial(), zone.since(7).is_none()), (after, 7, true));
    }

    #[test]
    fn what_comes_and_goes_in_one_update_is_no_change() {
        let mut zone = zone();
        let gone = of_class(DNSClass::NONE, record("phone.example.org", 0, "192.0.2.1"));
        assert_eq!(zone.update(&[gone, record("phone.example.org", 5, "192.0.2.1")]), Ok(None));
    }
}
