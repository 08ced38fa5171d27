//! The defaults of the groups of parameters, so that a part of them may be written down and the rest left out.

use super::{
    AssociationConfig, Attempts, Buffers, CongestionConfig, Extensions, HeartbeatConfig, PathsConfig,
    RecoveryConfig, RtoConfig, SackConfig, Streams, TransmissionConfig,
};

macro_rules! of_the_default_profile {
    ($($type:ident = $field:ident;)*) => {
        $(
            /// The values of the profile [`Signalling`](super::Profile::Signalling).
            impl Default for $type {
                fn default() -> Self {
                    AssociationConfig::default().$field
                }
            }
        )*
    };
}

of_the_default_profile! {
    Streams = streams;
    Extensions = extensions;
    Buffers = buffers;
    RtoConfig = rto;
    SackConfig = sack;
    CongestionConfig = congestion;
    RecoveryConfig = recovery;
    HeartbeatConfig = heartbeat;
    Attempts = attempts;
    PathsConfig = paths;
    TransmissionConfig = transmission;
}

#[cfg(feature = "serde")]
pub(super) use of_endpoints::*;

/// The fields of an endpoint's configuration that may be left out: all but its port.
#[cfg(feature = "serde")]
mod of_endpoints {
    use core::net::IpAddr;
    use core::num::NonZeroU16;
    use core::time::Duration;

    use sctp_wire::SctpPort;

    use crate::config::{AssociationConfig, CrowdLimits, EndpointConfig, IncomingPolicy, InitRate, TagShare};

    macro_rules! default_fields {
        ($($field:ident: $type:ty;)*) => {
            $(
                pub(in crate::config) fn $field() -> $type {
                    // Nothing else depends on the port.
                    EndpointConfig::new(SctpPort::from(NonZeroU16::MIN)).$field
                }
            )*
        };
    }

    default_fields! {
        association: AssociationConfig;
        incoming: IncomingPolicy;
        association_limit: usize;
        crowds: CrowdLimits;
        receive_memory_bytes: usize;
        cookie_life: Duration;
        local_addresses: Vec<IpAddr>;
        cookie_extension: Duration;
        init_rate: Option<InitRate>;
        host_init_rate: Option<InitRate>;
        tag_share: Option<TagShare>;
    }
}
