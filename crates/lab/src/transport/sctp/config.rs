//! The parameters of an association: a profile, what a flow needs, and what its plan changes.

use sctp_core::{AssociationConfig, Buffers, Offer, Profile, Streams, UnknownProfile};
use workload::MessageSize;

use crate::handover::Handover;
use crate::transport::FlowPlan;

/// Returns the parameters of both ends of an association.
pub(super) fn config(flow: &FlowPlan) -> Result<AssociationConfig, String> {
    let name = flow.profile.as_deref().unwrap_or("signalling");
    let profile: Profile = name.parse().map_err(|error: UnknownProfile| error.to_string())?;
    let mut config = AssociationConfig::profile(profile);
    let lanes = flow.transport.0.lanes();
    config.streams = Streams { outbound: lanes, inbound: lanes.max(config.streams.inbound) };
    config.path_mtu.bytes = flow.sctp.paths.mtu.unwrap_or(ETHERNET_BYTES);
    let longest = flow.longest_message_bytes();
    let message = usize::try_from(longest).unwrap_or(usize::MAX);
    config.buffers.send_bytes = config.buffers.send_bytes.max(message.saturating_mul(2));
    config.buffers.receive_bytes = config.buffers.receive_bytes.max(message.saturating_mul(2));
    flow.sctp.apply(&mut config);
    if let Some(octets) = flow.sctp.send_payload {
        config.buffers.send_bytes = Buffers::send_bytes_for((octets / message.max(1)).max(1), message);
    }
    config.buffers.message_bytes = config
        .buffers
        .message_bytes
        .max(message)
        .min(config.buffers.receive_bytes)
        .min(config.buffers.send_bytes);
    config.validate().map_err(|error| error.to_string())?;
    Ok(config)
}

/// Adds what both ends need for the client to go on in another network, and how it begins there.
///
/// # Errors
/// The profile does not allow that.
pub(super) fn for_handover(config: &mut AssociationConfig, handover: &Handover) -> Result<(), String> {
    config.extensions.authentication = Offer::On;
    config.extensions.dynamic_addresses = Offer::On;
    config.congestion.start_up = handover.start_up;
    config.validate().map_err(|error| error.to_string())
}

/// Returns parameters with room for whatever a client may ask: any number of streams, the largest message.
pub(super) fn config_for_anybody(profile: Profile) -> AssociationConfig {
    let mut config = AssociationConfig::profile(profile);
    config.streams = Streams { outbound: u16::MAX, inbound: u16::MAX };
    let largest = MessageSize::MAX.octets();
    config.buffers.message_bytes = largest;
    config.buffers.send_bytes = config.buffers.send_bytes.max(2 * largest);
    config.buffers.receive_bytes = config.buffers.receive_bytes.max(2 * largest);
    config
}

/// MTU of a link: Ethernet's.
const ETHERNET_BYTES: usize = 1500;
