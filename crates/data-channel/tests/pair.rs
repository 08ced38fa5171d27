//! Two ends with data channels, joined by nothing but their packets, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod line;

use core::time::Duration;

use data_channel::{
    ChannelConfig, ChannelEvent, ChannelLimits, ChannelState, ChannelViolation, DcepError, OpenError,
    Payload, Priority, SendError,
};
use line::{Line, Side};
use sctp_core::{Delivery, Message, Offer, PayloadProtocolId, Reliability, StreamId};

const HERE: Side = Side::Client;
const THERE: Side = Side::Server;

fn stream(number: u16) -> StreamId {
    StreamId::new(number)
}

fn message(channel: StreamId, payload: impl Into<Payload>) -> ChannelEvent {
    ChannelEvent::Message { channel, payload: payload.into() }
}

#[test]
fn a_channel_is_there_what_it_was_opened_as() {
    let mut line = Line::up();
    let lifetime = Reliability::Lifetime(Duration::from_millis(500));
    let kinds = [
        ChannelConfig::reliable("plain"),
        ChannelConfig::reliable("unordered").unordered(),
        ChannelConfig::reliable("twice").with_reliability(Reliability::Retransmissions(1)),
        ChannelConfig { protocol: "p".into(), priority: Priority::HIGH, ..ChannelConfig::reliable("late") }
            .with_reliability(lifetime)
            .unordered(),
    ];
    for (number, config) in (0..).step_by(2).zip(&kinds) {
        assert_eq!(line.open(HERE, config.clone()), stream(number), "the client's streams are even");
    }
    assert_eq!(line.open(THERE, ChannelConfig::reliable("back")), stream(1), "the server's are odd");
    line.run();
    for (number, config) in (0..).step_by(2).zip(&kinds) {
        assert_eq!(line.channels(THERE).config(stream(number)), Some(config));
        assert_eq!(line.channels(HERE).state(stream(number)), Some(ChannelState::Open));
    }
    let opened = [0, 2, 4, 6].map(|number| ChannelEvent::Opened(stream(number)));
    assert_eq!(line.told(THERE)[..4], opened);
    assert_eq!(line.told(THERE)[4], ChannelEvent::Confirmed(stream(1)));
    assert_eq!(line.told(HERE)[0], ChannelEvent::Opened(stream(1)));
}

/// RFC 8831 §6.6: SCTP has no empty messages, channels have.
#[test]
fn texts_and_octets_arrive_as_such_and_empty_ones_too() {
    let mut line = Line::up();
    let chat = line.open(HERE, ChannelConfig::reliable("chat"));
    let all = [
        Payload::text("ä"),
        Payload::text(""),
        Payload::binary(vec![0]),
        Payload::binary(Vec::new()),
        Payload::binary(vec![7; 65_536]),
    ];
    for payload in all.clone() {
        line.send(HERE, chat, payload).unwrap();
    }
    line.run();
    let expected: Vec<_> = all.into_iter().map(|payload| message(chat, payload)).collect();
    assert_eq!(line.told(THERE)[1..], expected);
}

/// RFC 8832 §6: until the peer has answered, messages are ordered, or one would come before its channel.
#[test]
fn nothing_overtakes_the_opening_of_its_channel() {
    let mut line = Line::up();
    let channel = line.open(HERE, ChannelConfig::reliable("").unordered());
    line.lose_next(HERE);
    for n in 0..5 {
        line.send(HERE, channel, Payload::binary(vec![n; 1000])).unwrap();
    }
    line.run();
    let told = line.told(THERE);
    assert_eq!(told[0], ChannelEvent::Opened(channel));
    assert_eq!(told.len(), 6, "{told:?}");
}

#[test]
fn what_was_sent_arrives_before_its_channel_closes_and_the_stream_is_free_again() {
    let mut line = Line::up();
    let channel = line.open(HERE, ChannelConfig::reliable("first"));
    line.run();
    for n in 0..20 {
        line.send(HERE, channel, Payload::binary(vec![n; 50_000])).unwrap();
    }
    line.close(HERE, channel);
    assert_eq!(line.channels(HERE).state(channel), Some(ChannelState::Closing));
    assert_eq!(line.send(HERE, channel, "late"), Err(SendError::Closing(channel)));
    line.run();
    let told = line.told(THERE);
    assert_eq!(told.len(), 1 + 20 + 2, "{told:?}");
    assert_eq!(told[21..], [ChannelEvent::Closing(channel), ChannelEvent::Closed(channel)]);
    assert_eq!(line.told(HERE).last(), Some(&ChannelEvent::Closed(channel)));
    assert_eq!(line.open(HERE, ChannelConfig::reliable("second")), channel);
    line.send(HERE, channel, "again").unwrap();
    line.run();
    assert_eq!(line.told(THERE).last(), Some(&message(channel, "again")));
}

/// The peer has seen both resets when this end has not yet looked at either.
#[test]
fn the_next_channel_on_a_stream_may_arrive_before_the_end_of_the_last_is_looked_at() {
    let mut line = Line::up();
    let channel = line.open(HERE, ChannelConfig::reliable("first"));
    line.run();
    line.close(THERE, channel);
    line.pause(THERE);
    line.run();
    assert_eq!(line.told(HERE).last(), Some(&ChannelEvent::Closed(channel)));
    assert_eq!(line.open(HERE, ChannelConfig::reliable("second")), channel);
    line.send(HERE, channel, "again").unwrap();
    line.run();
    line.resume(THERE);
    line.run();
    let told = line.told(THERE);
    let second = [ChannelEvent::Closed(channel), ChannelEvent::Opened(channel), message(channel, "again")];
    assert_eq!(told[told.len() - 3..], second, "{told:?}");
    assert_eq!(line.channels(THERE).config(channel).map(|config| &*config.label), Some("second"));
}

#[test]
fn both_ends_may_close_at_once() {
    let mut line = Line::up();
    let channel = line.open(HERE, ChannelConfig::reliable(""));
    line.run();
    line.close(HERE, channel);
    line.close(THERE, channel);
    line.run();
    for side in [HERE, THERE] {
        assert_eq!(line.told(side).last(), Some(&ChannelEvent::Closed(channel)));
        assert_eq!(line.channels(side).iter().count(), 0);
    }
}

/// A request names 100 streams at most, and 16 requests wait.
#[test]
fn a_thousand_channels_close_at_once() {
    let mut line = Line::up();
    let all: Vec<_> = (0..1000).map(|_| line.open(HERE, ChannelConfig::default())).collect();
    line.run();
    for &channel in &all {
        line.close(HERE, channel);
    }
    line.run();
    for side in [HERE, THERE] {
        let closed = line.told(side).iter().filter(|event| matches!(event, ChannelEvent::Closed(_)));
        assert_eq!(closed.count(), 1000);
    }
}

#[test]
fn a_peer_that_breaks_the_rules_loses_that_stream_only() {
    let open = |label: &str| data_channel::Dcep::Open(ChannelConfig::reliable(label)).encode().unwrap();
    let (dcep, text) = (PayloadProtocolId::WEBRTC_DCEP, PayloadProtocolId::WEBRTC_STRING);
    let unknown = PayloadProtocolId::WEBRTC_STRING_PARTIAL;
    let rows = [
        (5, dcep, open("").to_vec(), ChannelViolation::WrongStream),
        (0, dcep, open("").to_vec(), ChannelViolation::OpenedTwice),
        (8, dcep, vec![9], ChannelViolation::Dcep(DcepError::UnknownMessage { kind: 9 })),
        (8, dcep, vec![2], ChannelViolation::NoChannel),
        (8, text, b"who?".to_vec(), ChannelViolation::NoChannel),
        (0, text, vec![0xff], ChannelViolation::NotText),
        (0, unknown, b"part".to_vec(), ChannelViolation::UnknownIdentifier(unknown)),
    ];
    for (number, ppid, octets, violation) in rows {
        let mut line = Line::up();
        let broken = line.open(HERE, ChannelConfig::reliable("broken"));
        let good = line.open(HERE, ChannelConfig::reliable("good"));
        line.run();
        // Twice: it is told once.
        for _ in 0..2 {
            line.send_raw(HERE, Message::ordered(stream(number), octets.clone()).with_ppid(ppid));
        }
        line.run();
        let told = line.told(THERE);
        let violations = told.iter().filter(|event| matches!(event, ChannelEvent::Violation { .. }));
        assert_eq!(violations.count(), 1, "{told:?}");
        assert!(told.contains(&ChannelEvent::Violation { stream: stream(number), violation }), "{told:?}");
        let is_closed = line.told(HERE).contains(&ChannelEvent::Closed(broken));
        assert_eq!(is_closed, number == 0, "{violation}");
        line.send(HERE, good, "still here").unwrap();
        line.run();
        assert_eq!(line.told(THERE).last(), Some(&message(good, "still here")));
    }
}

#[test]
fn a_peer_cannot_open_channels_without_end_nor_name_them_at_length() {
    let limits = ChannelLimits { channels: 3, peer_name_bytes: 10, ..ChannelLimits::default() };
    let mut line = Line::with(limits, |_, _| {});
    line.run();
    let own = ChannelLimits::default();
    line.set_limits(HERE, own);
    let long = line.open(HERE, ChannelConfig::reliable("eleven char"));
    let three = [(); 3].map(|()| line.open(HERE, ChannelConfig::reliable("abc")));
    let fourth = line.open(HERE, ChannelConfig::default());
    line.run();
    let refused = |stream| ChannelEvent::Violation { stream, violation: ChannelViolation::TooMany };
    let told = line.told(THERE).to_vec();
    assert!(told.contains(&refused(long)), "{told:?}");
    // The one that is closing counts, so there is room for two.
    assert!(told.contains(&ChannelEvent::Opened(three[1])) && told.contains(&refused(three[2])), "{told:?}");
    assert!(told.contains(&refused(fourth)), "{told:?}");
    for gone in [long, fourth] {
        assert!(line.told(HERE).contains(&ChannelEvent::Closed(gone)));
    }
}

#[test]
fn this_end_keeps_its_own_limits() {
    let limits = ChannelLimits { peer_message_bytes: 10, channels: 1, ..ChannelLimits::default() };
    let mut line = Line::with(limits, |_, _| {});
    let channel = line.open(HERE, ChannelConfig::default());
    assert_eq!(line.try_open(HERE, ChannelConfig::default()), Err(OpenError::TooMany { channels: 1 }));
    assert_eq!(line.send(HERE, channel, "eleven char"), Err(SendError::TooLong { octets: 11, limit: 10 }));
    line.send(HERE, channel, "ten chars.").unwrap();
}

/// Who does not poll is not given more than the receive window.
#[test]
fn a_slow_reader_holds_the_sender_back_and_loses_nothing() {
    let mut line = Line::up();
    let channel = line.open(HERE, ChannelConfig::default());
    line.run();
    line.pause(THERE);
    let mut sent = 0;
    loop {
        match line.send(HERE, channel, Payload::binary(vec![1; 50_000])) {
            Ok(()) => sent += 1,
            Err(SendError::BufferFull(payload)) => {
                assert_eq!(payload.len(), 50_000, "the message comes back");
                break;
            }
            Err(error) => panic!("{error}"),
        }
        line.run();
    }
    // A window and a buffer of a mebibyte each.
    assert!((30..=42).contains(&sent), "{sent}");
    line.resume(THERE);
    line.run();
    let messages = line.told(THERE).iter().filter(|event| matches!(event, ChannelEvent::Message { .. }));
    assert_eq!(messages.count(), sent);
}

#[test]
fn without_re_configuration_a_channel_is_closed_here_and_its_stream_left_alone() {
    let off = |_, config: &mut sctp_core::AssociationConfig| config.extensions.reconfiguration = Offer::Off;
    let mut line = Line::with(ChannelLimits::default(), off);
    let channel = line.open(HERE, ChannelConfig::default());
    line.run();
    line.close(HERE, channel);
    line.run();
    assert_eq!(line.told(HERE).last(), Some(&ChannelEvent::Closed(channel)));
    assert_eq!(line.open(HERE, ChannelConfig::default()), stream(2));
}

#[test]
fn a_negotiated_channel_needs_no_message() {
    let mut line = Line::up();
    for side in [HERE, THERE] {
        line.open_negotiated(side, stream(1000), ChannelConfig::reliable("agreed")).unwrap();
    }
    let again = line.open_negotiated(HERE, stream(1000), ChannelConfig::default());
    assert_eq!(again, Err(OpenError::InUse(stream(1000))));
    line.send(THERE, stream(1000), "hello").unwrap();
    line.run();
    assert_eq!(line.told(HERE), [message(stream(1000), "hello")]);
}

#[test]
fn the_end_of_the_association_closes_every_channel() {
    let mut line = Line::up();
    let both = [HERE, THERE].map(|side| line.open(side, ChannelConfig::default()));
    line.run();
    line.abort(HERE);
    line.run();
    for side in [HERE, THERE] {
        let closed = both.map(ChannelEvent::Closed);
        assert!(line.told(side).ends_with(&closed), "{:?}", line.told(side));
        assert!(line.send(side, both[0], "gone").is_err());
    }
}

#[test]
fn a_channel_that_gives_up_messages_does_so_over_a_bad_line() {
    let mut line = Line::up();
    let config = ChannelConfig { delivery: Delivery::Unordered, ..ChannelConfig::default() };
    let channel = line.open(HERE, config.with_reliability(Reliability::Retransmissions(0)));
    line.run();
    for n in 0..30 {
        if n % 3 == 0 {
            line.lose_next(HERE);
        }
        line.send(HERE, channel, Payload::binary(vec![n; 1000])).unwrap();
        line.run();
    }
    let messages = line.told(THERE).iter().filter(|event| matches!(event, ChannelEvent::Message { .. }));
    assert_eq!(messages.count(), 20);
}
