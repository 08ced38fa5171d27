//! The terms of a connection, and what they were used for, as a line to read.

use std::fmt;

use data_channel::DtlsRole;
use sctp_core::{AssociationStatistics, Capabilities, Capability};

use crate::peer::Peer;

/// The terms that both ends agreed on, and counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agreed {
    pub(crate) capabilities: Capabilities,
    /// The version of DTLS, and our role in it.
    dtls: String,
    outbound_streams: u16,
    inbound_streams: u16,
    statistics: Option<AssociationStatistics>,
}

impl Agreed {
    /// Returns those of a connection that has an association.
    pub(crate) fn of(peer: &Peer, role: DtlsRole) -> Option<Self> {
        let association = peer.association()?;
        let status = association.status();
        Some(Self {
            capabilities: association.capabilities(),
            dtls: format!(
                "{} as the {}",
                peer.dtls_version(),
                if role == DtlsRole::Client { "client" } else { "server" }
            ),
            outbound_streams: status.outbound_streams,
            inbound_streams: status.inbound_streams,
            statistics: Some(association.statistics()),
        })
    }
}

impl fmt::Display for Agreed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(statistics) = &self.statistics else { return f.write_str("no association") };
        write!(f, "{}; {} streams out, {} in;", self.dtls, self.outbound_streams, self.inbound_streams)?;
        for (capability, name) in NAMES {
            write!(f, " {name} {},", if self.capabilities.has(capability) { "yes" } else { "no" })?;
        }
        let (sender, receiver) = (&statistics.sender, &statistics.receiver);
        write!(
            f,
            " of {} chunks sent {} again; of {} received {} twice",
            sender.chunks, sender.retransmissions, receiver.data_chunks, receiver.duplicates
        )
    }
}

const NAMES: [(Capability, &str); 5] = [
    (Capability::PartialReliability, "FORWARD-TSN"),
    (Capability::Reconfiguration, "RE-CONFIG"),
    (Capability::Interleaving, "I-DATA"),
    (Capability::ZeroChecksum, "checksums of zero"),
    (Capability::Authentication, "AUTH"),
];
