//! The takeover of what is in the kernel already, and what really stands there.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use simco::PolicyRule;
use simco::filter::FilterRule;
use virtual_time::Instant;

use super::elements::{Clock, ElementWriter, Recorded, elements, recorded};
use super::guard::{Hold, TableState, common, flags_of, lock, next};
use super::shapes::ShapeUses;
use super::{NftFilter, Removes, elements_of};
use crate::config::{NftConfig, Ownership, Removal};
use crate::error::NftError;
use crate::ledger::{Element, Entry, Ledger, Place};
use crate::netlink::{Batch, NetlinkError, Socket, attribute, message, set};
use crate::ruleset::{Key, Lookup, TranslationMap, registries, write_base, write_lookup_set, write_rules};

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
        Self::open_on(config, Socket::open()?, now)
    }

    /// Opens the filter with the socket of a process that is gone ([`owner_socket`](Self::owner_socket)): the
    /// table has been its all the time.
    ///
    /// # Errors
    ///
    /// See [`open`](Self::open).
    pub fn open_inherited(
        config: NftConfig,
        socket: OwnedFd,
        now: Instant,
    ) -> Result<(Self, Vec<PolicyRule>), NftError> {
        Self::open_on(config, Socket::inherit(socket)?, now)
    }

    fn open_on(
        config: NftConfig,
        mut socket: Socket,
        now: Instant,
    ) -> Result<(Self, Vec<PolicyRule>), NftError> {
        validate(&config)?;
        let clock = Clock::starting(now);
        let existing = TableState::read(&mut socket, &config.table).map_err(rights)?;
        if let Some(owner) = existing.and_then(|table| table.owner)
            && owner != socket.port()
        {
            return Err(NftError::Owned { table: config.table, owner });
        }
        let sets = existing_sets(&mut socket, &config.table)?;
        let mut filter = Self {
            config,
            socket,
            batch: Batch::default(),
            ledger: Ledger::default(),
            sets: sets.iter().map(|lookup| (*lookup, lookup.to_string())).collect(),
            new_sets: Vec::new(),
            gone_sets: Vec::new(),
            shape_uses: ShapeUses::default(),
            removal: Removes::Destroying,
            hold: Hold::Owned,
            others: Vec::new(),
            lock: None,
            generation: 0,
            damage: None,
            has_additions: false,
        };
        let mut rules = filter.take(existing, clock)?;
        if existing.is_none() {
            rules.extend(filter.succeed(clock)?);
        }
        Ok((filter, rules))
    }

    /// Makes the table ours, whatever of it is there.
    fn take(&mut self, existing: Option<TableState>, clock: Clock) -> Result<Vec<PolicyRule>, NftError> {
        let wanted = self.config.ownership;
        if wanted == Ownership::Shared || existing.is_some_and(|table| !table.persists()) {
            self.lock = Some(lock(&self.config.table)?);
        }
        // Whether a table outlives its owner is decided when it is made.
        let is_of_this_kind = |table: TableState| table.persists() == (wanted == Ownership::Owned);
        if existing.is_none_or(is_of_this_kind) {
            self.hold(wanted);
            match self.write_ruleset() {
                Ok(()) => return self.adopt_all(clock),
                Err(error) if !is_unknown(&error) || wanted == Ownership::Shared => return Err(error),
                Err(_too_old) => return self.share(clock),
            }
        }
        self.removal = self.how_to_remove()?;
        let rules = recorded(&mut self.socket, &self.config.table, clock)?.rules;
        self.hold(wanted);
        match self.rewrite(clock.now(), &rules) {
            Ok(()) => {
                let now = clock.now();
                let rules = rules.into_iter().filter(|rule| rule.deadline > now);
                Ok(rules.filter(|rule| rule.filter_rule().is_none() || self.is_held(rule)).collect())
            }
            Err(error) if !is_unknown(&error) || wanted == Ownership::Shared => Err(error),
            Err(_too_old) => self.share(clock),
        }
    }

    /// Takes the table over, where the kernel cannot keep others off.
    fn share(&mut self, clock: Clock) -> Result<Vec<PolicyRule>, NftError> {
        if self.lock.is_none() {
            self.lock = Some(lock(&self.config.table)?);
        }
        (self.damage, self.ledger, self.shape_uses) = (None, Ledger::default(), ShapeUses::default());
        self.hold(Ownership::Shared);
        self.write_ruleset()?;
        self.adopt_all(clock)
    }

    fn hold(&mut self, ownership: Ownership) {
        self.config.ownership = ownership;
        self.hold = match ownership {
            Ownership::Owned => Hold::Owned,
            Ownership::Shared => Hold::Shared(std::collections::BTreeSet::new()),
        };
    }

    /// Takes over what is on record, and brings the elements in line.
    fn adopt_all(&mut self, clock: Clock) -> Result<Vec<PolicyRule>, NftError> {
        self.removal = self.how_to_remove()?;
        let Recorded { rules, unreadable } = recorded(&mut self.socket, &self.config.table, clock)?;
        let (rules, useless): (Vec<_>, Vec<_>) = rules.into_iter().partition(|rule| self.adopt(rule).is_ok());
        self.ledger.commit();
        self.reconcile(clock, &useless, &unreadable)?;
        Ok(rules)
    }

    /// Returns whether the ledger has what the rule needs.
    fn is_held(&self, rule: &PolicyRule) -> bool {
        let wanted = rule.filter_rule();
        wanted.is_some_and(|rule| elements_of(&rule).all(|(element, _)| self.ledger.contains(&element)))
    }

    /// Chains, rules and common sets anew; sets that are there keep their elements.
    fn write_ruleset(&mut self) -> Result<(), NftError> {
        self.begin();
        write_base(&mut self.batch, &self.config, flags_of(self.config.ownership));
        for lookup in common() {
            if !self.sets.contains_key(&lookup) {
                write_lookup_set(&mut self.batch, &self.config, lookup);
            }
        }
        let sets: Vec<Lookup> =
            self.sets.keys().copied().chain(common()).collect::<BTreeSet<_>>().into_iter().collect();
        write_rules(&mut self.batch, &self.config, &sets);
        let generation = self.socket.generation()?;
        self.batch.expect_generation(generation);
        self.socket.transact(&mut self.batch)?;
        self.generation = next(generation);
        self.sets = sets.into_iter().map(|lookup| (lookup, lookup.to_string())).collect();
        self.know_parts()
    }

    /// Tries on an element that is not there, if it is not decided.
    fn how_to_remove(&mut self) -> Result<Removes, NftError> {
        match self.config.removal {
            Removal::Destroy => return Ok(Removes::Destroying),
            Removal::AddAndDelete => return Ok(Removes::AddingAndDeleting),
            Removal::Automatic => {}
        }
        self.begin();
        let removal = Removes::Destroying;
        let mut writer = ElementWriter { batch: &mut self.batch, table: &self.config.table, removal };
        writer.remove(&registries()[0], &[0; 8], &Key::new());
        // There is no such element: this is no generation.
        match self.socket.transact(&mut self.batch) {
            Ok(()) => Ok(Removes::Destroying),
            Err(NetlinkError::Refused { errno: Errno::INVAL | Errno::OPNOTSUPP, .. }) => {
                Ok(Removes::AddingAndDeleting)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Counts a rule's elements as needed; a rule that cannot be had any more needs none.
    pub(super) fn adopt(&mut self, rule: &PolicyRule) -> Result<(), NftError> {
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
        // It is there already, whatever the bound is now.
        let begun = self.shape_uses.begin(&rule.owner, &wanted, usize::MAX);
        self.shape_uses.commit();
        begun
    }

    /// Gives each set what the rules need and nothing else, in one transaction: reading what it has takes the kernel longer.
    fn reconcile(
        &mut self,
        clock: Clock,
        useless: &[PolicyRule],
        unreadable: &[(String, Key)],
    ) -> Result<(), NftError> {
        self.begin();
        for lookup in self.ledger.lookups().collect::<Vec<_>>() {
            self.have_set(lookup, &BTreeSet::new())?;
        }
        let ledger = core::mem::take(&mut self.ledger);
        let refilled = self.refill(clock, &ledger);
        self.ledger = ledger;
        refilled?;
        for rule in useless {
            self.writer().forget(rule)?;
        }
        for (set, key) in unreadable {
            self.writer().remove(set, key, &Key::new());
        }
        self.tidy_all();
        self.commit_batch()?;
        self.settle_sets()
    }

    fn refill(&mut self, clock: Clock, ledger: &Ledger) -> Result<(), NftError> {
        let mut wanted: BTreeMap<Place, Vec<(&Element, &Entry)>> =
            self.places().into_iter().map(|place| (place, Vec::new())).collect();
        for (element, entry) in ledger.iter() {
            wanted.entry(element.place).or_default().push((element, entry));
        }
        for (place, entries) in wanted {
            let now = clock.now();
            let mut writer =
                ElementWriter { batch: &mut self.batch, table: &self.config.table, removal: self.removal };
            let elements = entries
                .into_iter()
                .map(|(element, entry)| (element.key.as_slice(), &entry.data, entry.deadline().since(now)));
            self.has_additions |= writer.refill(&place.name(), elements);
            if self.batch.bytes() > LARGE {
                self.commit_batch()?;
                self.begin();
            }
        }
        Ok(())
    }

    /// Returns the sets and maps that packets are compared with.
    fn places(&self) -> Vec<Place> {
        let maps = self.config.translation.is_some().then(TranslationMap::all).into_iter().flatten();
        self.sets.keys().copied().map(Place::Set).chain(maps.map(Place::Map)).collect()
    }

    /// Returns every element in the kernel that is not the registry's.
    fn standing_elements(&mut self) -> Result<HashSet<Element>, NetlinkError> {
        let mut found = HashSet::new();
        for place in self.places() {
            let listed = elements(&mut self.socket, &self.config.table, &place.name())?;
            found.extend(listed.into_iter().map(|listed| Element { place, key: listed.key }));
        }
        Ok(found)
    }

    /// Returns the rules on record all of whose elements stand.
    pub(super) fn standing(&mut self, now: Instant) -> Result<Vec<FilterRule>, NftError> {
        let standing = self.standing_elements()?;
        let rules = recorded(&mut self.socket, &self.config.table, Clock::starting(now))?.rules;
        let rules = rules.iter().filter_map(PolicyRule::filter_rule);
        Ok(rules
            .filter(|rule| rule.deadline > now)
            .filter(|rule| elements_of(rule).all(|(element, _)| standing.contains(&element)))
            .collect())
    }

    /// Returns how many elements stand in each set that has some, by its name; the record of a rule counts as
    /// one or more.
    ///
    /// # Errors
    ///
    /// The kernel cannot be asked.
    pub fn occupancy(&mut self) -> Result<HashMap<String, usize>, NftError> {
        let mut found = HashMap::new();
        for name in self.sets.values().chain(registries()).cloned().collect::<Vec<_>>() {
            let count = elements(&mut self.socket, &self.config.table, &name)?.len();
            if count != 0 {
                found.insert(name, count);
            }
        }
        Ok(found)
    }
}

/// Returns the sets of pinholes in a table; none if there is no such table.
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

/// Returns the error for a question that failed: what is not permitted to ask is not permitted to do.
pub(super) fn rights(error: NetlinkError) -> NftError {
    if error.errno() == Some(Errno::PERM) { NftError::NoRights } else { error.into() }
}

/// Returns whether the kernel does not know what was wanted of the table itself.
const fn is_unknown(error: &NftError) -> bool {
    matches!(error, NftError::Netlink(NetlinkError::Refused { errno: Errno::OPNOTSUPP | Errno::INVAL, .. }))
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

/// Octets of a transaction after which another one begins, where several do.
const LARGE: usize = 16 << 20;
const LONGEST_TABLE: usize = 255;
const LONGEST_INTERFACE: usize = 15;
