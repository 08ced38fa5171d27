//! The list of policy rules in the reply to PRL: up to 8,191 identifiers, read where they stand.

use core::slice::ChunksExact;

use crate::attributes::{fixed, split};
use crate::codepoints::AttributeType;
use crate::error::AttributeError;
use crate::numbers::PolicyRuleId;

/// Policy rule identifiers, out of a message or to be written into one.
#[derive(Clone, Copy, Debug)]
pub struct RuleIds<'a>(Source<'a>);

#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    /// Attributes of eight octets each, checked.
    Attributes(&'a [u8]),
    /// A list of the middlebox.
    List(&'a [PolicyRuleId]),
}

impl<'a> RuleIds<'a> {
    /// The most that fit into a message: (65,536 − 8) / 8.
    pub const MOST: usize = 8191;

    /// Wraps a list, to be written.
    #[must_use]
    pub const fn of(list: &'a [PolicyRuleId]) -> Self {
        Self(Source::List(list))
    }

    /// Checks every attribute of a payload.
    pub(super) fn decode(payload: &'a [u8]) -> Result<Self, AttributeError> {
        let mut rest = payload;
        while !rest.is_empty() {
            let (kind, value, behind) = split(rest)?;
            match AttributeType::from_value(kind) {
                Some(kind @ AttributeType::PolicyRuleId) => {
                    fixed::<{ PolicyRuleId::BYTES }>(kind, value)?;
                }
                Some(kind) => return Err(AttributeError::Unexpected { kind }),
                None => return Err(AttributeError::Unknown { kind }),
            }
            rest = behind;
        }
        Ok(Self(Source::Attributes(payload)))
    }

    /// Returns an iterator over the identifiers.
    #[must_use]
    pub fn iter(&self) -> RuleIdsIter<'a> {
        RuleIdsIter(match self.0 {
            Source::Attributes(octets) => Walk::Attributes(octets.chunks_exact(ATTRIBUTE_BYTES)),
            Source::List(list) => Walk::List(list.iter()),
        })
    }

    /// Returns the number of identifiers.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self.0 {
            Source::Attributes(octets) => octets.len() / ATTRIBUTE_BYTES,
            Source::List(list) => list.len(),
        }
    }

    /// Returns whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl PartialEq for RuleIds<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for RuleIds<'_> {}

impl<'a> IntoIterator for &RuleIds<'a> {
    type Item = PolicyRuleId;
    type IntoIter = RuleIdsIter<'a>;

    fn into_iter(self) -> RuleIdsIter<'a> {
        self.iter()
    }
}

/// An iterator over [`RuleIds`].
#[derive(Clone, Debug)]
pub struct RuleIdsIter<'a>(Walk<'a>);

#[derive(Clone, Debug)]
enum Walk<'a> {
    Attributes(ChunksExact<'a, u8>),
    List(core::slice::Iter<'a, PolicyRuleId>),
}

impl Iterator for RuleIdsIter<'_> {
    type Item = PolicyRuleId;

    fn next(&mut self) -> Option<PolicyRuleId> {
        match &mut self.0 {
            Walk::Attributes(attributes) => {
                let attribute = attributes.next()?;
                Some(PolicyRuleId::from_octets(*attribute.last_chunk()?))
            }
            Walk::List(list) => list.next().copied(),
        }
    }
}

/// Header and value of a policy rule identifier.
const ATTRIBUTE_BYTES: usize = 4 + PolicyRuleId::BYTES;
