//! A table of ours under another name: the configuration has changed, and it blocks what we open.

use std::collections::BTreeSet;

use simco::PolicyRule;

use super::NftFilter;
use super::elements::{Clock, recorded};
use super::guard::{TableState, lock};
use super::takeover::rights;
use crate::error::NftError;
use crate::netlink::table::NAME;
use crate::netlink::{
    Batch, NetlinkError, Socket, attribute, attributes, data, element, message, set, table,
};
use crate::ruleset::{INTERFACES, registries};

impl NftFilter {
    /// Takes over what tables of ours under other names have on record, and takes them away: those that nobody serves, and
    /// whose interfaces are all ours. Of all others of ours there are told the names; they close what they close.
    pub(super) fn succeed(&mut self, clock: Clock) -> Result<Vec<PolicyRule>, NftError> {
        let mut found = Vec::new();
        let own: BTreeSet<Vec<u8>> = self.config.inside.iter().map(|name| name.as_bytes().to_vec()).collect();
        for name in tables(&mut self.socket)? {
            if name == self.config.table || !is_of_our_making(&mut self.socket, &name)? {
                continue;
            }
            let state = TableState::read(&mut self.socket, &name)?;
            let is_served = state.is_none_or(|state| state.owner.is_some()) || lock(&name).is_err();
            if is_served || !interfaces(&mut self.socket, &name)?.is_subset(&own) {
                self.others.push(name);
                continue;
            }
            let recorded = recorded(&mut self.socket, &name, clock)?.rules;
            let rules: Vec<PolicyRule> =
                recorded.into_iter().filter(|rule| self.adopt(rule).is_ok()).collect();
            self.fill(clock.now(), &rules.iter().collect::<Vec<_>>())?;
            self.begin();
            self.batch.message(message::DELETE_TABLE, 0, |attributes| attributes.text(table::NAME, &name));
            self.has_additions = true;
            self.commit_batch()?;
            found.extend(rules);
        }
        Ok(found)
    }

    /// Removes the table of a process that is gone, which opens the network; returns whether there was one.
    ///
    /// # Errors
    ///
    /// The table serves a process, is not of our making, or the kernel refuses.
    pub fn remove(table: &str) -> Result<bool, NftError> {
        let mut socket = Socket::open()?;
        let Some(state) = TableState::read(&mut socket, table).map_err(rights)? else { return Ok(false) };
        if let Some(owner) = state.owner {
            return Err(NftError::Owned { table: table.to_owned(), owner });
        }
        let _lock = lock(table)?;
        if !is_of_our_making(&mut socket, table)? {
            return Err(NftError::Foreign { table: table.to_owned() });
        }
        let mut batch = Batch::default();
        socket.begin(&mut batch);
        batch.message(message::DELETE_TABLE, 0, |attributes| attributes.text(NAME, table));
        socket.transact(&mut batch)?;
        Ok(true)
    }

    /// Returns the names of other tables that are of our making: another process serves them, or they close
    /// other interfaces.
    #[must_use]
    pub fn others(&self) -> &[String] {
        &self.others
    }
}

fn tables(socket: &mut Socket) -> Result<Vec<String>, NetlinkError> {
    let mut found = Vec::new();
    socket.dump(message::GET_TABLE, |_| {}, |answer| found.extend(text(answer, table::NAME)))?;
    found.dedup();
    Ok(found)
}

/// Returns whether the table has what only ours have.
fn is_of_our_making(socket: &mut Socket, name: &str) -> Result<bool, NetlinkError> {
    let mut sets = BTreeSet::new();
    socket.dump(
        message::GET_SET,
        |request| request.text(set::TABLE, name),
        |answer| sets.extend(text(answer, set::NAME)),
    )?;
    Ok([registries()[0].as_str(), INTERFACES, "in_4_32_32_p_16_16", "out_6_128_128_p_16_16"]
        .iter()
        .all(|set| sets.contains(*set)))
}

/// Returns the interfaces of the network that a table protects.
fn interfaces(socket: &mut Socket, name: &str) -> Result<BTreeSet<Vec<u8>>, NetlinkError> {
    let mut found = BTreeSet::new();
    let ask = |request: &mut crate::netlink::Attributes<'_>| {
        request.text(element::TABLE, name);
        request.text(element::SET, INTERFACES);
    };
    socket.dump(message::GET_ELEMENT, ask, |answer| {
        let list = attribute(answer, element::ELEMENTS).unwrap_or_default();
        let key = |octets| attribute(attribute(octets, element::KEY)?, data::VALUE);
        let names = attributes(list).filter_map(|(_, octets)| key(octets));
        found.extend(
            names.map(|name| name.iter().copied().take_while(|octet| *octet != 0).collect::<Vec<u8>>()),
        );
    })?;
    Ok(found)
}

fn text(answer: &[u8], kind: u16) -> Option<String> {
    let octets = attribute(answer, kind)?.strip_suffix(&[0])?;
    String::from_utf8(octets.to_vec()).ok()
}
