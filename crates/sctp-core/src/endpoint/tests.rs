//! What an endpoint does for its associations beside the protocol does not grow with their number or their age.

use core::time::Duration;

use sctp_wire::SctpPort;
use virtual_time::Instant;

use super::Endpoint;
use crate::config::{AssociationConfig, EndpointConfig};
use crate::event::Event;
use crate::message::Message;
use crate::transmit::{Datagram, Destination, Encapsulation};

fn port() -> SctpPort {
    SctpPort::try_from(7626).unwrap()
}

fn at(number: u32) -> Destination {
    Destination { address: std::net::Ipv4Addr::from_bits(number).into(), encapsulation: Encapsulation::Ip }
}

fn endpoint(association: AssociationConfig, limit: usize) -> Endpoint {
    let config = EndpointConfig { association, association_limit: limit, ..EndpointConfig::new(port()) };
    Endpoint::new(config, [1; 32]).unwrap()
}

/// Hands packets to and fro until there are none; what can be read is read.
fn exchange(now: Instant, ends: &mut [Endpoint; 2]) {
    let mut buffer = Vec::new();
    let mut has_more = true;
    while core::mem::take(&mut has_more) {
        for (from, to) in [(0, 1), (1, 0)] {
            while ends[from].poll_transmit(now, &mut buffer).is_some() {
                let source = at(1 + u32::try_from(from).unwrap());
                let datagram = Datagram::new(source, &buffer);
                ends[to].handle_packet(now, datagram);
                buffer.clear();
                has_more = true;
            }
        }
        for end in ends.iter_mut() {
            while let Some((id, event)) = end.poll_event() {
                if event == Event::MessageReady {
                    while end.receive(now, id).is_some() {}
                }
            }
        }
    }
}

/// A timer that runs for a day beside others that run for a second.
#[test]
fn robustness_40_deadlines_that_were_overtaken_do_not_pile_up() {
    let day = Duration::from_secs(24 * 3600);
    let mut config = AssociationConfig { autoclose: Some(day), ..AssociationConfig::default() };
    config.heartbeat.interval = None;
    let mut ends = [endpoint(config.clone(), 10), endpoint(config.clone(), 10)];
    let mut now = Instant::from_millis(1);
    let id = ends[0].connect(now, &[at(2)], port(), config).unwrap();
    exchange(now, &mut ends);
    for _ in 0..10_000 {
        ends[0].send(now, id, Message::ordered(sctp_wire::StreamId::new(0), "x")).unwrap();
        exchange(now, &mut ends);
        let until = now + Duration::from_secs(1);
        while let Some(due) = ends.iter().filter_map(Endpoint::poll_timeout).min().filter(|due| *due <= until)
        {
            now = due.max(now);
            ends.iter_mut().for_each(|end| end.handle_timeout(now));
            exchange(now, &mut ends);
        }
        now = until;
        for end in &ends {
            assert!(end.table.deadlines.len() <= 2 + 16 + 1, "{}", end.table.deadlines.len());
        }
    }
    assert_eq!(ends[1].association_count(), 1);
}

#[test]
fn robustness_40_many_associations_that_end_at_once_cost_each_as_much_as_one() {
    const COUNT: usize = 20_000;
    let mut end = endpoint(AssociationConfig::default(), COUNT);
    let now = Instant::from_millis(1);
    let ids: Vec<_> = (0..COUNT)
        .map(|number| {
            let destination = at(0x0a00_0001 + u32::try_from(number).unwrap());
            end.connect(now, &[destination], port(), AssociationConfig::default()).unwrap()
        })
        .collect();
    ids.into_iter().for_each(|id| end.abort(now, id, b"").unwrap());
    let mut ended = 0;
    while let Some((_, event)) = end.poll_event() {
        ended += usize::from(matches!(event, Event::CannotStart(_)));
    }
    assert_eq!((ended, end.association_count()), (COUNT, 0));
    let steps = end.table.turns.sendable.steps + end.table.turns.eventful.steps;
    assert!(steps <= 8 * COUNT, "{steps}");
    assert_eq!((end.table.turns.sendable.len(), end.table.turns.eventful.len()), (0, 0));
    assert!(end.table.deadlines.len() <= 16, "{}", end.table.deadlines.len());
}

#[test]
fn the_next_timeout_leaves_out_timers_that_were_stopped_and_misses_none_that_runs() {
    let mut config = AssociationConfig::default();
    config.heartbeat.interval = None;
    let mut ends = [endpoint(config.clone(), 10), endpoint(config, 10)];
    let mut now = Instant::from_millis(1);
    let id = ends[0].connect(now, &[at(2)], port(), AssociationConfig::default()).unwrap();
    exchange(now, &mut ends);
    let (kept, next) = (ends[0].poll_timeout(), ends[0].next_timeout());
    assert!(kept.is_some() && next.is_none_or(|next| Some(next) > kept), "{kept:?} {next:?}");

    ends[0].send(now, id, Message::ordered(sctp_wire::StreamId::new(0), vec![0; 100])).unwrap();
    let mut lost = Vec::new();
    while ends[0].poll_transmit(now, &mut lost).is_some() {}
    let mut again = Vec::new();
    while ends[0].poll_transmit(now, &mut again).is_none() {
        let next = ends[0].next_timeout().unwrap();
        assert!(next > now && Some(next) >= ends[0].poll_timeout(), "{now:?} {next:?}");
        now = next;
        ends[0].handle_timeout(now);
    }
    assert!(again.len() >= 100 && now < Instant::from_millis(4_001), "{now:?}");
}

#[test]
fn stopped_timers_are_passed_over_as_far_as_the_first_that_runs() {
    let mut ends = [endpoint(AssociationConfig::default(), 10), endpoint(AssociationConfig::default(), 10)];
    let now = Instant::from_millis(1);
    let id = ends[0].connect(now, &[at(2)], port(), AssociationConfig::default()).unwrap();
    exchange(now, &mut ends);
    let (kept, next) = (ends[0].poll_timeout().unwrap(), ends[0].next_timeout().unwrap());
    assert!(kept < next, "{kept:?} {next:?}");
    ends[0].skip_stopped_timers(kept - Duration::from_nanos(1));
    assert_eq!(ends[0].poll_timeout(), Some(kept));
    ends[0].skip_stopped_timers(kept);
    assert_eq!(ends[0].poll_timeout(), Some(next));
    ends[0].skip_stopped_timers(next + Duration::from_secs(60));
    assert_eq!(ends[0].poll_timeout(), Some(next), "a timer that runs");

    // A timer that is started later is told of, whatever has been passed over.
    ends[0].send(now, id, Message::ordered(sctp_wire::StreamId::new(0), vec![0; 100])).unwrap();
    while ends[0].poll_transmit(now, &mut Vec::new()).is_some() {}
    assert_eq!(ends[0].poll_timeout(), ends[0].next_timeout());
    assert!(ends[0].poll_timeout().unwrap() < next);
}
