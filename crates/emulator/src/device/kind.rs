//! The two kinds of network device that an emulated link can end in.

use core::fmt;

use serde::{Deserialize, Serialize};

/// The kind of device by which the emulator takes packets from the kernel and gives them back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// TUN devices, which carry bare IP packets. Preferred: up to 10,000 packets wait for the emulator.
    Tun,
    /// Pairs of virtual Ethernet devices, the far end read through a packet socket. Needs no device file. A burst that
    /// overflows the socket's buffer before the emulator reads is lost, and counted as missed: with root rights more
    /// than 20,000 packets of full size; in a user namespace `net.core.rmem_max` sets the limit, 3,600 with 4 MiB.
    Veth,
}

impl DeviceKind {
    /// Returns the name of the kind: `tun` or `veth`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tun => "tun",
            Self::Veth => "veth",
        }
    }

    /// Creates the kind of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Tun, Self::Veth].into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
