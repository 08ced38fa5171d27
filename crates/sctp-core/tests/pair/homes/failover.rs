//! Paths that fail, what is used instead, and the way back (RFC 9260 §6.4, §8; RFC 7829).

use std::net::IpAddr;

use netem::Impairments;
use sctp_core::{AssociationError, AssociationState, Exposure, PathId, PathState};

use crate::net::{End, Pair, Setup, ms, ordered};

/// Two homes on each side, all paths verified and measured.
fn homed(setup: Setup) -> Pair {
    let mut pair = setup.two_homes().connected();
    pair.run_ms(200);
    assert_eq!(pair.path_states(End::Left), [PathState::Active; 2]);
    assert_eq!(pair.path_states(End::Right), [PathState::Active; 2]);
    pair
}

/// One message every 10 ms for this long; gives when the first left.
fn talk(pair: &mut Pair, messages: usize) -> u64 {
    let begun = pair.now_ms();
    for _ in 0..messages {
        let number = usize::try_from(pair.statistics(End::Left).sender.messages).unwrap();
        pair.send(End::Left, ordered(0, number, 100));
        pair.run_ms(10);
    }
    begun
}

/// The longest time between two deliveries since `from_ms`.
fn longest_gap(pair: &Pair, from_ms: u64) -> u64 {
    let times: Vec<u64> = pair.read_times(End::Right).into_iter().filter(|at| *at >= from_ms).collect();
    times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap()
}

/// Every message once and in order.
fn assert_whole(pair: &Pair, messages: usize) {
    let payloads = pair.payloads(End::Right);
    assert_eq!(payloads.len(), messages);
    for (number, payload) in payloads.into_iter().enumerate() {
        assert_eq!(payload, [number.to_le_bytes()[0]; 100]);
    }
}

fn local_down(pair: &mut Pair, address: &str) {
    let address: IpAddr = address.parse().unwrap();
    pair.with(End::Left, |side, now| side.endpoint.local_address_down(now, address));
}

fn local_up(pair: &mut Pair, address: &str) {
    let address: IpAddr = address.parse().unwrap();
    pair.with(End::Left, |side, now| side.endpoint.local_address_up(now, address));
}

fn kinds_since(pair: &Pair, end: End, to: &str, from_ms: u64) -> Vec<(u64, String)> {
    let to: IpAddr = to.parse().unwrap();
    let sent = pair.side(end).sent.iter().filter(|sent| sent.to == to && sent.at_ms() >= from_ms);
    sent.map(|sent| (sent.at_ms(), sent.kinds())).collect()
}

#[test]
fn signalling_fails_over_within_300_ms_and_returns_to_the_primary_path() {
    let mut pair = homed(Setup::signalling());
    talk(&mut pair, 100);
    let cut_at = pair.now_ms();
    pair.cut_link(0);
    talk(&mut pair, 300);
    let gap = longest_gap(&pair, 0);
    assert!(gap <= 300, "{gap} ms");
    let changes = pair.path_changes(End::Left, cut_at);
    assert_eq!(changes[0].1, 0);
    assert_eq!(changes[0].2, PathState::PotentiallyFailed);
    pair.mend_link(0);
    let mended_at = pair.now_ms();
    talk(&mut pair, 500);
    assert_eq!(pair.path_states(End::Left), [PathState::Active; 2]);
    let last = kinds_since(&pair, End::Left, "10.0.0.2", mended_at).pop().unwrap();
    assert!(last.1.contains("DATA") && last.0 + 20 > pair.now_ms(), "back on the primary path: {last:?}");
    assert!(longest_gap(&pair, cut_at) <= 300);
    pair.run_ms(1000);
    assert_whole(&pair, 900);
}

/// RFC 9260 §8.2: six expiries, after 1, 2, 4, 8, 16 and 32 s; what timed out goes on the other path (§6.4.1).
#[test]
fn rfc9260_primary_path_is_inactive_after_the_sixth_expiry_of_t3() {
    let mut pair = homed(Setup::rfc9260().configure(|config| config.buffers.send_bytes = 2 << 20));
    talk(&mut pair, 100);
    pair.run_ms(1000);
    pair.cut_link(0);
    let cut_at = pair.now_ms();
    talk(&mut pair, 7000);
    let changes = pair.path_changes(End::Left, cut_at);
    assert_eq!(changes.len(), 1, "{changes:?}");
    let (at, path, state) = changes[0];
    assert_eq!((path, state), (0, PathState::Inactive));
    assert_eq!(at, cut_at + 63_000);
    assert_eq!(pair.statistics(End::Left).paths[0].counters.timeouts, 6);
    pair.run_ms(5000);
    assert_whole(&pair, 7100);
    assert_eq!(pair.state(End::Left), Some(AssociationState::Established));
    pair.mend_link(0);
    pair.run_ms(100_000);
    let mended_at = pair.now_ms();
    assert_eq!(pair.path_states(End::Left), [PathState::Active; 2]);
    talk(&mut pair, 1);
    assert_eq!(kinds_since(&pair, End::Left, "10.0.0.2", mended_at).len(), 1);
}

/// RFC 9260 §6.3.3 (E2), §8.2: that the data had arrived, and only its SACK was lost, does not end the back-off.
#[test]
fn rfc9260_path_whose_last_sack_was_lost_is_inactive_after_the_sixth_expiry_too() {
    let mut pair = homed(Setup::rfc9260().configure(|config| config.buffers.send_bytes = 2 << 20));
    talk(&mut pair, 100);
    pair.cut_link(0);
    let cut_at = pair.now_ms();
    talk(&mut pair, 7000);
    let (at, path, state) = pair.path_changes(End::Left, cut_at)[0];
    assert_eq!((path, state), (0, PathState::Inactive));
    assert!(at.abs_diff(cut_at + 63_000) <= 100, "{} ms", at - cut_at);
    let counters = pair.statistics(End::Left).paths[0].counters;
    assert_eq!((counters.timeouts, counters.recoveries_undone), (6, 0));
    pair.run_ms(5000);
    assert_whole(&pair, 7100);
}

/// RFC 7829 §3.2, points 5, 6 and 8: HEARTBEATs every RTO until the path is inactive, then at the usual rate.
#[test]
fn potentially_failed_path_is_probed_every_rto_until_it_is_inactive() {
    let mut pair = homed(Setup::signalling());
    talk(&mut pair, 10);
    pair.cut_link(0);
    let cut_at = pair.now_ms();
    talk(&mut pair, 3000);
    pair.run_ms(20_000);
    let sent = kinds_since(&pair, End::Left, "10.0.0.2", cut_at);
    let heartbeats: Vec<u64> =
        sent.iter().filter(|(_, kinds)| kinds == "HEARTBEAT").map(|(at, _)| *at).collect();
    let changes = pair.path_changes(End::Left, cut_at);
    let states: Vec<PathState> = changes.iter().map(|change| change.2).collect();
    assert_eq!(states, [PathState::PotentiallyFailed, PathState::Inactive]);
    let while_failed: Vec<u64> = heartbeats.iter().copied().filter(|at| *at <= changes[1].0).collect();
    assert!(while_failed.windows(2).skip(1).all(|pair| pair[1] - pair[0] <= 15_000), "{while_failed:?}");
    assert!(while_failed.len() >= 5, "{while_failed:?}");
    // RFC 9260 §8.1: that path carries no data, so the association does not suffer.
    assert_eq!(pair.state(End::Left), Some(AssociationState::Established));
}

/// RFC 7829 §3.2, point 12: who does not want to know sees the paths of RFC 9260, active and inactive ones.
#[test]
fn hidden_potentially_failed_state_is_in_no_event_and_no_statistic() {
    let hidden = Setup::signalling().configure(|config| {
        config.paths.potentially_failed_state = Exposure::Hidden;
    });
    let mut pair = homed(hidden);
    pair.cut_link(0);
    let cut_at = pair.now_ms();
    let begun = talk(&mut pair, 100);
    assert!(longest_gap(&pair, begun) <= 300, "the data takes the other path all the same");
    assert_eq!(pair.path_states(End::Left), [PathState::Active; 2]);
    assert!(pair.statistics(End::Left).paths[0].errors > 0);
    assert_eq!(pair.path_changes(End::Left, cut_at), []);
    talk(&mut pair, 3000);
    pair.run_ms(20_000);
    pair.mend_link(0);
    pair.run_ms(60_000);
    let states: Vec<_> =
        pair.path_changes(End::Left, cut_at).iter().map(|(_, path, state)| (*path, *state)).collect();
    assert_eq!(states, [(0, PathState::Inactive), (0, PathState::Active)]);
}

/// RFC 7829 §5: without a way back.
#[test]
fn primary_switchover_makes_the_other_path_the_primary_one() {
    let setup = Setup::signalling().configure(|config| config.paths.primary_switchover = Some(0));
    let mut pair = homed(setup);
    talk(&mut pair, 10);
    pair.cut_link(0);
    talk(&mut pair, 100);
    let paths = pair.statistics(End::Left).paths;
    assert!(!paths[0].is_primary && paths[1].is_primary);
    pair.mend_link(0);
    pair.run_ms(5000);
    assert_eq!(pair.path_states(End::Left), [PathState::Active; 2]);
    let after = pair.now_ms();
    talk(&mut pair, 10);
    assert_eq!(kinds_since(&pair, End::Left, "10.0.0.2", after), []);
    pair.run_ms(500);
    assert_whole(&pair, 120);
}

/// RFC 7829 §4.1: when nothing works any more data is still tried, and the first path that answers carries it.
#[test]
fn dormant_association_goes_on_trying_and_recovers_on_either_path() {
    let setup = Setup::signalling().configure(|config| {
        config.attempts.path = 2;
        config.attempts.association = 30;
    });
    let mut pair = homed(setup);
    pair.cut();
    pair.send(End::Left, ordered(0, 0, 100));
    pair.run_ms(60_000);
    assert_eq!(pair.path_states(End::Left), [PathState::Inactive; 2]);
    let tried = kinds_since(&pair, End::Left, "10.0.0.2", 10_000).len();
    assert!(
        tried > 0 && !kinds_since(&pair, End::Left, "10.0.1.2", 10_000).is_empty(),
        "both paths are tried"
    );
    pair.mend_link(1);
    pair.run_ms(130_000);
    assert_whole(&pair, 1);
    assert_eq!(pair.path_states(End::Left)[1], PathState::Active);
}

/// RFC 9260 §8.1: all that goes unanswered on all paths counts for the peer.
#[test]
fn peer_that_is_gone_on_every_path_is_given_up() {
    let mut pair = homed(Setup::signalling());
    pair.cut();
    pair.send(End::Left, ordered(0, 0, 100));
    pair.run_ms(1_000_000);
    assert_eq!(pair.endings(End::Left), [Err(AssociationError::PeerUnreachable { errors: 11 })]);
}

/// RFC 9260 §6.4: data that comes twice may mean that SACKs are lost on their way back.
#[test]
fn sacks_take_another_path_when_data_comes_twice() {
    for setup in [Setup::rfc9260(), Setup::signalling()] {
        let mut pair = homed(setup);
        let lossy = Impairments { loss: "99.9%".parse().unwrap(), ..Impairments::default() };
        pair.impair(End::Right, lossy);
        let begun = talk(&mut pair, 20);
        pair.run_ms(3000);
        assert_whole(&pair, 20);
        assert!(pair.statistics(End::Right).receiver.duplicates > 0);
        assert!(kinds_since(&pair, End::Right, "10.0.1.1", begun).iter().any(|(_, kinds)| kinds == "SACK"));
        assert_eq!(pair.statistics(End::Left).paths.iter().map(|path| path.flight_bytes).sum::<usize>(), 0);
    }
}

/// RFC 8985 §7 on two paths: the second probe in a row does not go where the first was lost, and the path is asked.
#[test]
fn second_probe_takes_the_other_path() {
    let mut pair = homed(Setup::signalling());
    talk(&mut pair, 20);
    pair.run_ms(1000);
    pair.cut_link(0);
    let begun = pair.now_ms();
    pair.send(End::Left, ordered(0, 20, 100));
    pair.run_ms(170);
    let data = |to| -> Vec<u64> {
        let sent = kinds_since(&pair, End::Left, to, begun).into_iter();
        sent.filter(|(_, kinds)| kinds == "DATA").map(|(at, _)| at - begun).collect()
    };
    assert_eq!(data("10.0.0.2"), [0, 40]);
    assert_eq!(data("10.0.1.2"), [120]);
    assert_eq!(*pair.read_times(End::Right).last().unwrap(), begun + 130);
    assert_eq!(pair.path_changes(End::Left, begun), []);
    pair.run_ms(1000);
    assert_eq!(pair.path_changes(End::Left, begun)[0].2, PathState::PotentiallyFailed);
}

/// RFC 8985 §7.3: a probe that the other path is too narrow for goes where the first one went. IPv6 has the longer header.
#[test]
fn second_probe_stays_on_the_path_where_the_other_one_is_too_narrow_for_it() {
    let homes = Setup::signalling().homes(&["10.0.0.1", "fd00::1"], &["10.0.0.2", "fd00::2"]);
    let mut pair = homes.connected();
    pair.run_ms(200);
    talk(&mut pair, 20);
    pair.run_ms(1000);
    pair.cut_link(0);
    let begun = pair.now_ms();
    let (mtu, headers) = (1400, 20 + 12 + 16);
    pair.send(End::Left, ordered(0, 20, mtu - headers));
    pair.run_ms(170);
    let data = |to| -> Vec<u64> {
        let sent = kinds_since(&pair, End::Left, to, begun).into_iter();
        sent.filter(|(_, kinds)| kinds == "DATA").map(|(at, _)| at - begun).collect()
    };
    assert_eq!(data("10.0.0.2"), [0, 40, 120]);
    assert_eq!(data("fd00::2"), [0; 0]);
}

/// RFC 8985 §6.2: T3-rtx of one path leaves the reordering window of another one alone, whenever it runs out. Round trip
/// 60 ms.
#[test]
fn timeout_on_one_path_does_not_delay_the_repair_on_another_one() {
    let mut timeouts_within = 0;
    for lead in 55..85 {
        let mut setup = Setup::signalling();
        setup.request.delay = ms(30);
        setup.response.delay = ms(30);
        let mut pair = setup.two_homes().build();
        pair.connect();
        pair.run_ms(1000);
        talk(&mut pair, 20);
        pair.run_ms(1000);
        let (first_at, rto_ms) = (pair.now_ms(), pair.statistics(End::Left).paths[0].rto.as_millis());
        pair.cut_link(0);
        pair.send(End::Left, ordered(0, 40, 100));
        let other = PathId::new(1);
        pair.with(End::Left, |side, now| side.endpoint.set_primary(now, side.id.unwrap(), other)).unwrap();
        pair.run_ms(u64::try_from(rto_ms).unwrap() - lead);
        pair.cut_link(1);
        let lost_at = pair.now_ms();
        pair.send(End::Left, ordered(1, 40, 100));
        pair.mend_link(1);
        pair.run_ms(1);
        pair.send(End::Left, ordered(2, 40, 100));
        pair.run_ms(110);
        let changes = pair.path_changes(End::Left, first_at);
        let is_within = |at: u64| (lost_at + 62..lost_at + 76).contains(&at);
        timeouts_within += usize::from(changes.iter().any(|(at, ..)| is_within(*at)));
        let arrived = pair.side(End::Right).received.iter();
        let repaired = arrived.filter(|(_, received)| received.message.stream.get() == 1).count();
        assert_eq!(repaired, 1, "lead {lead}: {:?} {changes:?}", pair.log(End::Left, first_at));
    }
    assert!(timeouts_within > 5, "{timeouts_within}");
}

/// RFC 7829 §3.2, point 9: an acknowledgment does not say on which of two paths its chunk arrived.
#[test]
fn acknowledgment_of_what_went_on_two_paths_does_not_revive_the_first() {
    let mut pair = homed(Setup::signalling());
    pair.cut_link(0);
    talk(&mut pair, 30);
    pair.run_ms(100);
    assert_whole(&pair, 30);
    assert_eq!(pair.path_states(End::Left), [PathState::PotentiallyFailed, PathState::Active]);
    assert!(pair.statistics(End::Left).paths[0].errors > 0);
}

#[test]
fn lost_local_address_moves_the_data_at_once_and_its_return_is_noticed() {
    for is_cut in [false, true] {
        let mut pair = homed(Setup::signalling());
        talk(&mut pair, 50);
        let lost_at = pair.now_ms();
        if is_cut {
            pair.cut_link(0);
        }
        local_down(&mut pair, "10.0.0.1");
        talk(&mut pair, 50);
        assert!(longest_gap(&pair, lost_at - 100) <= 60, "nothing waits for a timer");
        let mut moved = vec![(lost_at, 0, PathState::Inactive)];
        // The peer's address is reached by the other interface, too. Its answers leave from there: not while its link is cut.
        moved.extend((!is_cut).then_some((lost_at + 20, 0, PathState::Active)));
        assert_eq!(pair.path_changes(End::Left, lost_at), moved);
        assert_eq!(pair.statistics(End::Left).paths[0].source, Some("10.0.1.1".parse().unwrap()));
        pair.mend_link(0);
        local_up(&mut pair, "10.0.0.1");
        // The peer asks whether the address is there again, and so shows that it is: at once if it missed it, else when idle.
        pair.run_ms(if is_cut { 5000 } else { 60_000 });
        assert_eq!(pair.statistics(End::Left).paths[0].source, Some("10.0.0.1".parse().unwrap()));
        assert_eq!(pair.path_states(End::Left), [PathState::Active; 2]);
        talk(&mut pair, 10);
        pair.run_ms(500);
        assert_whole(&pair, 110);
    }
}

#[test]
fn path_without_any_local_address_is_not_used_until_one_is_back() {
    let setup = Setup::signalling();
    let mut pair = setup.homes(&["10.0.0.1", "2001:db8::1"], &["10.0.0.2", "2001:db8::2"]).connected();
    pair.run_ms(200);
    local_down(&mut pair, "10.0.0.1");
    let down_at = pair.now_ms();
    talk(&mut pair, 100);
    assert_eq!(kinds_since(&pair, End::Left, "10.0.0.2", down_at), []);
    local_up(&mut pair, "10.0.0.1");
    pair.run_ms(100);
    assert_eq!(pair.path_states(End::Left), [PathState::Active; 2]);
    pair.run_ms(500);
    assert_whole(&pair, 100);
}

/// RFC 9260 §6.4, §9.2.
#[test]
fn shutdown_takes_the_other_path_when_the_first_is_dead() {
    for setup in [Setup::rfc9260(), Setup::signalling()] {
        let mut pair = homed(setup);
        pair.cut_link(0);
        pair.shutdown(End::Left);
        pair.run_ms(5000);
        assert_eq!(pair.endings(End::Left), [Ok(())]);
        pair.run_ms(20_000);
        assert_eq!(pair.endings(End::Right), [Ok(())]);
    }
}

/// RFC 9260 §5.2.4 (A): a peer that restarted comes back on another of its addresses.
#[test]
fn restart_over_another_known_address_is_a_restart() {
    let mut pair = homed(Setup::signalling());
    let mut config = sctp_core::EndpointConfig::new(crate::net::port(crate::net::LEFT_PORT));
    config.local_addresses = ["10.0.0.1", "10.0.1.1"].map(|text| text.parse().unwrap()).to_vec();
    pair.reboot(End::Left, config);
    pair.cut_link(0);
    pair.connect_to(2);
    pair.run_ms(5000);
    assert_eq!(pair.state(End::Left), Some(AssociationState::Established));
    assert_eq!(pair.side(End::Right).endpoint.association_count(), 1);
    assert_eq!(pair.statistics(End::Right).association.restarts, 1);
    assert_eq!(pair.statistics(End::Left).paths[1].path, PathId::new(1));
    pair.send(End::Right, ordered(0, 1, 100));
    pair.run_ms(ms(3000).as_millis().try_into().unwrap());
    assert_eq!(pair.payloads(End::Left), [[1; 100]]);
}

/// RFC 9260 §6.4: where the data came from cannot be answered any more, so the SACK goes another way, and holds up nothing.
#[test]
fn sack_owed_on_a_path_that_lost_its_local_address_takes_another_one() {
    let setup = Setup::rfc9260().homes(&["10.0.0.1", "2001:db8::1"], &["10.0.0.2", "2001:db8::2"]);
    let mut pair = setup.connected();
    pair.run_ms(3000);
    pair.with(End::Right, |side, now| side.endpoint.set_primary(now, side.id.unwrap(), PathId::new(1)))
        .unwrap();
    pair.send(End::Right, ordered(0, 0, 100));
    pair.run_ms(50);
    pair.cut_link(1);
    local_down(&mut pair, "2001:db8::1");
    pair.run_ms(200);
    let sent_at = pair.now_ms();
    pair.send(End::Left, ordered(0, 0, 100));
    pair.run_ms(5000);
    assert_eq!(pair.read_times(End::Right), [sent_at + 10]);
    let counters = pair.statistics(End::Right).paths.iter().map(|path| path.counters.timeouts).sum::<u64>();
    assert_eq!(counters, 0, "the SACK came in time");
}
