//! How many events wait for an application that does not ask for them.

/// How much may wait in an [`EventQueue`](crate::EventQueue). The newest events are kept; what is dropped is counted in
/// [`EventCounters`](crate::EventCounters).
///
/// That an association is up, began anew, is ending or over has a place of its own and is never dropped: no limit counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventLimits {
    /// The limit on events the peer can cause as often as it likes: errors it reports, changes of paths, addresses, keys and
    /// streams. Default 64 and 32 KiB, which is what a few minutes of trouble make. Raise it where every change of a path
    /// has to be told and applications ask seldom; each association of a hostile peer costs as much.
    pub notices: EventLimit,
    /// The limit on [`Event::SendFailed`](crate::Event::SendFailed), which carry their messages. Default `None`: as much
    /// as a full send buffer ([`Buffers::send_bytes`](crate::Buffers::send_bytes)) can hold, so that whatever an association has not delivered when it ends
    /// can be told. Lower it where messages expire by the thousand and nobody asks what became of them.
    pub failures: Option<EventLimit>,
}

/// A limit on events that wait. What is reached first counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventLimit {
    /// The number of events. 0: none is kept.
    pub number: usize,
    /// The octets they hold: payloads, texts and lists, and the events themselves, 112 octets each.
    pub bytes: usize,
}

impl Default for EventLimits {
    fn default() -> Self {
        Self { notices: EventLimit { number: 64, bytes: 32 << 10 }, failures: None }
    }
}
