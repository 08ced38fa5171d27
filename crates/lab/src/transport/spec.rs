//! A transport as it is written: `tcp:4`, `sctp:unordered`.

use core::fmt;
use core::ops::Range;
use core::str::FromStr;
use core::time::Duration;

use super::{OF_STUDIES, TRANSPORTS, Transport, TransportError};
use crate::lanes::{Carriage, Lanes, Order};
use crate::text::{UnknownName, by_name, or};

/// A protocol of the table [`TRANSPORTS`]: `tcp`, without the number of its streams or connections.
#[derive(Clone, Copy)]
pub struct Protocol(pub(super) &'static dyn Transport);

impl Protocol {
    pub(super) const fn new(transport: &'static dyn Transport) -> Self {
        Self(transport)
    }

    /// Returns the name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.facts().name
    }
}

impl FromStr for Protocol {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = TRANSPORTS.into_iter().find(|protocol| protocol.name() == text);
        known.ok_or_else(|| UnknownName { text: text.to_owned(), known: or(&TRANSPORTS.map(Self::name)) })
    }
}

by_name!(Protocol);

/// One transport under test, with the number of its streams or connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransportSpec {
    protocol: Protocol,
    lanes: Lanes,
}

impl TransportSpec {
    pub(crate) fn transport(self) -> &'static dyn Transport {
        self.protocol.0
    }

    /// Returns what messages are dealt to round robin: streams or connections.
    #[must_use]
    pub fn lanes(self) -> u16 {
        self.lanes.count.get()
    }

    /// Returns how long a run waits for its last responses: 10 s; over UDP 32 s, when the last request is given
    /// up.
    #[must_use]
    pub fn drain(self) -> Duration {
        self.transport().drain()
    }

    /// Returns the name of the protocol alone.
    #[must_use]
    pub fn protocol(self) -> &'static str {
        self.protocol.name()
    }

    /// Returns the number of streams of the association or connection; `None` where there are none.
    #[must_use]
    pub fn streams(self) -> Option<u16> {
        self.transport().streams(self.lanes)
    }

    /// Returns the number of connections or associations; `None` for UDP.
    #[must_use]
    pub fn connections(self) -> Option<u16> {
        self.transport().connections(self.lanes)
    }

    /// Returns whether messages on one lane stay in order.
    #[must_use]
    pub fn is_ordered(self) -> bool {
        self.lanes.order == Order::Kept
    }

    /// Returns whether losses are the application's to mend, by sending the request again.
    #[must_use]
    pub fn is_unreliable(self) -> bool {
        self.carriage() == Carriage::Datagrams
    }

    pub(crate) fn carriage(self) -> Carriage {
        self.transport().facts().carriage
    }

    /// Returns the largest message in octets; `None` where there is no bound.
    #[must_use]
    pub fn most_message_bytes(self) -> Option<u32> {
        self.transport().facts().most_message_bytes
    }

    /// Returns whether the profile of a comparison is about it.
    #[must_use]
    pub fn takes_profile(self) -> bool {
        self.transport().facts().takes_profile
    }

    /// Returns the colours it has in reports, by their numbers in the style sheet.
    pub(crate) fn colours(self) -> Range<usize> {
        self.transport().facts().colours.clone()
    }

    /// Returns the model that predicts its response times.
    ///
    /// # Errors
    /// Why there is none.
    pub fn model(self) -> Result<models::resequencing::Transport, &'static str> {
        self.transport().model(self.lanes)
    }

    /// Returns its congestion control and loss recovery in words, where no option says them.
    #[must_use]
    pub fn settings(self) -> Option<&'static str> {
        self.transport().facts().settings
    }

    /// Returns the transport as the subject of a sentence: `SCTP with 6 streams`, `one TCP connection`.
    #[must_use]
    pub fn in_words(self) -> String {
        self.transport().in_words(self.lanes)
    }
}

impl fmt::Display for TransportSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.transport().write(self.lanes))
    }
}

impl FromStr for TransportSpec {
    type Err = TransportError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, argument) = match text.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (text, None),
        };
        let known = TRANSPORTS.into_iter().chain(OF_STUDIES).find(|protocol| protocol.name() == name);
        let unknown = || TransportError::Unknown { text: text.to_owned(), known: forms() };
        let protocol = known.ok_or_else(unknown)?;
        Ok(Self { protocol, lanes: protocol.0.parse(text, argument)? })
    }
}

/// Returns all ways to write a transport, as in "use tcp, tcp:N or udp".
pub(super) fn forms() -> String {
    let forms = TRANSPORTS.iter().flat_map(|protocol| protocol.0.facts().forms).map(|(form, _)| *form);
    or(&forms.collect::<Vec<_>>())
}

/// Returns all ways to write a transport, each with what it means: what the help of an option says.
#[must_use]
pub fn described() -> String {
    let forms = TRANSPORTS.iter().flat_map(|protocol| protocol.0.facts().forms);
    let described = forms.map(|(form, meaning)| match *meaning {
        "" => (*form).to_owned(),
        meaning => format!("{form} ({meaning})"),
    });
    described.collect::<Vec<_>>().join(", ")
}
