//! The counters of discarded packets and chunks, and the events for those that have risen.

use super::{chunk_discarded, packet_discarded};
use crate::stats::{
    AsconfStatistics, AssociationCounters, AuthenticationStatistics, EndpointStatistics, ReconfigStatistics,
};

/// Counters of an association among which are those of discarded chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkCounters {
    pub(crate) association: AssociationCounters,
    pub(crate) authentication: AuthenticationStatistics,
    pub(crate) asconf: AsconfStatistics,
    pub(crate) reconfiguration: ReconfigStatistics,
}

/// Tells of the packets an endpoint has discarded since `before`.
pub(crate) fn packets_discarded(before: &EndpointStatistics, after: &EndpointStatistics) {
    risen(&PACKET_DISCARDS, before, after, packet_discarded);
}

/// Tells of the chunks an association has discarded since `before`.
pub(crate) fn chunks_discarded(before: &ChunkCounters, after: &ChunkCounters) {
    risen(&CHUNK_DISCARDS, before, after, chunk_discarded);
}

fn risen<T>(counters: &[Counter<T>], before: &T, after: &T, tell: fn(&'static str)) {
    for (name, counter) in counters {
        for _ in counter(before)..counter(after) {
            tell(name);
        }
    }
}

/// A counter, and its name.
type Counter<T> = (&'static str, fn(&T) -> u64);

/// Counters of an endpoint that stand for packets nobody takes.
const PACKET_DISCARDS: [Counter<EndpointStatistics>; 15] = [
    ("malformed", |of| of.malformed),
    ("bad_checksum", |of| of.bad_checksum),
    ("wrong_port", |of| of.wrong_port),
    ("bad_tag", |of| of.bad_tag),
    ("unknown_source", |of| of.unknown_source),
    ("out_of_the_blue_discarded", |of| of.out_of_the_blue_discarded),
    ("out_of_the_blue_answered", |of| of.out_of_the_blue_answered),
    ("inits_refused", |of| of.handshake.inits_refused),
    ("inits_over_rate", |of| of.handshake.inits_over_rate),
    ("bad_cookies", |of| of.handshake.bad_cookies),
    ("spent_cookies", |of| of.handshake.spent_cookies),
    ("unauthenticated_cookies", |of| of.handshake.unauthenticated_cookies),
    ("stale_cookies", |of| of.handshake.stale_cookies),
    ("cookies_over_limit", |of| of.handshake.cookies_over_limit),
    ("ignored_cookies", |of| of.handshake.ignored_cookies),
];

/// Counters of an association that stand for chunks without effect.
const CHUNK_DISCARDS: [Counter<ChunkCounters>; 21] = [
    ("malformed_chunks", |of| of.association.discarded.malformed),
    ("bad_tags", |of| of.association.discarded.bad_tags),
    ("behind_lone_chunks", |of| of.association.discarded.behind_lone_chunks),
    ("unknown_chunks", |of| of.association.discarded.unknown),
    ("data_in_wrong_state", |of| of.association.discarded.data_in_wrong_state),
    ("old_sacks", |of| of.association.discarded.old_sacks),
    ("unexpected_init_acks", |of| of.association.discarded.unexpected_init_acks),
    ("late_cookies", |of| of.association.discarded.late_cookies),
    ("unexpected_heartbeat_acks", |of| of.association.discarded.unexpected_heartbeat_acks),
    // RFC 4895 §6.3. With the first four goes what followed in the packet.
    ("authentication.wrong_hmacs", |of| of.authentication.wrong_hmacs),
    ("authentication.unknown_keys", |of| of.authentication.unknown_keys),
    ("authentication.unsupported_hmacs", |of| of.authentication.unsupported_hmacs),
    ("authentication.repeated", |of| of.authentication.repeated),
    ("authentication.unauthenticated_chunks", |of| of.authentication.unauthenticated_chunks),
    // RFC 5061 §5.2, §5.3.
    ("asconf.repeated", |of| of.asconf.repeated),
    ("asconf.discarded", |of| of.asconf.discarded),
    ("asconf.stray_acks", |of| of.asconf.stray_acks),
    // RFC 6525 §5.2.
    ("reconfiguration.unexpected_responses", |of| of.reconfiguration.unexpected_responses),
    ("reconfiguration.requests_passed_over", |of| of.reconfiguration.requests_passed_over),
    ("reconfiguration.in_wrong_state", |of| of.reconfiguration.in_wrong_state),
    ("reconfiguration.data_behind_reset", |of| of.reconfiguration.data_behind_reset),
];
