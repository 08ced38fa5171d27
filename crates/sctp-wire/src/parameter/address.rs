//! The requests of ASCONF and the answers of ASCONF-ACK (RFC 5061 §4.2).

use core::fmt::{self, Display, Formatter};
use core::net::IpAddr;

use crate::cause::Causes;
use crate::codepoints::ParameterType;
use crate::cursor::Cursor;
use crate::error::{Flaw, Layer};
use crate::list::Bracketed;
use crate::numbers::CorrelationId;
use crate::write::ValueWriter;

/// A request to add or delete an address, or to make it the primary one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AddressRequest {
    /// The number by which the answer refers to the request.
    pub correlation: CorrelationId,
    /// The address that the request is about; all zero stands for the source address of the packet (RFC 5061 §4.2.1,
    /// §4.2.2, §4.2.4).
    pub address: IpAddr,
}

impl AddressRequest {
    pub(super) fn decode(cursor: &mut Cursor<'_>) -> Result<Self, Flaw> {
        Ok(Self { correlation: CorrelationId::new(cursor.u32()?), address: take_address(cursor)? })
    }

    pub(super) fn write(&self, value: &mut ValueWriter<'_>) {
        value.u32(self.correlation.get());
        value.address(self.address);
    }
}

impl Display for AddressRequest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "corr={} {}", self.correlation, self.address)
    }
}

/// The answer to a request that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErrorCauseIndication<'a> {
    /// The number of the request that failed.
    pub correlation: CorrelationId,
    /// The reasons for the failure.
    pub causes: Causes<'a>,
}

impl<'a> ErrorCauseIndication<'a> {
    pub(super) fn decode(mut cursor: Cursor<'a>) -> Result<Self, Flaw> {
        let correlation = CorrelationId::new(cursor.u32()?);
        Ok(Self { correlation, causes: Causes::from_cursor(cursor) })
    }

    pub(super) fn write(&self, value: &mut ValueWriter<'_>) {
        value.u32(self.correlation.get());
        value.bytes(self.causes.as_bytes());
    }
}

/// The codes of the causes; their content is not shown, so that a cause in a parameter in a cause cannot nest.
impl Display for ErrorCauseIndication<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let codes = self.causes.iter().flatten().map(|cause| cause.code());
        write!(f, "corr={} {}", self.correlation, Bracketed(", ", codes))
    }
}

/// Reads one IPv4 or IPv6 address parameter.
pub(crate) fn take_address(cursor: &mut Cursor<'_>) -> Result<IpAddr, Flaw> {
    let Some(Ok(tlv)) = cursor.tlv(Layer::Parameter) else { return Err(Flaw::NoAddress) };
    let mut value = Cursor::new(tlv.value, tlv.offset + 4);
    let address = match ParameterType::from(tlv.head) {
        ParameterType::IPV4_ADDRESS => IpAddr::from(value.array::<4>()?),
        ParameterType::IPV6_ADDRESS => IpAddr::from(value.array::<16>()?),
        _ => return Err(Flaw::NoAddress),
    };
    value.finish().map(|()| address)
}
