//! The filter: policy rules in, transactions out.

mod elements;
mod guard;
mod predecessor;
mod shapes;
mod takeover;

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixListener;

use rustix::io::Errno;
use simco::filter::{Change, FilterAction, FilterError, FilterRule, Network, PacketFilter};
use simco::{Capabilities, Direction, IpVersions, Lifetime, Services, Wildcards};
use virtual_time::Instant;

pub use self::guard::Damage;

use self::elements::ElementWriter;
use self::guard::Hold;
use self::shapes::ShapeUses;
use crate::config::{NftConfig, Passing};
use crate::error::NftError;
use crate::ledger::{Effect, Element, Ledger, Place};
use crate::netlink::{Batch, NetlinkError, Socket, message};
use crate::ruleset::{Key, Lookup, Meaning, mappings, matches, write_rules};

/// Pinholes in nftables, of the network namespace it was opened in.
///
/// It does what [`PacketFilter`] promises; a call takes a system call or two. Only one may write to a table.
#[derive(Debug)]
pub struct NftFilter {
    config: NftConfig,
    socket: Socket,
    batch: Batch,
    ledger: Ledger,
    /// The sets there are, with their names.
    sets: BTreeMap<Lookup, String>,
    /// Sets made in the transaction in work.
    new_sets: Vec<Lookup>,
    /// Sets taken away in it.
    gone_sets: Vec<Lookup>,
    shape_uses: ShapeUses,
    removal: Removes,
    hold: Hold,
    /// Other tables of our making.
    others: Vec<String>,
    /// Keeps a second process of ours off a table that the kernel does not protect.
    lock: Option<UnixListener>,
    /// The generation of all tables in the namespace, after our latest transaction or since we have last
    /// looked.
    generation: u32,
    /// The damage to the table that was done behind our back.
    damage: Option<Damage>,
    /// The transaction in work adds something.
    has_additions: bool,
}

/// The message by which the kernel takes elements away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Removes {
    Destroying,
    AddingAndDeleting,
}

impl PacketFilter for NftFilter {
    fn capabilities(&self) -> Capabilities {
        let is_translator = self.config.translation.is_some();
        Capabilities {
            services: Services {
                is_firewall: true,
                is_translator,
                can_disable: true,
                can_translate_twice: is_translator,
                can_translate_protocol: false,
                can_translate_ports: is_translator,
            },
            wildcards: Wildcards::ALL,
            is_persistent: false,
            internal_versions: IpVersions::BOTH,
            external_versions: IpVersions::BOTH,
            longest_lifetime: Lifetime::from_secs(u32::MAX),
        }
    }

    fn apply(&mut self, now: Instant, changes: &[Change]) -> Result<(), FilterError> {
        self.transact(now, changes).map_err(|error| match error.is_full() {
            true => FilterError::Exhausted(Box::new(error)),
            false => FilterError::Refused(Box::new(error)),
        })
    }

    fn list(&mut self, now: Instant) -> Result<Vec<FilterRule>, FilterError> {
        self.standing(now).map_err(|error| FilterError::Refused(Box::new(error)))
    }
}

impl NftFilter {
    /// Returns whether the kernel keeps all others off the table.
    #[must_use]
    pub const fn is_owner(&self) -> bool {
        matches!(self.hold, Hold::Owned)
    }

    /// Returns what is known to have become of the table behind our back; [`inspect`](Self::inspect) looks.
    #[must_use]
    pub const fn damage(&self) -> Option<Damage> {
        self.damage
    }

    /// Returns the socket that owns the table. Who keeps it open keeps the ownership, even if this process
    /// dies: another one can go on with it ([`open_inherited`](Self::open_inherited)).
    #[must_use]
    pub fn owner_socket(&self) -> BorrowedFd<'_> {
        self.socket.descriptor()
    }

    /// Takes the table away, and every pinhole with it: the protected network is open then to whatever else the host
    /// lets pass. Changes are refused until [`rewrite`](Self::rewrite).
    ///
    /// # Errors
    ///
    /// The kernel refuses; the table stays then.
    pub fn remove_table(&mut self) -> Result<(), NftError> {
        self.begin();
        self.batch.message(message::DELETE_TABLE, 0, |attributes| {
            attributes.text(crate::netlink::table::NAME, &self.config.table);
        });
        match self.socket.transact(&mut self.batch) {
            Ok(()) | Err(NetlinkError::Refused { errno: Errno::NOENT, .. }) => {
                self.damage = Some(Damage::Missing);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns what passes, whatever rules there are.
    #[must_use]
    pub const fn passing(&self) -> Passing {
        self.config.passing
    }

    /// Lets other packets pass from now on. Rules and their elements stay as they are.
    ///
    /// # Errors
    ///
    /// The kernel refuses, or the table is not as we wrote it; everything is as before.
    pub fn set_passing(&mut self, passing: Passing) -> Result<(), NftError> {
        let config = NftConfig { passing, ..self.config.clone() };
        self.exchange_rules(config)
    }

    /// Closes other addresses from now on: nothing passes to or from them, whatever is open.
    ///
    /// # Errors
    ///
    /// As with [`set_passing`](Self::set_passing).
    pub fn set_closed(&mut self, closed: Vec<Network>) -> Result<(), NftError> {
        let config = NftConfig { closed, ..self.config.clone() };
        self.exchange_rules(config)
    }

    /// Writes the kernel's rules anew, in one transaction; sets keep their elements.
    fn exchange_rules(&mut self, config: NftConfig) -> Result<(), NftError> {
        let before = core::mem::replace(&mut self.config, config);
        self.begin();
        let sets: Vec<Lookup> = self.sets.keys().copied().collect();
        write_rules(&mut self.batch, &self.config, &sets);
        self.has_additions = true;
        let done = self.commit_batch();
        if done.is_err() {
            self.config = before;
            return done;
        }
        self.know_parts()
    }

    /// Makes all changes or none.
    fn transact(&mut self, now: Instant, changes: &[Change]) -> Result<(), NftError> {
        if self.damage == Some(Damage::Missing) && changes.iter().all(|change| change.after().is_none()) {
            // Nothing stands that could go.
            return Ok(());
        }
        self.begin();
        let staged = changes.iter().try_for_each(|change| self.stage(now, change));
        let done = staged.and_then(|()| self.commit_batch());
        if done.is_ok() {
            self.ledger.commit();
            self.shape_uses.commit();
            return self.settle_sets();
        }
        self.ledger.roll_back();
        self.shape_uses.roll_back();
        for lookup in self.new_sets.drain(..) {
            self.sets.remove(&lookup);
        }
        for lookup in self.gone_sets.drain(..) {
            self.sets.insert(lookup, lookup.to_string());
        }
        done
    }

    /// Takes note that the sets are as the transaction has made them.
    fn settle_sets(&mut self) -> Result<(), NftError> {
        if self.new_sets.is_empty() && self.gone_sets.is_empty() {
            return Ok(());
        }
        self.new_sets.clear();
        self.gone_sets.clear();
        self.know_parts()
    }

    fn stage(&mut self, now: Instant, change: &Change) -> Result<(), NftError> {
        let rule = change.after().and_then(|rule| rule.filter_rule());
        let wanted = rule.map(|rule| self.needs(&rule)).transpose()?.unwrap_or_default();
        if let (Some(rule), Some(after)) = (&rule, change.after()) {
            self.shape_uses.begin(&after.owner, rule, self.config.most_shapes_per_agent)?;
        }
        if let Some(before) = change.before() {
            self.writer().forget(before)?;
            let released = before.filter_rule().map(|rule| elements_of(&rule)).into_iter().flatten();
            let released: Vec<(Element, Key)> =
                released.filter(|(element, _)| !wanted.iter().any(|(kept, _)| kept == element)).collect();
            for (element, data) in released {
                let effect = self.ledger.release(element.clone(), before.id);
                self.write(now, &element, &data, effect);
            }
            if let Some(rule) = before.filter_rule() {
                self.shape_uses.end(&before.owner, &rule);
                if wanted.is_empty() {
                    self.tidy(&rule);
                }
            }
        }
        let Some(after) = change.after() else { return Ok(()) };
        self.has_additions = true;
        self.writer().remember(now, after)?;
        for (element, data) in wanted {
            let held = self.ledger.hold(element.clone(), &data, after.id, after.deadline);
            let effect = held.map_err(|_| NftError::Contradiction)?;
            self.write(now, &element, &data, effect);
        }
        Ok(())
    }

    /// Returns the elements of a rule, with their sets made where they are missing.
    fn needs(&mut self, rule: &FilterRule) -> Result<Vec<(Element, Key)>, NftError> {
        let most = self.config.most_elements;
        if rule.translation.is_some() && self.config.translation.is_none() {
            return Err(NftError::NoTranslation);
        }
        let wanted: Vec<(Element, Key)> = elements_of(rule).take(most + 1).collect();
        if wanted.len() > most {
            return Err(NftError::TooManyElements { most });
        }
        let lookups = wanted.iter().filter_map(|(element, _)| match element.place {
            Place::Set(lookup) => Some(lookup),
            Place::Map(_) => None,
        });
        let lookups: BTreeSet<Lookup> = lookups.collect();
        for lookup in &lookups {
            self.have_set(*lookup, &lookups)?;
        }
        Ok(wanted)
    }

    /// Tells the kernel what becomes of an element.
    fn write(&mut self, now: Instant, element: &Element, data: &Key, effect: Effect) {
        let map_name;
        let name = match element.place {
            Place::Set(lookup) => match self.sets.get(&lookup) {
                Some(name) => name.as_str(),
                None => return,
            },
            Place::Map(map) => {
                map_name = map.name();
                &map_name
            }
        };
        let mut writer =
            ElementWriter { batch: &mut self.batch, table: &self.config.table, removal: self.removal };
        self.has_additions |= matches!(effect, Effect::Add(_) | Effect::Retime(_));
        match effect {
            Effect::None => {}
            Effect::Add(deadline) => writer.add(name, &element.key, data, deadline.since(now), &[]),
            Effect::Retime(deadline) => {
                writer.remove(name, &element.key, data);
                writer.add(name, &element.key, data, deadline.since(now), &[]);
            }
            Effect::Remove => writer.remove(name, &element.key, data),
        }
    }

    /// Begins a transaction.
    fn begin(&mut self) {
        self.socket.begin(&mut self.batch);
        self.has_additions = false;
    }

    const fn writer(&mut self) -> ElementWriter<'_> {
        ElementWriter { batch: &mut self.batch, table: self.config.table.as_str(), removal: self.removal }
    }
}

/// Returns the elements that make packets obey a rule, with what they map to.
fn elements_of(rule: &FilterRule) -> impl Iterator<Item = (Element, Key)> + use<> {
    let meanings: &'static [Meaning] = match rule.action {
        FilterAction::Block => &[Meaning::Block],
        FilterAction::Open(Direction::Inbound) => &[Meaning::In],
        FilterAction::Open(Direction::Outbound) => &[Meaning::Out],
        FilterAction::Open(Direction::BiDirectional) => &[Meaning::In, Meaning::Out],
    };
    let lookups = matches(rule).flat_map(move |(shape, key)| {
        let element = move |meaning: &Meaning| {
            let place = Place::Set(Lookup { meaning: *meaning, shape });
            (Element { place, key: key.clone() }, Key::new())
        };
        meanings.iter().map(element)
    });
    let translations = mappings(rule).into_iter();
    lookups.chain(translations.map(|(map, key, data)| (Element { place: Place::Map(map), key }, data)))
}
