//! Parameters of a running association are changed, each seen by what it does to packets. Round trip 20 ms.

use std::collections::BTreeSet;

use sctp_core::{
    AssociationConfig, AssociationError, ConfigError, Discovery, Dscp, Event, EventGroup, EventMask,
    Heartbeats, PathId, PathSetting, PathSettings, PathState, Profile, RtoConfig, SackConfig, Setting,
    SettingError,
};

use crate::net::{End, Pair, Setup, ms, ordered};

/// Returns a configuration with something changed in it.
fn changed<T>(mut config: T, change: impl FnOnce(&mut T)) -> T {
    change(&mut config);
    config
}

fn set(pair: &mut Pair, end: End, setting: Setting) {
    try_set(pair, end, setting).unwrap();
}

fn try_set(pair: &mut Pair, end: End, setting: Setting) -> Result<(), SettingError> {
    pair.with(end, |side, now| side.endpoint.set(now, side.id.unwrap(), setting))
}

fn set_path(pair: &mut Pair, end: End, path: u32, setting: PathSetting) {
    pair.with(end, |side, now| side.endpoint.set_path(now, side.id.unwrap(), PathId::new(path), setting))
        .unwrap();
}

fn config(pair: &Pair, end: End) -> AssociationConfig {
    let side = pair.side(end);
    side.endpoint.association(side.id.unwrap()).unwrap().config().clone()
}

fn rfc9260() -> AssociationConfig {
    AssociationConfig::profile(Profile::Rfc9260)
}

/// RFC 9260 §6.3.1 (C6), §6.3.3 (E2): the wait begins with RTO.Min and ends with RTO.Max, those set last.
#[test]
fn retransmissions_wait_within_the_bounds_set_last() {
    let mut pair = Setup::rfc9260().connected();
    set(&mut pair, End::Left, Setting::Rto(RtoConfig { initial: ms(3000), min: ms(3000), max: ms(5000) }));
    assert_eq!(pair.statistics(End::Left).paths[0].rto, ms(3000));
    pair.cut();
    let begun = pair.now_ms();
    pair.send(End::Left, ordered(0, 1, 10));
    pair.run_ms(14_000);
    assert_eq!(pair.times_of(End::Left, "DATA", begun), [0, 3000, 8000, 13_000].map(|wait| begun + wait));
    // A back-off that exceeds the new bound is cut to it.
    set(&mut pair, End::Left, Setting::Rto(RtoConfig { initial: ms(100), min: ms(100), max: ms(400) }));
    assert_eq!(pair.statistics(End::Left).paths[0].rto, ms(400));
}

/// RFC 9260 §6.2.
#[test]
fn acknowledgments_wait_as_long_and_for_as_many_packets_as_set_last() {
    let mut pair = Setup::rfc9260().connected();
    pair.send(End::Left, ordered(0, 0, 10));
    pair.run_ms(1000);
    let waits = |pair: &mut Pair, packets: usize| {
        let begun = pair.now_ms();
        (0..packets).for_each(|number| pair.send(End::Left, ordered(0, number, 1300)));
        pair.run_ms(1000);
        let sacks = pair.times_of(End::Right, "SACK", begun);
        sacks.iter().map(|at| at - begun - 10).collect::<Vec<u64>>()
    };
    assert_eq!(waits(&mut pair, 1), [200]);
    set(&mut pair, End::Right, Setting::Sack(SackConfig { delay: ms(500), every_packets: 2 }));
    assert_eq!(waits(&mut pair, 1), [500]);
    set(&mut pair, End::Right, Setting::Sack(SackConfig { delay: ms(500), every_packets: 3 }));
    assert_eq!(waits(&mut pair, 2), [500]);
    assert_eq!(waits(&mut pair, 3), [0]);
    set(&mut pair, End::Right, Setting::Sack(SackConfig { delay: ms(500), every_packets: 1 }));
    assert_eq!(waits(&mut pair, 1), [0]);
}

/// RFC 9260 §8.3: off, on, and at another interval.
#[test]
fn heartbeats_follow_what_was_set_last() {
    let mut pair = Setup::rfc9260().connected();
    let mut heartbeat = rfc9260().heartbeat;
    heartbeat.interval = None;
    set(&mut pair, End::Left, Setting::Heartbeat(heartbeat));
    pair.run_ms(200_000);
    assert_eq!(pair.times_of(End::Left, "HEARTBEAT", 0), []);
    let begun = pair.now_ms();
    heartbeat.interval = Some(ms(2000));
    set(&mut pair, End::Left, Setting::Heartbeat(heartbeat));
    pair.run_ms(60_000);
    let times = pair.times_of(End::Left, "HEARTBEAT", begun);
    let pauses: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(pauses.len() > 15 && pauses.iter().all(|pause| (2_500..=3_600).contains(pause)), "{pauses:?}");
    assert!(times[0] - begun <= 3_500, "the first one does not wait for the old interval");
}

#[test]
fn each_path_has_heartbeats_of_its_own_where_that_was_set() {
    let mut pair = Setup::rfc9260().two_homes().connected();
    pair.run_ms(5_000);
    set_path(&mut pair, End::Left, 0, PathSetting::Heartbeats(Heartbeats::Off));
    set_path(&mut pair, End::Left, 1, PathSetting::Heartbeats(Heartbeats::Every(ms(1000))));
    let heartbeats = |pair: &Pair, path: usize| pair.statistics(End::Left).paths[path].counters.heartbeats;
    let before = [heartbeats(&pair, 0), heartbeats(&pair, 1)];
    pair.run_ms(100_000);
    assert_eq!(heartbeats(&pair, 0), before[0]);
    assert!((40..=65).contains(&(heartbeats(&pair, 1) - before[1])), "{}", heartbeats(&pair, 1));
    set_path(&mut pair, End::Left, 0, PathSetting::Heartbeats(Heartbeats::AsAssociation));
    pair.run_ms(100_000);
    assert_eq!(heartbeats(&pair, 0), before[0] + 3);
}

/// RFC 9260 §8.1, §8.2.
#[test]
fn paths_and_peer_are_given_up_after_as_many_errors_as_set_last() {
    let mut pair = Setup::rfc9260().two_homes().connected();
    pair.run_ms(5_000);
    set_path(&mut pair, End::Left, 1, PathSetting::Attempts(Some(1)));
    set(
        &mut pair,
        End::Left,
        Setting::Attempts(changed(rfc9260().attempts, |it| (it.path, it.association) = (3, 6))),
    );
    pair.cut();
    let begun = pair.now_ms();
    pair.send(End::Left, ordered(0, 1, 10));
    pair.run_ms(600_000);
    assert_eq!(pair.endings(End::Left), [Err(AssociationError::PeerUnreachable { errors: 7 })]);
    let inactive: Vec<usize> =
        pair.path_changes(End::Left, begun).into_iter().map(|(_, path, _)| path).collect();
    assert_eq!(inactive, [1, 0], "the second path allows one error, the first one three");
}

#[test]
fn packets_are_as_large_as_set_last_and_the_path_mtu_is_searched_for_from_then_on() {
    let mut pair = Setup::rfc9260().connected();
    let longest = |pair: &mut Pair, number| {
        let from = pair.side(End::Left).sent.len();
        pair.send(End::Left, ordered(0, number, 4000));
        pair.run_ms(1000);
        let sent = &pair.side(End::Left).sent[from..];
        sent.iter().map(|sent| 20 + sent.octets.len()).max().unwrap()
    };
    assert_eq!(longest(&mut pair, 0), 1400);
    let mtu = rfc9260().path_mtu;
    set(&mut pair, End::Left, Setting::PathMtu(changed(mtu, |it| it.bytes = 600)));
    assert_eq!(longest(&mut pair, 1), 600);
    set_path(&mut pair, End::Left, 0, PathSetting::PathMtu(changed(mtu, |it| it.bytes = 1000)));
    assert_eq!(longest(&mut pair, 2), 1000);
    set(&mut pair, End::Left, Setting::PathMtu(changed(mtu, |it| it.discovery = Discovery::On)));
    pair.run_ms(20_000);
    assert_eq!(longest(&mut pair, 3), 1500);
    assert_eq!(pair.side(End::Right).received.len(), 4);
}

/// What was on its way when packets became smaller still arrives, in packets that fit.
#[test]
fn packets_that_become_smaller_in_mid_transfer_lose_nothing() {
    let mut pair = Setup::signalling().connected();
    (0..100).for_each(|number| pair.send(End::Left, ordered(0, number, 4000)));
    pair.run_ms(30);
    set(&mut pair, End::Left, Setting::PathMtu(changed(rfc9260().path_mtu, |it| it.bytes = 576)));
    pair.run_ms(20_000);
    let received = pair.payloads(End::Right);
    assert!(received.len() == 100 && received.iter().all(|payload| payload.len() == 4000));
}

#[test]
fn packets_ask_for_the_treatment_and_leave_in_bursts_as_set_last() {
    let mut pair = Setup::rfc9260().connected();
    let burst = |pair: &mut Pair| {
        let from = pair.side(End::Left).sent.len();
        pair.with(End::Left, |side, now| {
            let messages = (0..6).map(|number| ordered(0, number, 1300));
            side.endpoint.send_many(now, side.id.unwrap(), messages).unwrap();
        });
        let sent = pair.side(End::Left).sent[from..].to_vec();
        pair.run_ms(2000);
        (sent.len(), sent[0].dscp)
    };
    // The window of three packets is the limit at first.
    assert_eq!(burst(&mut pair).1, Dscp::CS0);
    (0..10).for_each(|_| assert!(burst(&mut pair).0 > 2));
    assert_eq!(burst(&mut pair).0, 4);
    set(&mut pair, End::Left, Setting::MaxBurst(2));
    set(&mut pair, End::Left, Setting::Dscp(Dscp::CS5));
    assert_eq!(burst(&mut pair), (2, Dscp::CS5));
}

/// RFC 6458 §8.1.12, `spp_dscp`: the code point of a path goes before that of its association, until it is taken back.
#[test]
fn packets_on_a_path_with_a_code_point_of_its_own_carry_that_one() {
    let mut setup = Setup::rfc9260();
    setup.client.transmission.dscp = Dscp::AF21;
    let mut pair = setup.two_homes().connected();
    let codes = |pair: &mut Pair| {
        let from = pair.side(End::Left).sent.len();
        // HEARTBEATs go to both addresses, whether data does or not.
        pair.run_ms(60_000);
        let sent = &pair.side(End::Left).sent[from..];
        let to = |last: &str| {
            let codes: BTreeSet<u8> =
                sent.iter().filter(|sent| sent.to.to_string() == last).map(|sent| sent.dscp.get()).collect();
            codes.into_iter().collect::<Vec<_>>()
        };
        (to("10.0.0.2"), to("10.0.1.2"))
    };
    let of = |dscp: Dscp| vec![dscp.get()];
    assert_eq!(codes(&mut pair), (of(Dscp::AF21), of(Dscp::AF21)));
    set_path(&mut pair, End::Left, 1, PathSetting::Dscp(Some(Dscp::EF)));
    assert_eq!(codes(&mut pair), (of(Dscp::AF21), of(Dscp::EF)));
    set(&mut pair, End::Left, Setting::Dscp(Dscp::CS5));
    assert_eq!(codes(&mut pair), (of(Dscp::CS5), of(Dscp::EF)));
    set_path(&mut pair, End::Left, 1, PathSetting::Dscp(None));
    assert_eq!(codes(&mut pair), (of(Dscp::CS5), of(Dscp::CS5)));
}

#[test]
fn a_path_tells_the_settings_of_its_own() {
    let mut pair = Setup::rfc9260().two_homes().connected();
    let own = |pair: &Pair, path| {
        let side = pair.side(End::Left);
        PathSettings::of(side.endpoint.association(side.id.unwrap()).unwrap(), PathId::new(path))
    };
    assert_eq!(own(&pair, 1), Some(PathSettings::default()));
    let mtu = changed(rfc9260().path_mtu, |it| it.bytes = 1000);
    set_path(&mut pair, End::Left, 1, PathSetting::Heartbeats(Heartbeats::Every(ms(500))));
    set_path(&mut pair, End::Left, 1, PathSetting::Attempts(Some(2)));
    set_path(&mut pair, End::Left, 1, PathSetting::PathMtu(mtu));
    set_path(&mut pair, End::Left, 1, PathSetting::Dscp(Some(Dscp::CS2)));
    let settings = own(&pair, 1).unwrap();
    assert_eq!((settings.heartbeats, settings.attempts), (Heartbeats::Every(ms(500)), Some(2)));
    assert_eq!((settings.path_mtu, settings.dscp), (Some(mtu), Some(Dscp::CS2)));
    assert_eq!((own(&pair, 0), own(&pair, 7)), (Some(PathSettings::default()), None));
    // The packet size of all paths is that of each.
    set(&mut pair, End::Left, Setting::PathMtu(mtu));
    assert_eq!(own(&pair, 1).unwrap().path_mtu, None);
}

#[test]
fn idle_association_ends_when_it_was_told_to_while_it_ran() {
    let mut pair = Setup::rfc9260().connected();
    pair.run_ms(10_000);
    let begun = pair.now_ms();
    set(&mut pair, End::Left, Setting::Autoclose(Some(ms(7_000))));
    pair.run_ms(10_000);
    assert_eq!(pair.times_of(End::Left, "SHUTDOWN", begun), [begun + 7_000]);
    assert_eq!(pair.endings(End::Left), [Ok(())]);
}

#[test]
fn what_cannot_work_is_refused_with_its_bound_and_changes_nothing() {
    let mut pair = Setup::rfc9260().connected();
    let before = config(&pair, End::Left);
    let bad = [
        Setting::Rto(RtoConfig { initial: ms(1), min: ms(2), max: ms(3) }),
        Setting::Sack(SackConfig { delay: ms(501), every_packets: 2 }),
        Setting::Sack(SackConfig { delay: ms(10), every_packets: 0 }),
        Setting::PathMtu(changed(before.path_mtu, |it| it.bytes = 500)),
        Setting::MaxBurst(0),
        Setting::Autoclose(Some(ms(0))),
        Setting::Heartbeat(changed(before.heartbeat, |it| it.interval = Some(core::time::Duration::MAX))),
    ];
    for setting in bad {
        let refused = try_set(&mut pair, End::Left, setting);
        assert!(matches!(refused, Err(SettingError::Config(_))), "{setting:?}: {refused:?}");
    }
    let refused = try_set(&mut pair, End::Left, Setting::MaxBurst(0)).unwrap_err();
    assert_eq!(refused.to_string(), "transmission.max_burst_packets is 0; it must be at least 1");
    let nowhere = pair.with(End::Left, |side, now| {
        let setting = PathSetting::Attempts(Some(1));
        side.endpoint.set_path(now, side.id.unwrap(), PathId::new(7), setting)
    });
    assert_eq!(nowhere, Err(SettingError::UnknownPath(PathId::new(7))));
    assert_eq!(config(&pair, End::Left), before);
}

/// A new path has the settings of the association, and so has one that began anew with its peer.
#[test]
fn settings_outlive_a_restart_of_the_peer() {
    let mut pair = Setup::rfc9260().connected();
    set(&mut pair, End::Right, Setting::Rto(RtoConfig { initial: ms(3000), min: ms(3000), max: ms(5000) }));
    let client = sctp_core::EndpointConfig::new(crate::net::port(crate::net::LEFT_PORT));
    pair.reboot(End::Left, client);
    pair.connect();
    pair.run_ms(2_000);
    assert_eq!(pair.statistics(End::Right).association.restarts, 1);
    assert_eq!(config(&pair, End::Right).rto.min, ms(3000));
    assert_eq!(pair.path_states(End::Right), [PathState::Active]);
    assert_eq!(pair.statistics(End::Right).paths[0].rto, ms(3000));
}

#[test]
fn associations_accepted_from_now_on_have_what_was_set_and_the_others_keep_theirs() {
    let mut pair = Setup::rfc9260().connected();
    let mut accepted = config(&pair, End::Right);
    accepted.streams.inbound = 3;
    accepted.rto.min = ms(700);
    let wrong = changed(accepted.clone(), |it| it.sack.delay = ms(501));
    pair.with(End::Right, |side, _| {
        assert!(matches!(side.endpoint.set_accepted(wrong), Err(ConfigError::Duration { .. })));
        side.endpoint.set_accepted(accepted.clone()).unwrap();
        assert_eq!(side.endpoint.accepted(), &accepted);
    });
    assert_eq!(config(&pair, End::Right).rto.min, ms(1000));
    pair.abort(End::Left, b"");
    pair.run_ms(100);
    pair.connect();
    pair.run_ms(100);
    assert_eq!(config(&pair, End::Right).rto.min, ms(700));
    let left = pair.side(End::Left);
    assert_eq!(left.endpoint.association(left.id.unwrap()).unwrap().status().outbound_streams, 3);
}

/// RFC 6458 §6.1.9: who asks while nothing is buffered is told at once, and is not unless it asks.
#[test]
fn events_are_those_that_were_asked_for_last() {
    let mut pair =
        Setup::rfc9260().configure(|config| config.buffers.events.mask = EventMask::DEFAULT).connected();
    let dry = |pair: &Pair| pair.count(End::Left, |event| *event == Event::SenderDry);
    pair.send(End::Left, ordered(0, 0, 10));
    pair.run_ms(1000);
    assert_eq!(dry(&pair), 0);
    set(&mut pair, End::Left, Setting::Events(EventMask::NONE.with(EventGroup::SenderDry)));
    assert_eq!(dry(&pair), 1);
    pair.send(End::Left, ordered(0, 1, 10));
    assert_eq!(dry(&pair), 1);
    pair.run_ms(1000);
    assert_eq!(dry(&pair), 2);
    pair.cut();
    pair.send(End::Left, ordered(0, 2, 10));
    pair.run_ms(200_000);
    assert_eq!(pair.statistics(End::Left).paths[0].state, PathState::Inactive);
    assert!(pair.path_changes(End::Left, 0).is_empty(), "nobody asked");
}
