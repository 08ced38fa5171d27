//! The beginning: what the folder has kept, brought in line with the configuration.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use hickory_proto::op::Message;
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
    Folder { folder: std::path::PathBuf, because: io::Error },
}

/// Opens the folder, and returns the service of what is in it.
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
    let mut records = by_zone(&kept.zones);
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
    for origin in records.keys() {
        tracing::warn!(zone = %origin, "this zone is not in the configuration any more: its records are dropped");
    }
    let was_empty = kept.zones.is_empty() && kept.updates.is_empty();
    let mut service = Service::new(zones, Keyring::new(settings.keys.iter().cloned(), unix_s));
    let unspecified = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let lost = kept.updates.iter().filter(|octets| !service.replay(octets, unspecified)).count();
    if lost > 0 {
        tracing::warn!(
            updates = lost,
            "updates in the journal are for no zone of the configuration, or beyond its bounds"
        );
    }
    tracing::info!(updates = kept.updates.len(), "the journal was read");
    let mut is_changed = was_empty || !records.is_empty() || lost > 0;
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
fn by_zone(messages: &[Vec<u8>]) -> BTreeMap<LowerName, Vec<Record>> {
    let mut found: BTreeMap<LowerName, Vec<Record>> = BTreeMap::new();
    let mut open = None;
    for record in messages
        .iter()
        .filter_map(|octets| Message::from_vec(octets).ok())
        .flat_map(|mut all| core::mem::take(&mut all.answers))
    {
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
    found
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
    use super::*;

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
}
