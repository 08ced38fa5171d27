//! The beginning: what the folder has kept, brought in line with the configuration.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::{LowerName, RData, Record, RecordType};

use crate::answer::whole;
use crate::config::{Settings, ZoneSettings};
use crate::journal::{Journal, JournalError};
use crate::keys::Keyring;
use crate::service::Service;
use crate::zone::{Zone, soa_of};

/// The reason why what is kept cannot be served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("server.folder = {}: {because}", folder.display())]
    Folder { folder: PathBuf, because: io::Error },
    /// What is kept is of a zone that the configuration does not have any more.
    #[error(
        "zones.\"{zone}\": the configuration has no such table, but {records} records of this zone are in {}; put it back, or move the folder away",
        folder.display()
    )]
    Unserved { zone: LowerName, records: usize, folder: PathBuf },
    /// A message of the snapshot is whole and no message.
    #[error("names.snapshot in {}: message {number} cannot be read: {because}", folder.display())]
    Snapshot { number: usize, because: String, folder: PathBuf },
    /// An update was acknowledged and cannot be made again.
    #[error(
        "names.journal in {}: update {number} cannot be made again ({because}); names and records_per_name of its zone have to be what they were",
        folder.display()
    )]
    Lost { number: usize, because: ResponseCode, folder: PathBuf },
}

/// Opens the folder, and returns the service of what is in it. What was acknowledged and cannot be served is an error, and stays.
pub(crate) fn open(settings: &Settings, unix_s: u64) -> Result<(Service, Journal), StartError> {
    let folder = settings.folder.clone();
    std::fs::create_dir_all(&folder)
        .map_err(|because| StartError::Folder { folder: folder.clone(), because })?;
    let (mut journal, kept) = Journal::open(&folder)?;
    if kept.cut_off > 0 {
        tracing::warn!(
            octets = kept.cut_off,
            "the end of the journal was cut short, by a crash, and nobody had been answered"
        );
    }
    let mut records = by_zone(&kept.zones, &folder)?;
    // A serial number that is ahead of any that this server may have had and lost.
    let first = u32::try_from(unix_s).unwrap_or(u32::MAX);
    let mut zones = Vec::new();
    for zone in &settings.zones {
        let known = records.remove(&LowerName::new(&zone.origin));
        let fresh = || vec![with_serial(&zone.soa, first)];
        zones.push((
            Zone::new(&zone.origin, known.unwrap_or_else(fresh), zone.bounds),
            zone.secondaries.clone(),
        ));
    }
    if let Some((zone, records)) = records.pop_first() {
        return Err(StartError::Unserved { zone, records: records.len(), folder });
    }
    let was_empty = kept.zones.is_empty() && kept.updates.is_empty();
    let mut service = Service::new(zones, Keyring::new(settings.keys.iter().cloned(), unix_s));
    let unspecified = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    for (number, octets) in (1..).zip(&kept.updates) {
        if let Err(because) = service.replay(octets, unspecified) {
            return Err(StartError::Lost { number, because, folder });
        }
    }
    tracing::info!(updates = kept.updates.len(), "the journal was read");
    let mut is_changed = was_empty;
    for zone in &settings.zones {
        is_changed |= service.with_zone(&LowerName::new(&zone.origin), |kept| align(kept, zone));
    }
    // What the configuration changes is in no journal.
    if is_changed {
        compact(&service, &mut journal).map_err(|because| StartError::Folder { folder, because })?;
    }
    Ok((service, journal))
}

/// Makes the journal into a snapshot.
pub(crate) fn compact(service: &Service, journal: &mut Journal) -> io::Result<()> {
    let request = Message::query();
    let mut messages = Vec::new();
    for zone in service.zones() {
        for message in whole(zone, &request) {
            messages.push(message.to_vec().map_err(io::Error::other)?);
        }
    }
    journal.compact(messages.iter().map(Vec::as_slice))
}

/// Returns the records of a snapshot by zone: each begins and ends with its record of type SOA.
fn by_zone(messages: &[Vec<u8>], folder: &Path) -> Result<BTreeMap<LowerName, Vec<Record>>, StartError> {
    let mut found: BTreeMap<LowerName, Vec<Record>> = BTreeMap::new();
    let mut open = None;
    for (number, octets) in (1..).zip(messages) {
        let message = Message::from_vec(octets).map_err(|error| StartError::Snapshot {
            number,
            because: error.to_string(),
            folder: folder.to_owned(),
        })?;
        for record in message.answers.iter().cloned() {
            let name = LowerName::new(&record.name);
            match (&open, record.record_type()) {
                (Some(_), RecordType::SOA) => open = None,
                (None, RecordType::SOA) => {
                    found.insert(name.clone(), vec![record]);
                    open = Some(name);
                }
                (Some(origin), _) => found.entry(origin.clone()).or_default().push(record),
                (None, _) => {}
            }
        }
    }
    Ok(found)
}

/// Brings what is at the top of a zone in line with its configuration; returns whether anything changed.
fn align(zone: &mut Zone, settings: &ZoneSettings) -> bool {
    let serial = zone.serial();
    let wanted = with_serial(&settings.soa, serial);
    let is_same = zone.soa() == Some(&wanted) && zone.soa().map(|soa| soa.ttl) == Some(wanted.ttl);
    if is_same && zone.has_servers(&settings.servers) {
        return false;
    }
    zone.set_servers(&settings.servers);
    zone.replace_soa(&with_serial(&settings.soa, serial.wrapping_add(1)));
    true
}

fn with_serial(soa: &Record, serial: u32) -> Record {
    let mut soa = soa.clone();
    if let RData::SOA(data) = &mut soa.data {
        data.serial = serial;
    }
    debug_assert!(soa_of(&soa).is_some());
    soa
}

#[cfg(test)]
mod tests {
    use hickory_proto::op::{MessageType, OpCode, Query};

    use super::*;
    use crate::testing::{name, record};

    const CONFIGURATION: &str = "[server]\nlisten = [\"127.0.0.1:53\"]\nfolder = \"names\"\n\
        [zones.\"example.org\"]\ncontact = \"admin@example.org\"\nnameservers = { \"ns.example.org\" = [\"192.0.2.53\"] }\n";

    #[test]
    fn what_was_kept_is_there_again_and_what_the_configuration_changes_is_told() {
        let folder = std::env::temp_dir().join(format!("namesd-start-{}", std::process::id()));
        let opened = |text: &str| open(&Settings::parse(text, &folder).unwrap(), 1_800_000_000).unwrap();
        let zone = |service: &Service| {
            let zone = service.zones().next().unwrap();
            (zone.serial(), zone.all().map(|record| record.data.to_string()).collect::<Vec<_>>())
        };
        let (service, _) = opened(CONFIGURATION);
        assert_eq!(
            zone(&service),
            (1_800_000_001, vec!["ns.example.org.".to_owned(), "192.0.2.53".to_owned()])
        );
        drop(service);
        // Nothing is new: the same serial number, and no snapshot is written.
        let snapshot = || std::fs::metadata(folder.join("names/names.snapshot")).unwrap().modified().unwrap();
        let before = snapshot();
        let (service, _) = opened(CONFIGURATION);
        assert_eq!((zone(&service).0, snapshot()), (1_800_000_001, before));
        drop(service);
        let moved = CONFIGURATION.replace("192.0.2.53", "192.0.2.54");
        let (service, _) = opened(&moved);
        let (serial, records) = zone(&service);
        assert_eq!(
            (serial, records),
            (1_800_000_002, vec!["ns.example.org.".to_owned(), "192.0.2.54".to_owned()])
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_was_acknowledged_and_cannot_be_served_is_an_error_and_stays() {
        let folder = std::env::temp_dir().join(format!("namesd-kept-{}", std::process::id()));
        let open_with = |text: &str| open(&Settings::parse(text, &folder).unwrap(), 1_800_000_000);
        let (service, mut journal) = open_with(CONFIGURATION).unwrap();
        let mut update = Message::new(1, MessageType::Query, OpCode::Update);
        update.add_query(Query::query(name("example.org"), RecordType::SOA));
        update.add_authority(record("phone.example.org", 5, "192.0.2.1"));
        journal.append(&update.to_vec().unwrap());
        journal.commit().unwrap();
        drop((service, journal));
        let told = |text: &str| open_with(text).unwrap_err().to_string();
        let other = told(&CONFIGURATION.replace("example.org", "example.com"));
        assert!(
            other.starts_with("zones.\"example.org.\": the configuration has no such table, but 3 records"),
            "{other}"
        );
        let narrow = told(&format!("{CONFIGURATION}names = 2\n"));
        assert!(narrow.contains("update 1 cannot be made again") && narrow.contains("names and"), "{narrow}");
        let (service, _journal) = open_with(CONFIGURATION).unwrap();
        assert_eq!(service.zones().next().unwrap().names(), 3);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
