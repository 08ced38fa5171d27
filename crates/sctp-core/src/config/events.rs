//! The events that an application is told of, and how many wait for one that does not ask for them.

#[cfg(feature = "serde")]
mod serial;

/// How much may wait in an [`EventQueue`](crate::EventQueue). The newest events are kept; what is dropped is counted in
/// [`EventCounters`](crate::EventCounters).
///
/// That an association is up, began anew, is ending or over has a place of its own and is never dropped: no limit counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[non_exhaustive]
pub struct EventLimits {
    /// The limit on events the peer can cause as often as it likes: errors it reports, changes of paths, addresses, keys and
    /// streams. Default 64 and 32 KiB, which is what a few minutes of trouble make. Raise it where every change of a path
    /// has to be told and applications ask seldom; each association of a hostile peer costs as much.
    pub notices: EventLimit,
    /// The limit on [`Event::SendFailed`](crate::Event::SendFailed), which carry their messages. Default `None`: as much
    /// as a full send buffer ([`Buffers::send_bytes`](crate::Buffers::send_bytes)) can hold, so that whatever an association has not delivered when it ends
    /// can be told. Lower it where messages expire by the thousand and nobody asks what became of them.
    pub failures: Option<EventLimit>,
    /// The kinds of events that there are at all. Default [`EventMask::DEFAULT`]: all but [`EventGroup::SenderDry`].
    pub mask: EventMask,
}

/// A limit on events that wait. What is reached first counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EventLimit {
    /// The number of events. 0: none is kept.
    pub number: usize,
    /// The octets they hold: payloads, texts and lists, and the events themselves, 112 octets each.
    pub bytes: usize,
}

impl Default for EventLimits {
    fn default() -> Self {
        Self { notices: EventLimit { number: 64, bytes: 32 << 10 }, failures: None, mask: EventMask::DEFAULT }
    }
}

/// A group of events that an application can do without. All others, of messages and room for them, of what becomes of the
/// association and its streams, are told in any case: somebody waits for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum EventGroup {
    /// The end of all sending, [`Event::SenderDry`](crate::Event::SenderDry): it comes with nearly every message of a thin
    /// flow.
    SenderDry,
    /// The messages that were given up, [`Event::SendFailed`](crate::Event::SendFailed); without it they are only counted.
    SendFailed,
    /// The changes of paths: [`Event::PeerAddressChange`](crate::Event::PeerAddressChange),
    /// [`Event::PeerPrimary`](crate::Event::PeerPrimary) and [`Event::TrainReceived`](crate::Event::TrainReceived).
    Paths,
    /// The errors that the peer reports: [`Event::RemoteError`](crate::Event::RemoteError).
    RemoteErrors,
    /// The ends of messages that will never be whole:
    /// [`Event::PartialDeliveryAborted`](crate::Event::PartialDeliveryAborted).
    PartialDelivery,
    /// The changes of the peer's key: [`Event::NewPeerKey`](crate::Event::NewPeerKey).
    Keys,
    /// The answers to changes of addresses:
    /// [`Event::AddressChangeAnswered`](crate::Event::AddressChangeAnswered).
    AddressChanges,
}

impl EventGroup {
    /// Every group that there is, in the order in which they are documented.
    pub const ALL: [Self; 7] = [
        Self::SenderDry,
        Self::SendFailed,
        Self::Paths,
        Self::RemoteErrors,
        Self::PartialDelivery,
        Self::Keys,
        Self::AddressChanges,
    ];
}

/// The kinds of events that an application is told of (SCTP_EVENT, RFC 6458 §6.2.2).
///
/// ```
/// use sctp_core::{EventGroup, EventMask};
///
/// let mask = EventMask::DEFAULT.with(EventGroup::SenderDry).without(EventGroup::Paths);
/// assert!(mask.has(EventGroup::SenderDry) && !mask.has(EventGroup::Paths));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventMask(u8);

impl EventMask {
    /// The mask that leaves nothing out.
    pub const ALL: Self = {
        let (mut mask, mut next) = (Self::NONE, 0);
        while next < EventGroup::ALL.len() {
            mask = mask.with(EventGroup::ALL[next]);
            next += 1;
        }
        mask
    };
    /// The mask that leaves out whatever can be.
    pub const NONE: Self = Self(0);
    /// The mask that leaves out [`EventGroup::SenderDry`] alone, which RFC 6458 §6.1.9 has off, too.
    pub const DEFAULT: Self = Self::ALL.without(EventGroup::SenderDry);

    /// Returns the mask with this group.
    #[must_use]
    pub const fn with(self, group: EventGroup) -> Self {
        Self(self.0 | Self::bit(group))
    }

    /// Returns the mask without this group.
    #[must_use]
    pub const fn without(self, group: EventGroup) -> Self {
        Self(self.0 & !Self::bit(group))
    }

    /// Returns whether events of this group are told.
    #[must_use]
    pub const fn has(self, group: EventGroup) -> bool {
        self.0 & Self::bit(group) != 0
    }

    const fn bit(group: EventGroup) -> u8 {
        1 << match group {
            EventGroup::SenderDry => 0,
            EventGroup::SendFailed => 1,
            EventGroup::Paths => 2,
            EventGroup::RemoteErrors => 3,
            EventGroup::PartialDelivery => 4,
            EventGroup::Keys => 5,
            EventGroup::AddressChanges => 6,
        }
    }
}
