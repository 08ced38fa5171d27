//! ASCONF and ASCONF-ACK: addresses come and go (RFC 5061 §4.1).

use core::fmt::{self, Display, Formatter};
use core::net::IpAddr;

use crate::cursor::{Cursor, Tlv};
use crate::error::Flaw;
use crate::list::Walked;
use crate::numbers::AsconfSerial;
use crate::parameter::{Parameters, take_address};

/// An ASCONF chunk: requests to add, delete or prefer addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asconf<'a> {
    /// The serial number of the chunk.
    pub serial: AsconfSerial,
    /// An address of the association, to find it by if the source of the packet is new.
    pub address: IpAddr,
    /// The requests, each a parameter.
    pub requests: Parameters<'a>,
    pub(super) raw: &'a [u8],
}

impl<'a> Asconf<'a> {
    pub(super) fn decode(mut cursor: Cursor<'a>, tlv: Tlv<'a>) -> Result<Self, Flaw> {
        let serial = AsconfSerial::new(cursor.u32()?);
        let address = take_address(&mut cursor)?;
        Ok(Self { serial, address, requests: Parameters::from_cursor(cursor), raw: tlv.raw })
    }
}

impl Display for Asconf<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "serial={} {} {}", self.serial, self.address, Walked(self.requests))
    }
}

/// An ASCONF-ACK chunk: the answers to the requests of an ASCONF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AsconfAck<'a> {
    /// The number of the ASCONF it answers.
    pub serial: AsconfSerial,
    /// The answers; none for success throughout.
    pub responses: Parameters<'a>,
    pub(super) raw: &'a [u8],
}

impl<'a> AsconfAck<'a> {
    pub(super) fn decode(mut cursor: Cursor<'a>, tlv: Tlv<'a>) -> Result<Self, Flaw> {
        let serial = AsconfSerial::new(cursor.u32()?);
        Ok(Self { serial, responses: Parameters::from_cursor(cursor), raw: tlv.raw })
    }
}

impl Display for AsconfAck<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "serial={} {}", self.serial, Walked(self.responses))
    }
}
