//! The transports of one comparison.

use core::fmt;
use core::str::FromStr;
use std::collections::BTreeMap;

use super::{TransportError, TransportSpec};

/// The transports of one comparison, in the order of the table; none twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportList(Vec<TransportSpec>);

impl TransportList {
    /// The list a comparison runs over when nobody says: six streams are enough for the default workload (S4).
    pub const DEFAULT: &str = "tcp,tcp:4,sctp:1,sctp:6,sctp:unordered,quic:6,udp";

    /// Returns the transports in order, at least one.
    #[must_use]
    pub fn as_slice(&self) -> &[TransportSpec] {
        &self.0
    }
}

impl Default for TransportList {
    /// Returns the list [`DEFAULT`](Self::DEFAULT).
    fn default() -> Self {
        Self(Self::DEFAULT.split(',').filter_map(|item| item.parse().ok()).collect())
    }
}

impl FromStr for TransportList {
    type Err = TransportError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut list = Vec::new();
        for item in text.split(',').map(str::trim) {
            let transport: TransportSpec = item.parse()?;
            if list.contains(&transport) {
                return Err(TransportError::Twice(transport.to_string()));
            }
            list.push(transport);
        }
        Ok(Self(list))
    }
}

impl fmt::Display for TransportList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, transport) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            transport.fmt(f)?;
        }
        Ok(())
    }
}

/// Returns what transports say of their congestion control and loss recovery, by protocol.
pub(crate) fn settings<'a>(
    transports: impl IntoIterator<Item = &'a TransportSpec>,
) -> BTreeMap<String, String> {
    let of =
        |transport: &TransportSpec| Some((transport.protocol().to_owned(), transport.settings()?.to_owned()));
    transports.into_iter().filter_map(of).collect()
}
