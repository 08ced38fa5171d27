//! Study S4: an agent opens, refreshes and deletes pinholes on a middlebox, both the cores that ship. The packet filter is
//! in memory, as the study's was switched off for measurements.

mod calls;
mod framer;
mod load;
mod service;

pub(super) use self::framer::MessageFramer;
pub(super) use self::load::SimcoLoad;
pub(super) use self::service::SimcoService;

use ::simco::{
    AddressTuple, Direction, EnableParameters, EnableParity, EnableRequest, Lifetime, Location,
    TransportProtocol,
};

use crate::transport::TransportSpec;

/// Why firewall control does not run over a transport; `None` if it does.
pub(crate) fn unsuitable(transport: TransportSpec) -> Option<&'static str> {
    match transport {
        TransportSpec::Tcp { connections } if connections.get() > 1 => {
            Some("a session of SIMCO is one connection")
        }
        TransportSpec::Udp => Some("SIMCO needs a reliable transport"),
        TransportSpec::Tcp { .. } | TransportSpec::Sctp { .. } | TransportSpec::SctpUnordered => None,
    }
}

/// The pinhole of a call, of study S4 and of `headway simco load`; all are alike, for a firewall takes equal rules.
#[must_use]
pub fn pinhole(lifetime: Lifetime) -> EnableRequest {
    let host = |location, address: [u8; 4], port| {
        AddressTuple::host(location, TransportProtocol::UDP, address.into(), port, 1)
    };
    EnableRequest {
        parameters: EnableParameters { parity: EnableParity::Any, direction: Direction::Inbound },
        internal: host(Location::INTERNAL, [10, 1, 8, 3], 12_345),
        external: host(Location::EXTERNAL, [203, 0, 113, 9], 6000),
        lifetime,
        group: None,
    }
}

/// Twice the refresh period: one refresh may fail.
const LIFETIME: Lifetime = Lifetime::from_secs(240);

#[cfg(test)]
mod tests;
