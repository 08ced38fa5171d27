//! RE-CONFIG: streams start anew or are added (RFC 6525 §3.1).

use core::fmt::{self, Display, Formatter};

use crate::codepoints::ParameterType;
use crate::cursor::{Cursor, Tlv};
use crate::error::{DecodeError, Item};
use crate::list::Walked;
use crate::parameter::Parameters;

/// A RE-CONFIG chunk: requests to reset or add streams, and their answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReConfig<'a> {
    /// One or two requests or responses; which, [`combination`](Self::combination) tells.
    pub parameters: Parameters<'a>,
    pub(super) raw: &'a [u8],
}

impl<'a> ReConfig<'a> {
    pub(super) const fn decode(cursor: Cursor<'a>, tlv: Tlv<'a>) -> Self {
        Self { parameters: Parameters::from_cursor(cursor), raw: tlv.raw }
    }

    /// Returns the combination of requests and answers that the chunk holds; `None` if it is not an allowed
    /// one, or has no sound structure.
    ///
    /// A parameter whose content is malformed counts by its type.
    #[must_use]
    pub fn combination(&self) -> Option<ReconfigCombination> {
        let mut kinds = self.parameters.iter().map(|parameter| match parameter {
            Ok(parameter) => Some(parameter.kind()),
            Err(DecodeError::Body { item: Item::Parameter(kind), .. }) => Some(kind),
            Err(_) => None,
        });
        let (first, second, third) = (kinds.next()??, kinds.next(), kinds.next());
        match (second, third) {
            (None, _) => ReconfigCombination::of(first, None),
            (Some(Some(second)), None) => ReconfigCombination::of(first, Some(second)),
            (Some(_), _) => None,
        }
    }
}

impl Display for ReConfig<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Walked(self.parameters).fmt(f)
    }
}

/// A combination of parameters that a RE-CONFIG may hold (RFC 6525 §3.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReconfigCombination {
    /// An Outgoing SSN Reset Request.
    OutgoingReset,
    /// An Incoming SSN Reset Request.
    IncomingReset,
    /// A request to reset outgoing streams, and one to reset incoming streams.
    OutgoingAndIncomingReset,
    /// An SSN/TSN Reset Request.
    SsnTsnReset,
    /// An Add Outgoing Streams Request.
    AddOutgoing,
    /// An Add Incoming Streams Request.
    AddIncoming,
    /// A request for more outgoing streams, and one for more incoming streams.
    AddOutgoingAndIncoming,
    /// A Re-configuration Response.
    Response,
    /// A Re-configuration Response and an Outgoing SSN Reset Request.
    ResponseAndOutgoingReset,
    /// Two Re-configuration Responses.
    TwoResponses,
}

impl ReconfigCombination {
    /// Creates the combination of these one or two parameters, in either order; `None` if it is not allowed.
    #[must_use]
    pub const fn of(first: ParameterType, second: Option<ParameterType>) -> Option<Self> {
        use ParameterType as P;
        let Some(second) = second else {
            return match first {
                P::OUTGOING_SSN_RESET_REQUEST => Some(Self::OutgoingReset),
                P::INCOMING_SSN_RESET_REQUEST => Some(Self::IncomingReset),
                P::SSN_TSN_RESET_REQUEST => Some(Self::SsnTsnReset),
                P::RE_CONFIGURATION_RESPONSE => Some(Self::Response),
                P::ADD_OUTGOING_STREAMS_REQUEST => Some(Self::AddOutgoing),
                P::ADD_INCOMING_STREAMS_REQUEST => Some(Self::AddIncoming),
                _ => None,
            };
        };
        match (first, second) {
            (P::OUTGOING_SSN_RESET_REQUEST, P::INCOMING_SSN_RESET_REQUEST)
            | (P::INCOMING_SSN_RESET_REQUEST, P::OUTGOING_SSN_RESET_REQUEST) => {
                Some(Self::OutgoingAndIncomingReset)
            }
            (P::ADD_OUTGOING_STREAMS_REQUEST, P::ADD_INCOMING_STREAMS_REQUEST)
            | (P::ADD_INCOMING_STREAMS_REQUEST, P::ADD_OUTGOING_STREAMS_REQUEST) => {
                Some(Self::AddOutgoingAndIncoming)
            }
            (P::RE_CONFIGURATION_RESPONSE, P::OUTGOING_SSN_RESET_REQUEST)
            | (P::OUTGOING_SSN_RESET_REQUEST, P::RE_CONFIGURATION_RESPONSE) => {
                Some(Self::ResponseAndOutgoingReset)
            }
            (P::RE_CONFIGURATION_RESPONSE, P::RE_CONFIGURATION_RESPONSE) => Some(Self::TwoResponses),
            _ => None,
        }
    }
}
