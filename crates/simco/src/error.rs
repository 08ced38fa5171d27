//! The reason why octets are not a SIMCO message, and why a message cannot be written.

use crate::codepoints::AttributeType;

/// The reason why octets could not be decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// The message has fewer octets than a header.
    #[error("{available} octets are no header, which takes 8")]
    ShortHeader {
        /// The number of octets there are.
        available: usize,
    },
    /// The length field goes beyond what a message may have (RFC 4540 §4.1).
    #[error("a payload of {length} octets, at most 65528 are allowed")]
    TooLong {
        /// The value of the length field.
        length: u16,
    },
    /// The payload has not the length the header gives.
    #[error("the header says {expected} octets of payload, there are {available}")]
    WrongLength {
        /// The value of the length field.
        expected: u16,
        /// Octets there are behind the header.
        available: usize,
    },
    /// The basic type is none of the four that there are.
    #[error("basic type {found:#04x} is not known")]
    UnknownBasicType {
        /// The octet that was found.
        found: u8,
    },
    /// No message of this basic type has this sub-type.
    #[error("sub-type {found:#04x} is not known")]
    UnknownSubType {
        /// The octet that was found.
        found: u8,
    },
    /// The attributes do not fit the message.
    #[error(transparent)]
    Attribute(#[from] AttributeError),
}

/// The reason why attributes do not fit their message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AttributeError {
    /// Type and length do not fit into what is left.
    #[error("{available} octets are no attribute header, which takes 4")]
    ShortHeader {
        /// The number of octets left.
        available: usize,
    },
    /// The length goes beyond the end of the message.
    #[error("attribute {kind:#06x} says {length} octets, {available} are left")]
    BeyondEnd {
        /// The type, as it was found.
        kind: u16,
        /// The value of its length field.
        length: u16,
        /// Octets left behind its header.
        available: usize,
    },
    /// No attribute has this type.
    #[error("attribute type {kind:#06x} is not known")]
    Unknown {
        /// The type, as it was found.
        kind: u16,
    },
    /// A length this attribute cannot have.
    #[error("{kind} of {length} octets")]
    WrongLength {
        /// The type of the attribute.
        kind: AttributeType,
        /// The length of its value in octets.
        length: usize,
    },
    /// A value that is not defined.
    #[error("{kind} with the undefined value {value:#04x}")]
    UndefinedValue {
        /// The type of the attribute.
        kind: AttributeType,
        /// The octet with the undefined value.
        value: u8,
    },
    /// The attribute stands there more often than it may.
    #[error("{kind} comes too often")]
    Repeated {
        /// The type of the attribute.
        kind: AttributeType,
    },
    /// The message lacks an attribute that it needs.
    #[error("{kind} is missing")]
    Missing {
        /// The type of the attribute.
        kind: AttributeType,
    },
    /// The message has no such attribute.
    #[error("{kind} does not belong here")]
    Unexpected {
        /// The type of the attribute.
        kind: AttributeType,
    },
}

/// The reason why a message cannot be written. What was written of it is taken back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EncodeError {
    /// An attribute is longer than it may be.
    #[error("{kind} of {length} octets, at most {most} are allowed")]
    AttributeTooLong {
        /// The type of the attribute.
        kind: AttributeType,
        /// The length of its value in octets.
        length: usize,
        /// The largest length that is allowed.
        most: usize,
    },
    /// The payload is longer than 65,528 octets (RFC 4540 §4.1).
    #[error("a payload of {length} octets, at most 65528 are allowed")]
    TooLong {
        /// The length of the message in octets.
        length: usize,
    },
}
