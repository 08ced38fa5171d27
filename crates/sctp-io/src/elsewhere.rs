//! Systems other than Linux: SCTP in UDP, as far as quinn-udp carries it; all else is refused with a sentence.
//!
//! What is missing here beside `udp` of Linux: code points ([`Outgoing::dscp`](crate::Outgoing) is not heeded), choosing by packet whether IP may
//! fragment (it may not), reports of the network, sharing a port among sockets. Offload is what quinn-udp finds.

mod raw;
mod timer;
mod udp;

pub use self::raw::{DualStackRawIp, RawIp};
pub use self::timer::Timer;
pub use self::udp::UdpEncapsulation;
