//! What is in the kernel already, and what really stands there.

use std::collections::{HashMap, HashSet};

use rustix::io::Errno;
use simco::PolicyRule;
use simco::filter::FilterRule;
use virtual_time::Instant;

use super::elements::{ElementWriter, elements, recorded};
use super::{NftFilter, Removes, elements_of};
use crate::config::{NftConfig, Removal};
use crate::error::NftError;
use crate::ledger::{Effect, Element, Ledger, Place};
use crate::netlink::{Batch, NetlinkError, Socket, attribute, message, set};
use crate::ruleset::{
    Key, Lookup, Meaning, REGISTRY, Shape, TranslationMap, write_base, write_lookup_set, write_rules,
};

impl NftFilter {
    /// Sets up the table, or takes over the one that is there: the rules on record, with what remains of their
    /// lifetimes counted from `now`. When they came to be is told as it was recorded: it means something if the
    /// driver's epoch is the same again, as the host's start is.
    ///
    /// Afterwards the kernel has exactly the elements these rules need. Packets meet the old ruleset or the new one.
    ///
    /// # Errors
    ///
    /// A configuration the kernel cannot have; missing rights; a table of this name that is not ours.
    pub fn open(config: NftConfig, now: Instant) -> Result<(Self, Vec<PolicyRule>), NftError> {
        validate(&config)?;
        let mut socket = Socket::open()?;
        let sets = existing_sets(&mut socket, &config.table)?;
        let mut filter = Self {
            config,
            socket,
            batch: Batch::default(),
            ledger: Ledger::default(),
            sets: sets.iter().map(|lookup| (*lookup, lookup.to_string())).collect(),
            new_sets: Vec::new(),
            removal: Removes::Destroying,
        };
        filter.write_ruleset()?;
        filter.removal = filter.how_to_remove()?;
        let (rules, _unreadable) = recorded(&mut filter.socket, &filter.config.table, now)?;
        let rules: Vec<PolicyRule> = rules.into_iter().filter(|rule| filter.adopt(rule).is_ok()).collect();
        filter.ledger.commit();
        filter.reconcile(now, &rules)?;
        Ok((filter, rules))
    }

    /// Chains, rules and common sets anew; sets that are there keep their elements.
    fn write_ruleset(&mut self) -> Result<(), NftError> {
        self.socket.begin(&mut self.batch);
        write_base(&mut self.batch, &self.config);
        let common = Shape::common().flat_map(|shape| Meaning::ALL.map(|meaning| Lookup { meaning, shape }));
        for lookup in common.filter(|lookup| lookup.meaning != Meaning::Block) {
            if !self.sets.contains_key(&lookup) {
                write_lookup_set(&mut self.batch, &self.config, lookup);
                self.sets.insert(lookup, lookup.to_string());
            }
        }
        let sets: Vec<Lookup> = self.sets.keys().copied().collect();
        write_rules(&mut self.batch, &self.config, &sets);
        Ok(self.socket.transact(&mut self.batch)?)
    }

    /// Tries on an element that is not there, if it is not decided.
    fn how_to_remove(&mut self) -> Result<Removes, NftError> {
        match self.config.removal {
            Removal::Destroy => return Ok(Removes::Destroying),
            Removal::AddAndDelete => return Ok(Removes::AddingAndDeleting),
            Removal::Automatic => {}
        }
        self.socket.begin(&mut self.batch);
        let removal = Removes::Destroying;
        let mut writer = ElementWriter { batch: &mut self.batch, table: &self.config.table, removal };
        writer.remove(REGISTRY, &[0; 8], &Key::new());
        match self.socket.transact(&mut self.batch) {
            Ok(()) => Ok(Removes::Destroying),
            Err(NetlinkError::Refused { errno: Errno::INVAL | Errno::OPNOTSUPP, .. }) => {
                Ok(Removes::AddingAndDeleting)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Counts a rule's elements as needed; a rule that cannot be had any more needs none.
    fn adopt(&mut self, rule: &PolicyRule) -> Result<(), NftError> {
        let Some(wanted) = rule.filter_rule() else { return Ok(()) };
        if wanted.translation.is_some() && self.config.translation.is_none() {
            return Err(NftError::NoTranslation);
        }
        for (element, data) in elements_of(&wanted) {
            if self.ledger.hold(element, &data, rule.id, rule.deadline).is_err() {
                self.ledger.roll_back();
                return Err(NftError::Contradiction);
            }
        }
        self.ledger.commit();
        Ok(())
    }

    /// Takes away what no rule needs, and adds what is missing.
    fn reconcile(&mut self, now: Instant, rules: &[PolicyRule]) -> Result<(), NftError> {
        let standing = self.standing_elements()?;
        let known: HashSet<u32> = rules.iter().map(|rule| rule.id.get()).collect();
        self.socket.begin(&mut self.batch);
        for element in
            standing.iter().filter(|element| !self.ledger.contains(element)).cloned().collect::<Vec<_>>()
        {
            let data = match element.place {
                Place::Set(_) => Key::new(),
                Place::Map(map) => map.any_data(),
            };
            self.write(now, &element, &data, Effect::Remove);
        }
        let missing = self.ledger.iter().filter(|(element, _)| !standing.contains(element));
        let missing: Vec<(Element, Key, Instant)> =
            missing.map(|(element, entry)| (element.clone(), entry.data.clone(), entry.deadline())).collect();
        for (element, data, deadline) in missing {
            if let Place::Set(lookup) = element.place {
                self.have_set(lookup)?;
            }
            self.write(now, &element, &data, Effect::Add(deadline));
        }
        for listed in elements(&mut self.socket, &self.config.table, REGISTRY)? {
            let number = listed.key.first_chunk().map(|octets| u32::from_ne_bytes(*octets));
            if !number.is_some_and(|number| known.contains(&number)) {
                self.writer().remove(REGISTRY, &listed.key, &Key::new());
            }
        }
        self.new_sets.clear();
        Ok(self.socket.transact(&mut self.batch)?)
    }

    /// Every element in the kernel that is not the registry's.
    fn standing_elements(&mut self) -> Result<HashSet<Element>, NetlinkError> {
        let sets = self.sets.iter().map(|(lookup, name)| (Place::Set(*lookup), name.clone()));
        let mut places: Vec<(Place, String)> = sets.collect();
        if self.config.translation.is_some() {
            places.extend(TranslationMap::all().map(|map| (Place::Map(map), map.name())));
        }
        let mut found = HashSet::new();
        for (place, name) in places {
            let listed = elements(&mut self.socket, &self.config.table, &name)?;
            found.extend(listed.into_iter().map(|listed| Element { place, key: listed.key }));
        }
        Ok(found)
    }

    /// The rules on record all of whose elements stand.
    pub(super) fn standing(&mut self, now: Instant) -> Result<Vec<FilterRule>, NftError> {
        let standing = self.standing_elements()?;
        let (rules, _) = recorded(&mut self.socket, &self.config.table, now)?;
        let rules = rules.iter().filter_map(PolicyRule::filter_rule);
        Ok(rules
            .filter(|rule| rule.deadline > now)
            .filter(|rule| elements_of(rule).all(|(element, _)| standing.contains(&element)))
            .collect())
    }

    /// How many elements stand in each set that has some, by its name; the record of a rule counts as one or more.
    ///
    /// # Errors
    ///
    /// The kernel cannot be asked.
    pub fn occupancy(&mut self) -> Result<HashMap<String, usize>, NftError> {
        let mut found = HashMap::new();
        for name in self.sets.values().cloned().chain([REGISTRY.to_owned()]).collect::<Vec<_>>() {
            let count = elements(&mut self.socket, &self.config.table, &name)?.len();
            if count != 0 {
                found.insert(name, count);
            }
        }
        Ok(found)
    }
}

/// The sets of pinholes in a table; none if there is no such table.
fn existing_sets(socket: &mut Socket, table: &str) -> Result<Vec<Lookup>, NftError> {
    let mut found = Vec::new();
    let asked = socket.dump(
        message::GET_SET,
        |request| request.text(set::TABLE, table),
        |answer| {
            let name = attribute(answer, set::NAME).and_then(|name| core::str::from_utf8(name).ok());
            if let Some(Ok(lookup)) = name.map(|name| name.trim_end_matches('\0').parse()) {
                found.push(lookup);
            }
        },
    );
    match asked {
        Ok(()) => Ok(found),
        Err(NetlinkError::Refused { errno: Errno::NOENT, .. }) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

fn validate(config: &NftConfig) -> Result<(), NftError> {
    if config.inside.is_empty() {
        return Err(NftError::NoInterface);
    }
    let is_name =
        |name: &str, longest: usize| !name.is_empty() && name.len() <= longest && !name.contains('\0');
    if !is_name(&config.table, LONGEST_TABLE) {
        let name = config.table.clone();
        return Err(NftError::BadName { what: "a table", name, longest: LONGEST_TABLE });
    }
    if let Some(name) = config.inside.iter().find(|name| !is_name(name, LONGEST_INTERFACE)) {
        return Err(NftError::BadName {
            what: "an interface",
            name: name.clone(),
            longest: LONGEST_INTERFACE,
        });
    }
    Ok(())
}

const LONGEST_TABLE: usize = 255;
const LONGEST_INTERFACE: usize = 15;
