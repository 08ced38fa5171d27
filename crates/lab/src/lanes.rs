//! The lanes of a transport: how many there are, what they carry, and whether they keep it in order.

use core::num::NonZeroU16;

/// The lanes that messages are dealt to round robin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lanes {
    /// How many streams or connections.
    pub(crate) count: NonZeroU16,
    /// Whether messages on one of them stay in order.
    pub(crate) order: Order,
}

/// Whether a message waits for those before it on its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Order {
    /// The order of a lane is kept.
    Kept,
    /// A message is delivered when it is there.
    Free,
}

impl Lanes {
    pub(crate) const fn ordered(count: NonZeroU16) -> Self {
        Self { count, order: Order::Kept }
    }

    /// One lane on which nothing waits.
    pub(crate) const UNORDERED: Self = Self { count: NonZeroU16::MIN, order: Order::Free };
}

/// The kind of content that a lane of a transport carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carriage {
    /// Whole messages, reliably.
    Messages,
    /// Octets in order, reliably; messages are cut out of them.
    Octets,
    /// Messages that may be lost.
    Datagrams,
}
