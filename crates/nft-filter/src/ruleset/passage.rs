//! Where a packet shows its internal and its external side.

use simco::IpVersion;

use super::expression::Place;

/// Which packet is looked at, and which way it goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Passage {
    /// A packet from outside.
    In,
    /// A packet from inside.
    Out,
    /// The packet in an ICMP error from outside: it went out.
    ErrorIn,
    /// The packet in an ICMP error from inside: it came in.
    ErrorOut,
}

/// Internal or external, whichever way a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Internal,
    External,
}

impl Passage {
    pub(crate) const ALL: [Self; 4] = [Self::In, Self::Out, Self::ErrorIn, Self::ErrorOut];

    /// The beginning of its chains' names.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Out => "out",
            Self::ErrorIn => "error_in",
            Self::ErrorOut => "error_out",
        }
    }

    /// Where the address of a side stands.
    pub(crate) const fn address(self, version: IpVersion, side: Side) -> Place {
        let (source, destination) = match version {
            IpVersion::V4 => (12, 16),
            IpVersion::V6 => (8, 24),
        };
        let offset = if self.is_source(side) { source } else { destination };
        if self.is_error() { Place::transport(INNER + offset) } else { Place::network(offset) }
    }

    /// Where the port of a side stands.
    pub(crate) const fn port(self, version: IpVersion, side: Side) -> Place {
        let offset = if self.is_source(side) { 0 } else { 2 };
        let header = match (self.is_error(), version) {
            (false, _) => 0,
            (true, IpVersion::V4) => INNER + 20,
            (true, IpVersion::V6) => INNER + 40,
        };
        Place::transport(header + offset)
    }

    /// Where the protocol stands; `None` if the kernel has found it out.
    pub(crate) const fn protocol(self, version: IpVersion) -> Option<Place> {
        match (self.is_error(), version) {
            (false, _) => None,
            (true, IpVersion::V4) => Some(Place::transport(INNER + 9)),
            (true, IpVersion::V6) => Some(Place::transport(INNER + 6)),
        }
    }

    /// Whether it looks into an ICMP error.
    pub(crate) const fn is_error(self) -> bool {
        match self {
            Self::In | Self::Out => false,
            Self::ErrorIn | Self::ErrorOut => true,
        }
    }

    /// Whether the packet looked at goes out.
    pub(crate) const fn goes_out(self) -> bool {
        match self {
            Self::Out | Self::ErrorIn => true,
            Self::In | Self::ErrorOut => false,
        }
    }

    const fn is_source(self, side: Side) -> bool {
        match side {
            Side::Internal => self.goes_out(),
            Side::External => !self.goes_out(),
        }
    }
}

/// Where the packet stands that an ICMP error is about.
pub(crate) const INNER: u32 = 8;
