//! Secondaries: who is told that a zone has changed, and who may have it.

use std::net::{IpAddr, SocketAddr};

use hickory_proto::rr::LowerName;

/// The servers that have a zone from this one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Secondaries {
    /// The servers that are told of changes.
    pub(crate) told: Vec<Secondary>,
    /// The keys by which others may have the zone, too.
    pub(crate) transfer_keys: Vec<LowerName>,
}

/// A server that is told of changes, and may have the zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Secondary {
    pub(crate) address: SocketAddr,
    /// The key by which it is known, and by which what it is told is signed; `None`: it is known by its address.
    pub(crate) key: Option<LowerName>,
}

/// The reason why somebody does not get a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotGiven {
    /// Nobody has the zone without a key, or only others.
    Unsigned,
    /// Only others have the zone by a key, or by their addresses.
    OtherKey,
    /// Secondaries are known by their addresses, and this is none of theirs.
    Stranger,
    /// A part of a zone is asked for.
    Part,
}

impl Secondaries {
    /// Judges who asks for the zone: from where, and by which key of ours, if it has proven one.
    ///
    /// # Errors
    ///
    /// The reason why the zone is not given to it.
    pub(crate) fn admit(&self, ip: IpAddr, key: Option<&LowerName>) -> Result<(), NotGiven> {
        if self.told.iter().any(|one| one.key.is_none() && one.address.ip() == ip) {
            return Ok(());
        }
        match key {
            Some(key) if self.keys().any(|own| own == key) => Ok(()),
            Some(_) => Err(NotGiven::OtherKey),
            None if self.keys().next().is_some() => Err(NotGiven::Unsigned),
            None => Err(NotGiven::Stranger),
        }
    }

    /// Returns the keys by which the zone may be had.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &LowerName> {
        self.told.iter().filter_map(|one| one.key.as_ref()).chain(&self.transfer_keys)
    }

    /// Returns the first address that is listed with a key and without one: the key would protect nothing.
    pub(crate) fn ambiguous(&self) -> Option<IpAddr> {
        let is_open = |ip| self.told.iter().any(|one| one.key.is_none() && one.address.ip() == ip);
        let keyed = self.told.iter().filter(|one| one.key.is_some());
        keyed.map(|one| one.address.ip()).find(|ip| is_open(*ip))
    }
}

impl NotGiven {
    /// Returns the name for the log and for metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Unsigned => "unsigned",
            Self::OtherKey => "not_permitted",
            Self::Stranger => "not_a_secondary",
            Self::Part => "not_a_zone",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::name;

    fn key(of: &str) -> LowerName {
        LowerName::new(&name(of))
    }

    fn secondary(address: &str, of: Option<&str>) -> Secondary {
        Secondary { address: address.parse().unwrap(), key: of.map(key) }
    }

    #[test]
    fn a_zone_is_had_by_address_or_by_key_as_it_is_listed() {
        let all = Secondaries {
            told: vec![secondary("192.0.2.54:53", None), secondary("192.0.2.55:53", Some("ns2"))],
            transfer_keys: vec![key("backup")],
        };
        for (ip, by, verdict) in [
            ("192.0.2.54", None, Ok(())),
            ("192.0.2.54", Some("phone"), Ok(())),
            ("192.0.2.55", None, Err(NotGiven::Unsigned)),
            ("192.0.2.55", Some("ns2"), Ok(())),
            ("203.0.113.9", Some("NS2"), Ok(())),
            ("203.0.113.9", Some("backup"), Ok(())),
            ("203.0.113.9", Some("phone"), Err(NotGiven::OtherKey)),
            ("203.0.113.9", None, Err(NotGiven::Unsigned)),
        ] {
            let key = by.map(key);
            assert_eq!(all.admit(ip.parse().unwrap(), key.as_ref()), verdict, "{ip} {by:?}");
        }
        let by_address = Secondaries { told: vec![secondary("192.0.2.54:53", None)], transfer_keys: vec![] };
        assert_eq!(by_address.admit("192.0.2.55".parse().unwrap(), None), Err(NotGiven::Stranger));
    }

    #[test]
    fn a_key_for_an_address_that_needs_none_is_found() {
        let mut all = Secondaries {
            told: vec![secondary("192.0.2.54:53", None), secondary("192.0.2.54:5300", Some("ns2"))],
            transfer_keys: vec![],
        };
        assert_eq!(all.ambiguous(), Some("192.0.2.54".parse().unwrap()));
        all.told[0].key = Some(key("ns3"));
        assert_eq!(all.ambiguous(), None);
    }
}
