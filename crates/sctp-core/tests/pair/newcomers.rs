//! Peers about which the user decides (`IncomingPolicy::Ask`): asked at COOKIE ECHO, bounded in number, octets and time.

use core::time::Duration;

use sctp_core::{
    AcceptError, AskLimits, AssociationConfig, AssociationError, AssociationId, Capability, ConfigError,
    IncomingPolicy, Newcomer, RefusalCause, RemoteError, UnknownNewcomer,
};
use sctp_wire::Parameter;

use crate::by_hand::Hand;
use crate::net::{End, LEFT, LEFT_PORT, Pair, RIGHT_PORT, Setup, is_up, ms, ordered, port};

fn asking_with(limits: AskLimits) -> Setup {
    let mut setup = Setup::rfc9260();
    setup.server.incoming = IncomingPolicy::Ask(limits);
    setup
}

fn asking() -> Setup {
    asking_with(AskLimits::DEFAULT)
}

/// The next who asks the right end.
fn asked(pair: &mut Pair) -> Option<Newcomer> {
    pair.with(End::Right, |side, _| side.endpoint.poll_newcomer())
}

fn accept(pair: &mut Pair, newcomer: &Newcomer) -> Result<AssociationId, AcceptError> {
    pair.with(End::Right, |side, now| side.endpoint.accept_newcomer(now, newcomer.id, None))
}

fn refuse(pair: &mut Pair, newcomer: &Newcomer, refusal: RefusalCause<'_>) -> Result<(), UnknownNewcomer> {
    pair.with(End::Right, |side, now| side.endpoint.refuse_newcomer(now, newcomer.id, refusal))
}

/// The cause of the refusal that the left end heard.
fn refusal_of(pair: &Pair) -> RemoteError {
    match &pair.endings(End::Left)[..] {
        [Err(AssociationError::Refused(cause))] => cause.clone(),
        others => panic!("{others:?}"),
    }
}

#[test]
fn the_user_is_told_what_the_peer_says_and_the_peer_nothing_until_it_is_accepted() {
    let mut setup = Setup::signalling().two_homes();
    setup.server.incoming = IncomingPolicy::ASK;
    setup.client.streams.outbound = 7;
    setup.client.buffers.receive_bytes = 300_000;
    setup.client.extensions.adaptation_layer = Some(4711);
    let mut pair = setup.build();
    pair.connect();
    pair.send(End::Left, ordered(3, 7, 500));
    pair.run_ms(100);
    assert_eq!(pair.side(End::Right).endpoint.association_count(), 0);
    assert_eq!(pair.log(End::Right, 0), ["10 INIT_ACK"], "nothing else was answered");
    let newcomer = asked(&mut pair).unwrap();
    assert_eq!((newcomer.source.address, newcomer.port), (LEFT, port(LEFT_PORT)));
    assert_eq!((newcomer.streams.inbound, newcomer.window_bytes), (7, 300_000));
    assert_eq!(
        newcomer.addresses,
        ["10.0.0.1", "10.0.1.1"].map(|text| text.parse::<std::net::IpAddr>().unwrap())
    );
    assert_eq!(newcomer.adaptation, Some(4711));
    assert!(newcomer.capabilities.has(Capability::PartialReliability));
    assert_eq!(asked(&mut pair), None, "each is told once");
    accept(&mut pair, &newcomer).unwrap();
    assert_eq!(pair.read_times(End::Right), [100], "what came with the COOKIE ECHO is there at once");
    pair.run_ms(100);
    assert_eq!((pair.count(End::Left, is_up), pair.count(End::Right, is_up)), (1, 1));
    assert_eq!(pair.statistics(End::Right).paths[0].srtt, Some(ms(20)), "deciding is no part of it");
}

#[test]
fn accepted_with_parameters_of_its_own() {
    let mut pair = asking().build();
    pair.connect();
    pair.run_ms(100);
    let newcomer = asked(&mut pair).unwrap();
    let mut config = AssociationConfig::default();
    config.sack.every_packets = 0;
    let mut accept = |config| {
        pair.with(End::Right, |side, now| side.endpoint.accept_newcomer(now, newcomer.id, Some(config)))
    };
    let refused = accept(config.clone());
    assert!(matches!(refused, Err(AcceptError::Config(ConfigError::TooSmall { .. }))));
    config.sack.every_packets = 5;
    let id = accept(config.clone()).unwrap();
    let association = pair.side(End::Right).endpoint.association(id).unwrap();
    assert_eq!(association.config(), &config);
}

#[test]
fn a_cookie_echo_that_comes_again_meanwhile_is_the_same_peer() {
    let mut pair = asking().build();
    pair.connect();
    pair.send(End::Left, ordered(0, 1, 100));
    pair.run_ms(5000);
    assert!(pair.times_of(End::Left, "COOKIE_ECHO", 0).len() >= 3);
    let newcomer = asked(&mut pair).unwrap();
    assert_eq!(asked(&mut pair), None);
    accept(&mut pair, &newcomer).unwrap();
    pair.run_ms(1000);
    assert_eq!(pair.side(End::Right).endpoint.association_count(), 1);
    assert_eq!((pair.side(End::Right).received.len(), pair.endings(End::Left)), (1, vec![]));
}

#[test]
fn the_refused_are_told_why_and_their_cookie_counts_no_more() {
    let reasons = [
        (RefusalCause::from("not you"), Some(12), "not you"),
        (RefusalCause::OutOfResource, Some(4), ""),
        (RefusalCause::Unexplained, None, ""),
    ];
    for (refusal, cause, text) in reasons {
        let mut pair = asking().build();
        pair.connect();
        pair.run_ms(100);
        let newcomer = asked(&mut pair).unwrap();
        let echo = pair.side(End::Left).sent.last().unwrap().octets.clone();
        refuse(&mut pair, &newcomer, refusal).unwrap();
        assert_eq!(refuse(&mut pair, &newcomer, refusal), Err(UnknownNewcomer));
        assert_eq!(accept(&mut pair, &newcomer), Err(AcceptError::Gone));
        pair.run_ms(100);
        let told = refusal_of(&pair);
        assert!(told.cause == cause && told.text.contains(text), "{told:?}");
        pair.inject(End::Right, LEFT, &echo);
        assert_eq!(asked(&mut pair), None);
        assert_eq!(pair.side(End::Right).endpoint.statistics().handshake.spent_cookies, 1);
    }
}

#[test]
fn the_ignored_hear_nothing_and_may_ask_anew_with_an_init() {
    let mut setup = asking();
    setup.client.attempts.init = 2;
    let mut pair = setup.build();
    pair.connect();
    pair.run_ms(100);
    let newcomer = asked(&mut pair).unwrap();
    pair.with(End::Right, |side, now| side.endpoint.ignore_newcomer(now, newcomer.id)).unwrap();
    pair.run_ms(30_000);
    assert_eq!(pair.side(End::Right).sent.len(), 1, "the INIT ACK, before");
    assert_eq!(pair.endings(End::Left), [Err(AssociationError::HandshakeTimedOut { attempts: 3 })]);
    assert_eq!(pair.side(End::Right).endpoint.statistics().handshake.ignored_cookies, 2);
    assert_eq!(asked(&mut pair), None);
    pair.connect();
    pair.run_ms(100);
    let again = asked(&mut pair).unwrap();
    accept(&mut pair, &again).unwrap();
    pair.run_ms(100);
    assert_eq!(pair.count(End::Left, is_up), 1);
}

#[test]
fn who_waits_too_long_is_forgotten_and_asks_anew_with_the_next_cookie_echo() {
    let limits = AskLimits { patience: ms(300), ..AskLimits::DEFAULT };
    let mut pair = asking_with(limits).build();
    pair.connect();
    pair.run_ms(100);
    let newcomer = asked(&mut pair).unwrap();
    assert_eq!(newcomer.until, pair.side(End::Left).sent[1].at + ms(310));
    pair.run_ms(300);
    assert_eq!(pair.side(End::Right).endpoint.statistics().handshake.undecided, 1);
    assert_eq!(pair.side(End::Right).endpoint.poll_timeout(), None, "nothing is left to be done");
    assert_eq!(accept(&mut pair, &newcomer), Err(AcceptError::Gone));
    pair.run_ms(700);
    let again = asked(&mut pair).unwrap();
    assert_ne!(again.id, newcomer.id);
    accept(&mut pair, &again).unwrap();
    pair.run_ms(100);
    assert_eq!(pair.count(End::Left, is_up), 1);
}

#[test]
fn who_gives_up_or_begins_anew_does_not_wait_any_more() {
    let mut pair = asking().build();
    let mut hand = Hand::new(LEFT_PORT, 77);
    hand.establish(&mut pair);
    let first = asked(&mut pair).unwrap();
    let mut anew = Hand::new(LEFT_PORT, 78);
    anew.establish(&mut pair);
    let second = asked(&mut pair).unwrap();
    assert_eq!(accept(&mut pair, &first), Err(AcceptError::Gone));
    anew.abort(&mut pair);
    assert_eq!(accept(&mut pair, &second), Err(AcceptError::Gone));
    assert_eq!(pair.side(End::Right).endpoint.poll_timeout(), None);
}

/// Both call each other: the COOKIE ECHO of the one is answered once its user decides, or by the rules of §5.2.4 when the
/// other's own association is there.
#[test]
fn a_peer_that_was_called_meanwhile_is_not_accepted_a_second_time() {
    let mut pair = asking().build();
    pair.connect();
    pair.run_ms(100);
    let newcomer = asked(&mut pair).unwrap();
    pair.connect_back();
    assert_eq!(accept(&mut pair, &newcomer), Err(AcceptError::Gone));
    pair.run_ms(5000);
    assert_eq!((pair.count(End::Left, is_up), pair.count(End::Right, is_up)), (1, 1));
    assert_eq!(pair.side(End::Right).endpoint.association_count(), 1);
}

#[test]
fn an_endpoint_that_refuses_from_now_on_refuses_those_who_wait() {
    let mut pair = asking().build();
    pair.connect();
    pair.run_ms(100);
    let newcomer = asked(&mut pair).unwrap();
    pair.with(End::Right, |side, _| side.endpoint.set_incoming(IncomingPolicy::Refuse)).unwrap();
    assert_eq!(accept(&mut pair, &newcomer), Err(AcceptError::Gone));
    pair.run_ms(100);
    assert_eq!(refusal_of(&pair).cause, None);
}

#[test]
fn limits_that_cannot_work_are_refused_by_name() {
    let mut pair = asking().build();
    let day = Duration::from_secs(24 * 3600);
    let set = |pair: &mut Pair, waiting, patience| {
        let incoming = IncomingPolicy::Ask(AskLimits { waiting, patience });
        pair.with(End::Right, |side, _| side.endpoint.set_incoming(incoming)).unwrap_err().to_string()
    };
    assert!(set(&mut pair, 0, ms(1)).starts_with("incoming.waiting is 0"));
    assert!(set(&mut pair, 1, day).starts_with("incoming.patience is 86400s"));
}

/// Nobody decides: 1000 peers of one network take its share of the places, and one from elsewhere finds one.
#[test]
fn robustness_43_undecided_peers_are_bounded_and_leave_places_to_other_networks() {
    let limits = AskLimits { waiting: 100, patience: ms(10_000) };
    let mut pair = asking_with(limits).build();
    for number in 0..1000 {
        Hand::new(10_000 + number, u32::from(number) + 1).establish(&mut pair);
    }
    let handshake = pair.side(End::Right).endpoint.statistics().handshake;
    assert_eq!(handshake.cookies_over_limit, 950, "they are not answered, and come again");
    let mut elsewhere = Hand::new(LEFT_PORT, 7777);
    elsewhere.source.address = [192, 0, 2, 1].into();
    elsewhere.establish(&mut pair);
    let told = std::iter::from_fn(|| asked(&mut pair)).collect::<Vec<_>>();
    assert_eq!((told.len(), told[50].source), (51, elsewhere.source));
    pair.run_ms(10_000);
    assert_eq!(pair.side(End::Right).endpoint.statistics().handshake.undecided, 51);
    assert_eq!(pair.side(End::Right).endpoint.poll_timeout(), None);
}

/// An INIT alone leaves nothing behind, whatever it says.
#[test]
fn robustness_43_nobody_is_asked_about_an_init() {
    let mut pair = asking().build();
    for number in 0..500 {
        Hand::new(LEFT_PORT + number, 1).init_with(&mut pair, &[Parameter::ForwardTsnSupported]);
    }
    assert_eq!(asked(&mut pair), None);
    assert_eq!(pair.side(End::Right).endpoint.poll_timeout(), None);
}

/// What a peer sends along with its COOKIE ECHO is kept only as far as one packet of Ethernet; the rest comes again.
#[test]
fn robustness_43_a_packet_that_is_too_long_to_be_kept_is_cut_behind_its_cookie() {
    let mut pair = asking().build();
    let mut hand = Hand::new(LEFT_PORT, 77);
    hand.init(&mut pair);
    let (cookie, header) = (hand.cookie().to_vec(), hand.data_header(0));
    let mut octets = Vec::new();
    let tag = sctp_wire::VerificationTag::new(hand.peer_tag());
    let mut writer =
        sctp_wire::PacketWriter::begin(&mut octets, port(LEFT_PORT), port(RIGHT_PORT), tag, 9000);
    writer.cookie_echo(&cookie).unwrap();
    writer.data(&header, &[7; 6000]).unwrap();
    let _len = writer.finish();
    pair.inject_from(End::Right, hand.source, &octets);
    let newcomer = asked(&mut pair).unwrap();
    accept(&mut pair, &newcomer).unwrap();
    assert_eq!((pair.count(End::Right, is_up), pair.side(End::Right).received.len()), (1, 0));
    let again = hand.packet(|writer| writer.data(&header, &[7; 900]).unwrap());
    pair.inject_from(End::Right, hand.source, &again);
    assert_eq!(pair.side(End::Right).received.len(), 1);
}
