//! Whether the table is still as we wrote it, and writing it anew when it is not.
//!
//! ```text
//!  every transaction names the generation it builds on ─► the kernel refuses it after anybody's change
//!  inspect: another generation than ours? ─► owned: is the table there, and ours?
//!                                            shared: has every part the number the kernel gave it?
//! ```
//!
//! Where the kernel can, we own the table: nobody else's `flush ruleset` takes it away, and it stays when we die. The number
//! of the generation rises with every change of any table in the namespace, and each of our transactions raises it by one.

use std::collections::BTreeSet;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use rustix::io::Errno;
use simco::PolicyRule;
use virtual_time::Instant;

use super::NftFilter;
use super::elements::ElementWriter;
use super::shapes::ShapeUses;
use crate::config::Ownership;
use crate::error::NftError;
use crate::ledger::{Effect, Ledger};
use crate::netlink::{NetlinkError, Socket, attribute, chain, message, rule, set, table};
use crate::ruleset::{Lookup, Meaning, Shape, registries, write_base, write_lookup_set, write_rules};

/// The damage to a table that was done behind our back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Damage {
    /// The table is gone: the protected network is open.
    #[error("the table is gone, the protected network open")]
    Missing,
    /// Something of it is gone, or not what we wrote.
    #[error("somebody has changed the table")]
    Changed,
    /// The table could not be written anew as a whole: what is open may be less than the rules say, not more.
    #[error("the table is written in part only")]
    Incomplete,
}

/// How nobody else's changes go unnoticed.
#[derive(Debug)]
pub(super) enum Hold {
    /// The kernel lets nobody else change the table.
    Owned,
    /// Whoever has the rights may change it; these are its parts, as the kernel numbers them.
    Shared(BTreeSet<Part>),
}

/// A part of a table, with what the kernel numbers it by.
type Part = (u8, Vec<u8>);

/// The state of a table, as the kernel tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TableState {
    pub(super) flags: u32,
    pub(super) handle: u64,
    /// The port of the netlink socket that owns it.
    pub(super) owner: Option<u32>,
}

impl TableState {
    /// Reads the table of this name; `None` if there is none.
    pub(super) fn read(socket: &mut Socket, name: &str) -> Result<Option<Self>, NetlinkError> {
        let number = |answer: &[u8], kind| {
            attribute(answer, kind).and_then(|octets| octets.first_chunk().copied()).map(u32::from_be_bytes)
        };
        let state = |answer: &[u8]| Self {
            flags: number(answer, table::FLAGS).unwrap_or_default(),
            handle: attribute(answer, table::HANDLE)
                .and_then(|octets| octets.first_chunk().copied())
                .map_or(0, u64::from_be_bytes),
            owner: number(answer, table::OWNER),
        };
        match socket.ask(message::GET_TABLE, |request| request.text(table::NAME, name), state) {
            Ok(state) => Ok(Some(state)),
            Err(NetlinkError::Refused { errno: Errno::NOENT, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns whether it outlives whoever owns it.
    pub(super) const fn persists(&self) -> bool {
        self.flags & table::FLAG_PERSIST != 0
    }
}

/// Returns the flags of a table that is held so.
pub(super) const fn flags_of(ownership: Ownership) -> u32 {
    match ownership {
        Ownership::Owned => table::FLAG_OWNER | table::FLAG_PERSIST,
        Ownership::Shared => 0,
    }
}

/// Keeps a second process of ours off a table that the kernel does not protect: a name that one process of the network
/// namespace can have, and loses when it dies.
pub(super) fn lock(name: &str) -> Result<UnixListener, NftError> {
    let address = SocketAddr::from_abstract_name(format!("headway-nft-filter/inet/{name}"));
    let bound = address.and_then(|address| UnixListener::bind_addr(&address));
    bound.map_err(|error| {
        let table = name.to_owned();
        if error.kind() == std::io::ErrorKind::AddrInUse {
            NftError::InUse { table }
        } else {
            NftError::Lock { table, because: error.to_string() }
        }
    })
}

impl NftFilter {
    /// Returns the damage that was done to the table behind our back, if any. Costs a question to the kernel,
    /// two and a look at the parts of the table if somebody has changed any table.
    ///
    /// Once there is damage every change of rules is refused until [`rewrite`](Self::rewrite).
    ///
    /// # Errors
    ///
    /// The kernel cannot be asked.
    pub fn inspect(&mut self) -> Result<Option<Damage>, NftError> {
        for _ in 0..ATTEMPTS {
            if self.damage.is_some() {
                return Ok(self.damage);
            }
            let generation = self.socket.generation()?;
            if generation == self.generation {
                return Ok(None);
            }
            let found = self.compare()?;
            if self.socket.generation()? != generation {
                continue;
            }
            self.damage = found;
            self.generation = generation;
        }
        if self.damage.is_some() { Ok(self.damage) } else { Err(NetlinkError::KeepsChanging.into()) }
    }

    /// Writes the table anew: closed at once, in one transaction, then with what `rules` open, piece by piece.
    ///
    /// # Errors
    ///
    /// The kernel refuses; the damage stays known then, and it can be tried again.
    pub fn rewrite<'a>(
        &mut self,
        now: Instant,
        rules: impl IntoIterator<Item = &'a PolicyRule>,
    ) -> Result<(), NftError> {
        self.damage.get_or_insert(Damage::Incomplete);
        (self.ledger, self.shape_uses) = (Ledger::default(), ShapeUses::default());
        let alive = rules.into_iter().filter(|rule| rule.deadline > now);
        let rules: Vec<&PolicyRule> = alive.filter(|rule| self.adopt(rule).is_ok()).collect();
        self.sets =
            self.ledger.lookups().chain(common()).map(|lookup| (lookup, lookup.to_string())).collect();
        self.recreate()?;
        self.damage = None;
        let filled = self.fill(now, &rules);
        if filled.is_err() {
            self.damage = Some(Damage::Incomplete);
        }
        filled
    }

    /// Lets the kernel do what is in the batch, if the table is as we left it.
    pub(super) fn commit_batch(&mut self) -> Result<(), NftError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.leave_a_mark();
        for _ in 0..ATTEMPTS {
            if let Some(damage) = self.damage {
                return Err(NftError::Damaged(damage));
            }
            self.batch.expect_generation(self.generation);
            match self.socket.transact(&mut self.batch) {
                Ok(()) => {
                    self.generation = next(self.generation);
                    return Ok(());
                }
                Err(NetlinkError::Refused { errno: Errno::RESTART, .. }) => {
                    self.inspect()?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(NetlinkError::KeepsChanging.into())
    }

    /// A transaction that finds nothing to do is no generation; one that adds something is. Removals may find nothing.
    fn leave_a_mark(&mut self) {
        if self.has_additions {
            return;
        }
        let mut writer =
            ElementWriter { batch: &mut self.batch, table: &self.config.table, removal: self.removal };
        writer.mark(&registries()[0], &[u8::MAX; MARK_BYTES]);
    }

    /// Remembers the table as it is now, right after we have written to it.
    pub(super) fn know_parts(&mut self) -> Result<(), NftError> {
        if let Hold::Shared(_) = self.hold {
            self.hold = Hold::Shared(parts(&mut self.socket, &self.config.table)?);
            if self.socket.generation()? != self.generation {
                self.damage = Some(Damage::Changed);
            }
        }
        Ok(())
    }

    fn compare(&mut self) -> Result<Option<Damage>, NftError> {
        let Some(state) = TableState::read(&mut self.socket, &self.config.table)? else {
            return Ok(Some(Damage::Missing));
        };
        let is_as_it_was = match &self.hold {
            Hold::Owned => state.owner == Some(self.socket.port()),
            Hold::Shared(known) => parts(&mut self.socket, &self.config.table)? == *known,
        };
        Ok((!is_as_it_was).then_some(Damage::Changed))
    }

    /// Writes the table with its chains, its rules and empty sets, in the place of what is there under its
    /// name: closed.
    fn recreate(&mut self) -> Result<(), NftError> {
        for _ in 0..ATTEMPTS {
            let generation = self.socket.generation()?;
            let present = TableState::read(&mut self.socket, &self.config.table)?.is_some();
            self.socket.begin(&mut self.batch);
            self.batch.expect_generation(generation);
            if present {
                self.batch.message(message::DELETE_TABLE, 0, |attributes| {
                    attributes.text(table::NAME, &self.config.table);
                });
            }
            write_base(&mut self.batch, &self.config, flags_of(self.config.ownership));
            for lookup in self.sets.keys() {
                write_lookup_set(&mut self.batch, &self.config, *lookup);
            }
            let sets: Vec<Lookup> = self.sets.keys().copied().collect();
            write_rules(&mut self.batch, &self.config, &sets);
            match self.socket.transact(&mut self.batch) {
                Ok(()) => {
                    self.generation = next(generation);
                    return self.know_parts();
                }
                Err(NetlinkError::Refused { errno: Errno::RESTART, .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(NetlinkError::KeepsChanging.into())
    }

    /// Records and elements of all rules, a few thousand in a transaction.
    pub(super) fn fill(&mut self, now: Instant, rules: &[&PolicyRule]) -> Result<(), NftError> {
        self.begin();
        for rule in rules {
            self.writer().remember(now, rule)?;
            self.commit_piece()?;
        }
        let entries: Vec<_> = self
            .ledger
            .iter()
            .map(|(element, entry)| (element.clone(), entry.data.clone(), entry.deadline()))
            .collect();
        for (element, data, deadline) in entries {
            self.write(now, &element, &data, Effect::Add(deadline));
            self.commit_piece()?;
        }
        self.commit_batch()
    }

    /// Commits what is in the batch if that is much, and begins another one.
    pub(super) fn commit_piece(&mut self) -> Result<(), NftError> {
        if self.batch.len() < PIECE {
            return Ok(());
        }
        self.commit_batch()?;
        self.begin();
        Ok(())
    }
}

/// Returns the sets that are there from the start.
pub(super) fn common() -> impl Iterator<Item = Lookup> {
    let of = |shape| Meaning::ALL.map(|meaning| Lookup { meaning, shape });
    Shape::common().flat_map(of).filter(|lookup| lookup.meaning != Meaning::Block)
}

/// Returns the generation after ours; the kernel leaves out 0.
pub(super) const fn next(generation: u32) -> u32 {
    match generation.wrapping_add(1) {
        0 => 1,
        next => next,
    }
}

/// Returns everything of a table but its elements: table, chains, rules and sets with the numbers that the
/// kernel gave them, and what makes the chains ones that packets come to.
fn parts(socket: &mut Socket, name: &str) -> Result<BTreeSet<Part>, NetlinkError> {
    let mut found = BTreeSet::new();
    let of_table = |answer: &[u8], kind: u16| {
        attribute(answer, kind).is_some_and(|text| text.strip_suffix(&[0]) == Some(name.as_bytes()))
    };
    if let Some(TableState { flags, handle, .. }) = TableState::read(socket, name)? {
        found.insert((message::GET_TABLE, [handle.to_be_bytes().as_slice(), &flags.to_be_bytes()].concat()));
    }
    let kinds: [(u8, u16, &[u16]); 3] = [
        (message::GET_CHAIN, chain::TABLE, &[chain::NAME, chain::HANDLE, chain::HOOK, chain::POLICY]),
        (message::GET_RULE, rule::TABLE, &[rule::CHAIN, rule::HANDLE]),
        (message::GET_SET, set::TABLE, &[set::NAME, set::HANDLE]),
    ];
    for (kind, owner, wanted) in kinds {
        let asked = socket.dump(
            kind,
            |request| request.text(owner, name),
            |answer| {
                if of_table(answer, owner) {
                    let octets = wanted.iter().map(|kind| attribute(answer, *kind).unwrap_or_default());
                    found.insert((kind, octets.collect::<Vec<_>>().concat()));
                }
            },
        );
        match asked {
            Ok(()) | Err(NetlinkError::Refused { errno: Errno::NOENT, .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// A registry's key that no rule has, by which a transaction leaves a mark.
const MARK_BYTES: usize = 8;
/// Transactions and looks that others' changes may thwart one after the other.
const ATTEMPTS: u32 = 16;
/// Messages in a transaction at most, where there is no bound otherwise.
const PIECE: u32 = 8192;
