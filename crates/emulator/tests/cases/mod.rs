//! The cases, by name.
#![allow(clippy::unwrap_used, reason = "only tests, but clippy does not see that without the usual harness")]

pub(crate) mod child;
mod devices;
mod impaired;
mod places;
mod transports;

/// A test.
pub(crate) type Case = fn();

/// All tests.
pub(crate) const ALL: &[(&str, Case)] = &[
    ("udp_round_trip_takes_both_delays_and_little_more", transports::udp_round_trip),
    ("tcp_crosses_packet_by_packet_over_ipv4_and_ipv6", transports::tcp_echo),
    ("report_tells_which_devices_were_used", devices::kind_is_reported),
    ("burst_before_the_start_is_read_or_counted_as_missed", devices::burst),
    ("device_that_is_switched_off_and_on_carries_as_before", devices::switched_off_and_on),
    ("packets_sent_before_the_end_are_counted", devices::end_before_a_look),
    ("unreachable_port_is_reported_and_not_numbered", transports::unreachable_port),
    ("listed_packets_are_dropped_and_no_others", impaired::listed_drops),
    ("links_with_the_same_seed_drop_the_same_packets", impaired::same_seed),
    ("corrupted_packets_do_not_reach_their_receiver", impaired::corruption),
    ("duplicates_arrive_twice", impaired::duplicates),
    ("impairments_change_in_the_middle", impaired::change_in_the_middle),
    ("link_that_is_down_loses_all_and_numbers_nothing", impaired::link_down),
    ("capture_holds_what_was_offered_and_delivered", impaired::capture),
    ("command_runs_behind_the_link", places::command),
    ("command_behind_a_link_is_ended_through_its_handle", places::command_ended),
    ("existing_namespaces_are_joined", places::existing_namespaces),
    ("killed_run_leaves_no_device_behind", places::killed_run),
    ("world_with_a_loose_end_does_not_start", places::loose_end),
];
