//! The attributes of one message, collected in one walk without copying; and writing them.

use crate::codepoints::{AttributeType, CHALLENGE_BYTES, OWNER_BYTES};
use crate::error::{AttributeError, EncodeError};
use crate::numbers::{GroupId, Lifetime, PolicyRuleId};
use crate::parameters::{Capabilities, EnableParameters, ReserveParameters, Version};
use crate::tuple::{AddressTuple, Location};

/// The attributes of a message, each at most once but address tuples. A message takes out what belongs to it;
/// what is left then was not meant to be there ([`Attributes::finish`]).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attributes<'a> {
    version: Option<Version>,
    challenge: Option<&'a [u8]>,
    token: Option<&'a [u8]>,
    capabilities: Option<Capabilities>,
    rule: Option<PolicyRuleId>,
    group: Option<GroupId>,
    lifetime: Option<Lifetime>,
    owner: Option<&'a [u8]>,
    /// The address tuples in the order of the message, none behind an empty place.
    tuples: [Option<AddressTuple>; 4],
    reserve: Option<ReserveParameters>,
    enable: Option<EnableParameters>,
}

impl<'a> Attributes<'a> {
    /// Walks over a payload. The order of attributes is free but that of address tuples.
    pub(crate) fn collect(payload: &'a [u8]) -> Result<Self, AttributeError> {
        let mut collected = Self::default();
        let mut rest = payload;
        while !rest.is_empty() {
            let (kind, value, behind) = split(rest)?;
            let kind = AttributeType::from_value(kind).ok_or(AttributeError::Unknown { kind })?;
            collected.add(kind, value)?;
            rest = behind;
        }
        Ok(collected)
    }

    fn add(&mut self, kind: AttributeType, value: &'a [u8]) -> Result<(), AttributeError> {
        use AttributeType as Type;
        match kind {
            Type::Version => put(&mut self.version, kind, Version::from_octets(fixed(kind, value)?)),
            Type::Challenge => put(&mut self.challenge, kind, up_to(kind, value, CHALLENGE_BYTES)?),
            Type::Token => put(&mut self.token, kind, up_to(kind, value, CHALLENGE_BYTES)?),
            Type::Capabilities => {
                put(&mut self.capabilities, kind, Capabilities::from_octets(fixed(kind, value)?))
            }
            Type::PolicyRuleId => put(&mut self.rule, kind, PolicyRuleId::from_octets(fixed(kind, value)?)),
            Type::GroupId => put(&mut self.group, kind, GroupId::from_octets(fixed(kind, value)?)),
            Type::Lifetime => {
                let seconds = u32::from_be_bytes(fixed(kind, value)?);
                put(&mut self.lifetime, kind, Lifetime::from_secs(seconds))
            }
            Type::Owner => put(&mut self.owner, kind, up_to(kind, value, OWNER_BYTES)?),
            Type::AddressTuple => {
                let tuple = AddressTuple::decode(value)?;
                let place = self.tuples.iter_mut().find(|place| place.is_none());
                *place.ok_or(AttributeError::Repeated { kind })? = Some(tuple);
                Ok(())
            }
            Type::ReserveParameters => {
                put(&mut self.reserve, kind, ReserveParameters::from_octets(fixed(kind, value)?)?)
            }
            Type::EnableParameters => {
                put(&mut self.enable, kind, EnableParameters::from_octets(fixed(kind, value)?)?)
            }
        }
    }

    pub(crate) fn version(&mut self) -> Result<Version, AttributeError> {
        needed(self.version.take(), AttributeType::Version)
    }

    pub(crate) const fn challenge(&mut self) -> Option<&'a [u8]> {
        self.challenge.take()
    }

    pub(crate) const fn token(&mut self) -> Option<&'a [u8]> {
        self.token.take()
    }

    pub(crate) fn capabilities(&mut self) -> Result<Capabilities, AttributeError> {
        needed(self.capabilities.take(), AttributeType::Capabilities)
    }

    pub(crate) fn rule(&mut self) -> Result<PolicyRuleId, AttributeError> {
        needed(self.rule.take(), AttributeType::PolicyRuleId)
    }

    pub(crate) fn group(&mut self) -> Result<GroupId, AttributeError> {
        needed(self.group.take(), AttributeType::GroupId)
    }

    pub(crate) const fn optional_group(&mut self) -> Option<GroupId> {
        self.group.take()
    }

    pub(crate) fn lifetime(&mut self) -> Result<Lifetime, AttributeError> {
        needed(self.lifetime.take(), AttributeType::Lifetime)
    }

    pub(crate) fn owner(&mut self) -> Result<&'a [u8], AttributeError> {
        needed(self.owner.take(), AttributeType::Owner)
    }

    pub(crate) fn reserve(&mut self) -> Result<ReserveParameters, AttributeError> {
        needed(self.reserve.take(), AttributeType::ReserveParameters)
    }

    pub(crate) fn enable(&mut self) -> Result<EnableParameters, AttributeError> {
        needed(self.enable.take(), AttributeType::EnableParameters)
    }

    /// Returns the first tuple that is left, wherever it stands.
    pub(crate) fn next_tuple(&mut self) -> Result<AddressTuple, AttributeError> {
        let left = self.tuples.iter_mut().find_map(Option::take);
        needed(left, AttributeType::AddressTuple)
    }

    /// Returns the tuple of a location.
    pub(crate) fn tuple_at(&mut self, location: Location) -> Result<AddressTuple, AttributeError> {
        needed(self.optional_tuple_at(location), AttributeType::AddressTuple)
    }

    /// Returns the tuple of a location, where there is one.
    pub(crate) fn optional_tuple_at(&mut self, location: Location) -> Option<AddressTuple> {
        let stands_there = |tuple: &AddressTuple| tuple.location == location;
        self.tuples.iter_mut().find(|place| place.as_ref().is_some_and(stands_there))?.take()
    }

    /// Checks that no attribute is left.
    pub(crate) fn finish(self) -> Result<(), AttributeError> {
        use AttributeType as Type;
        let left = [
            (self.version.is_some(), Type::Version),
            (self.challenge.is_some(), Type::Challenge),
            (self.token.is_some(), Type::Token),
            (self.capabilities.is_some(), Type::Capabilities),
            (self.rule.is_some(), Type::PolicyRuleId),
            (self.group.is_some(), Type::GroupId),
            (self.lifetime.is_some(), Type::Lifetime),
            (self.owner.is_some(), Type::Owner),
            (self.tuples.iter().any(Option::is_some), Type::AddressTuple),
            (self.reserve.is_some(), Type::ReserveParameters),
            (self.enable.is_some(), Type::EnableParameters),
        ];
        match left.into_iter().find(|(is_left, _)| *is_left) {
            None => Ok(()),
            Some((_, kind)) => Err(AttributeError::Unexpected { kind }),
        }
    }
}

/// Splits the first attribute off: its type, its value, what follows. There is no padding (ruling R1).
pub(crate) fn split(octets: &[u8]) -> Result<(u16, &[u8], &[u8]), AttributeError> {
    let Some((&[kind0, kind1, length0, length1], behind)) = octets.split_first_chunk() else {
        return Err(AttributeError::ShortHeader { available: octets.len() });
    };
    let (kind, length) = (u16::from_be_bytes([kind0, kind1]), u16::from_be_bytes([length0, length1]));
    let beyond_end = AttributeError::BeyondEnd { kind, length, available: behind.len() };
    let (value, rest) = behind.split_at_checked(usize::from(length)).ok_or(beyond_end)?;
    Ok((kind, value, rest))
}

fn put<T>(place: &mut Option<T>, kind: AttributeType, value: T) -> Result<(), AttributeError> {
    if place.is_some() {
        return Err(AttributeError::Repeated { kind });
    }
    *place = Some(value);
    Ok(())
}

pub(crate) fn fixed<const N: usize>(kind: AttributeType, value: &[u8]) -> Result<[u8; N], AttributeError> {
    <[u8; N]>::try_from(value).map_err(|_| AttributeError::WrongLength { kind, length: value.len() })
}

fn up_to(kind: AttributeType, value: &[u8], most: usize) -> Result<&[u8], AttributeError> {
    if value.len() > most {
        return Err(AttributeError::WrongLength { kind, length: value.len() });
    }
    Ok(value)
}

fn needed<T>(value: Option<T>, kind: AttributeType) -> Result<T, AttributeError> {
    value.ok_or(AttributeError::Missing { kind })
}

/// Writes attributes behind what `out` holds.
pub(crate) struct AttributeWriter<'o> {
    out: &'o mut Vec<u8>,
}

impl<'o> AttributeWriter<'o> {
    pub(crate) const fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out }
    }

    pub(crate) fn version(&mut self, version: Version) {
        self.short(AttributeType::Version, &version.to_octets());
    }

    pub(crate) fn challenge(&mut self, challenge: Option<&[u8]>) -> Result<(), EncodeError> {
        challenge.map_or(Ok(()), |octets| self.long(AttributeType::Challenge, octets, CHALLENGE_BYTES))
    }

    pub(crate) fn token(&mut self, token: Option<&[u8]>) -> Result<(), EncodeError> {
        token.map_or(Ok(()), |octets| self.long(AttributeType::Token, octets, CHALLENGE_BYTES))
    }

    pub(crate) fn capabilities(&mut self, capabilities: Capabilities) {
        self.short(AttributeType::Capabilities, &capabilities.to_octets());
    }

    pub(crate) fn rule(&mut self, rule: PolicyRuleId) {
        self.short(AttributeType::PolicyRuleId, &rule.to_octets());
    }

    pub(crate) fn group(&mut self, group: GroupId) {
        self.short(AttributeType::GroupId, &group.to_octets());
    }

    pub(crate) fn optional_group(&mut self, group: Option<GroupId>) {
        if let Some(group) = group {
            self.group(group);
        }
    }

    pub(crate) fn lifetime(&mut self, lifetime: Lifetime) {
        self.short(AttributeType::Lifetime, &lifetime.as_secs().to_be_bytes());
    }

    pub(crate) fn owner(&mut self, owner: &[u8]) -> Result<(), EncodeError> {
        self.long(AttributeType::Owner, owner, OWNER_BYTES)
    }

    pub(crate) fn tuple(&mut self, tuple: &AddressTuple) {
        let length = match tuple.value_bytes() {
            4 => 4,
            12 => 12,
            _ => 24,
        };
        self.header(AttributeType::AddressTuple, length);
        tuple.encode(self.out);
    }

    pub(crate) fn optional_tuple(&mut self, tuple: Option<&AddressTuple>) {
        if let Some(tuple) = tuple {
            self.tuple(tuple);
        }
    }

    pub(crate) fn reserve(&mut self, parameters: ReserveParameters) {
        self.short(AttributeType::ReserveParameters, &parameters.to_octets());
    }

    pub(crate) fn enable(&mut self, parameters: EnableParameters) {
        self.short(AttributeType::EnableParameters, &parameters.to_octets());
    }

    fn header(&mut self, kind: AttributeType, length: u16) {
        self.out.extend(kind.get().to_be_bytes());
        self.out.extend(length.to_be_bytes());
    }

    fn short<const N: usize>(&mut self, kind: AttributeType, value: &[u8; N]) {
        const { assert!(N <= 255) };
        self.header(kind, u16::from(u8::try_from(N).unwrap_or(u8::MAX)));
        self.out.extend(value);
    }

    fn long(&mut self, kind: AttributeType, value: &[u8], most: usize) -> Result<(), EncodeError> {
        let too_long = EncodeError::AttributeTooLong { kind, length: value.len(), most };
        let length = u16::try_from(value.len()).ok().filter(|_| value.len() <= most).ok_or(too_long)?;
        self.header(kind, length);
        self.out.extend(value);
        Ok(())
    }
}
