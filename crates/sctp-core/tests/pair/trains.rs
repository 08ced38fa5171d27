//! Packet trains of the peer to an address that this host has got since: whoever moves there is told when they have come.

use std::net::IpAddr;

use sctp_core::{Event, EventGroup, EventMask, Offer, StartUp};
use virtual_time::Instant;

use crate::dynamic_addresses::ip;
use crate::net::{End, Pair, Setup, ms, ordered};

const NEW: &str = "10.0.0.5";

/// The right end sends pictures to the left one, which has two addresses and has told of the first.
fn watching(start_up: StartUp, mask: EventMask) -> Pair {
    let mut setup = Setup::signalling().configure(|config| {
        config.extensions.authentication = Offer::On;
        config.extensions.dynamic_addresses = Offer::On;
        config.congestion.start_up = start_up;
        config.buffers.send_bytes = 8 << 20;
        config.buffers.events.mask = mask;
    });
    setup = setup.homes(&["10.0.0.1", NEW], &["10.0.0.2"]).telling(1);
    (setup.request.delay, setup.response.delay) = (ms(50), ms(50));
    let mut pair = setup.build();
    pair.connect();
    pair.run_ms(2000);
    show(&mut pair, 30);
    pair
}

/// Thirty pictures a second.
fn show(pair: &mut Pair, pictures: usize) {
    for picture in 0..pictures {
        pair.send(End::Right, ordered(0, picture, 30_000));
        pair.run_ms(33);
    }
}

/// The addresses that trains have come to, each with the time.
fn trains(pair: &Pair) -> Vec<(u64, IpAddr)> {
    let train = |(at, event): &(Instant, Event)| {
        let at_ms = u64::try_from(at.since(Instant::EPOCH).as_millis()).unwrap();
        if let Event::TrainReceived { local } = event { Some((at_ms, *local)) } else { None }
    };
    pair.side(End::Left).events.iter().filter_map(train).collect()
}

fn add(pair: &mut Pair) {
    pair.with(End::Left, |side, now| side.endpoint.add_local_address(now, side.id.unwrap(), ip(NEW)))
        .unwrap();
}

#[test]
fn whoever_gets_another_address_is_told_of_the_train_there_before_data_moves() {
    let mut pair = watching(StartUp::PROBE, EventMask::DEFAULT);
    let added_at = pair.now_ms();
    add(&mut pair);
    show(&mut pair, 30);
    let told = trains(&pair);
    assert_eq!(told.len(), 1, "{told:?}");
    // The request, the answer with the HEARTBEAT, its answer, and the train: four times on the way.
    let after_ms = told[0].0 - added_at;
    assert!(told[0].1 == ip(NEW) && (200..400).contains(&after_ms), "{told:?} after {after_ms} ms");
    let path = pair.statistics(End::Right).paths[1];
    assert_eq!((path.address, path.congestion.trains, path.congestion.resumed), (ip(NEW), 1, 0));
    // From now on the peer begins there with what it knows.
    pair.with(End::Left, |side, now| side.endpoint.request_peer_primary(now, side.id.unwrap(), ip(NEW)))
        .unwrap();
    show(&mut pair, 30);
    let path = pair.statistics(End::Right).paths[1];
    assert_eq!((path.is_primary, path.congestion.trains, path.congestion.resumed), (true, 1, 1));
}

#[test]
fn without_a_train_or_without_the_wish_to_know_nobody_is_told() {
    let paths = EventMask::DEFAULT.without(EventGroup::Paths);
    for (start_up, mask) in [(StartUp::SlowStart, EventMask::DEFAULT), (StartUp::PROBE, paths)] {
        let mut pair = watching(start_up, mask);
        add(&mut pair);
        show(&mut pair, 30);
        assert!(trains(&pair).is_empty(), "{start_up:?}");
    }
}
