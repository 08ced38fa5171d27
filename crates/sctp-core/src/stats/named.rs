//! The counters by name, for registries of any kind: each counter there is, for whoever takes one apart names all of it.

use super::{
    AbandonedCount, AbandonedMessages, AsconfStatistics, AssociationCounters, AssociationStatistics,
    AuthenticationStatistics, CongestionCounters, CopyCounters, DiscardedChunks, EndpointStatistics, GivenUp,
    HandshakeCounters, PathCounters, PathStatistics, ReceiverStatistics, ReconfigStatistics,
    SenderStatistics,
};
use crate::event::EventCounters;

/// Tells of the counters of a structure; those behind the second semicolon are told of elsewhere, or are no counters.
macro_rules! tell_of {
    ($tell:ident, $prefix:literal, $type:ident = $value:expr; $($counter:ident)*; $($other:ident)*) => {
        let $type { $($counter,)* $($other: _,)* } = $value;
        $($tell(concat!($prefix, ".", stringify!($counter)), *$counter);)*
    };
}

impl AssociationStatistics {
    /// Calls `tell` with the name and the value of each counter of the association but those of its
    /// [paths](PathStatistics::each_counter), always in the same order. A counter never falls, and its name is the path to its
    /// field: `sender.messages` is [`SenderStatistics::messages`].
    ///
    /// ```
    /// let statistics = sctp_core::AssociationStatistics::default();
    /// let mut lines = Vec::new();
    /// statistics.each_counter(|name, value| lines.push(format!("{name} {value}")));
    /// assert!(lines.contains(&"sender.retransmissions 0".to_owned()));
    /// ```
    pub fn each_counter(&self, mut tell: impl FnMut(&'static str, u64)) {
        self.tell_of_packets(&mut tell);
        self.tell_of_sending(&mut tell);
        self.tell_of_receiving(&mut tell);
    }

    fn tell_of_packets(&self, tell: &mut impl FnMut(&'static str, u64)) {
        tell_of!(tell, "association", AssociationCounters = &self.association;
            packets_received handshake_retransmissions stale_cookies control_dropped restarts addresses_ignored path_switches;
            discarded);
        tell_of!(tell, "association.discarded", DiscardedChunks = &self.association.discarded;
            malformed unknown bad_tags behind_lone_chunks data_in_wrong_state old_sacks unexpected_init_acks late_cookies unexpected_heartbeat_acks;);
        tell_of!(tell, "reconfiguration", ReconfigStatistics = &self.reconfiguration;
            requests_sent retransmissions unexpected_responses requests_received requests_repeated requests_refused requests_passed_over in_wrong_state data_behind_reset;);
        tell_of!(tell, "authentication", AuthenticationStatistics = &self.authentication;
            packets_signed verified wrong_hmacs unknown_keys unsupported_hmacs repeated unauthenticated_chunks;);
        tell_of!(tell, "asconf", AsconfStatistics = &self.asconf;
            sent retransmissions processed repeated discarded stray_acks added deleted refused;);
        tell_of!(tell, "events", EventCounters = &self.events;
            failures_dropped notices_dropped;);
    }

    fn tell_of_sending(&self, tell: &mut impl FnMut(&'static str, u64)) {
        tell_of!(tell, "sender", SenderStatistics = &self.sender;
            messages chunks retransmissions probe_chunks lost_by_acknowledgment lost_by_timeout spurious needless_retransmissions undoings_refused reordering_window_growths duplicates_reported forward_tsns;
            copies abandoned undelivered);
        tell_of!(tell, "sender.copies", CopyCounters = &self.sender.copies;
            sent mended;);
        tell_of!(tell, "sender.undelivered", AbandonedCount = &self.sender.undelivered;
            unsent sent;);
        let AbandonedMessages { lifetime, retransmissions, priority } = &self.sender.abandoned;
        tell_of!(tell, "sender.abandoned.lifetime", AbandonedCount = lifetime;
            unsent sent;);
        tell_of!(tell, "sender.abandoned.retransmissions", AbandonedCount = retransmissions;
            unsent sent;);
        tell_of!(tell, "sender.abandoned.priority", AbandonedCount = priority;
            unsent sent;);
    }

    fn tell_of_receiving(&self, tell: &mut impl FnMut(&'static str, u64)) {
        tell_of!(tell, "receiver", ReceiverStatistics = &self.receiver;
            data_chunks octets messages messages_in_pieces pieces pieces_aborted duplicates dropped_no_window dropped_out_of_reach invalid_streams sacks_left_out;
            reassembly_bytes given_up blocked);
        tell_of!(tell, "receiver.given_up", GivenUp = &self.receiver.given_up;
            forward_tsns old_forward_tsns dropped_forward_tsns invalid_streams messages late_chunks;);
        let blocked = self.receiver.blocked.histogram();
        tell("receiver.blocked.messages", blocked.count());
        tell("receiver.blocked.nanoseconds", u64::try_from(blocked.sum().as_nanos()).unwrap_or(u64::MAX));
    }
}

impl PathStatistics {
    /// Calls `tell` with the name and the value of each counter of the path, as
    /// [`AssociationStatistics::each_counter`] does.
    pub fn each_counter(&self, mut tell: impl FnMut(&'static str, u64)) {
        tell_of!(tell, "path", PathCounters = &self.counters;
            packets_sent packets_received timeouts recoveries mtu_probes black_holes probes recoveries_undone heartbeats heartbeats_unanswered rebindings_asked rebindings rebindings_over_limit zero_checksums_sent;);
        tell_of!(tell, "path.congestion", CongestionCounters = &self.congestion;
            unused_cuts unvalidated_losses resumed retreats paced trains;);
    }
}

impl EndpointStatistics {
    /// Calls `tell` with the name and the value of each counter of the endpoint, as
    /// [`AssociationStatistics::each_counter`] does.
    pub fn each_counter(&self, mut tell: impl FnMut(&'static str, u64)) {
        tell_of!(tell, "endpoint", EndpointStatistics = self;
            packets_received malformed bad_checksum zero_checksums_accepted wrong_port bad_tag unknown_source out_of_the_blue_discarded out_of_the_blue_answered packet_too_big foreign_packet_too_big answers_dropped accepted initiated;
            handshake);
        tell_of!(tell, "endpoint.handshake", HandshakeCounters = &self.handshake;
            init_acks_sent init_acks_from_elsewhere cookies_from_elsewhere inits_refused inits_over_rate bad_cookies spent_cookies unauthenticated_cookies stale_cookies cookies_over_limit ignored_cookies undecided gave_way;);
    }
}
