//! Addresses that come and go during an association (RFC 5061).

use std::collections::BTreeSet;
use std::net::IpAddr;

use sctp_core::{
    AddressChange, AddressChangeError, AddressOutcome, AnnouncedPrimary, AsconfStatistics, AssociationError,
    AssociationState, AutomaticAddresses, ChunkType, Event, Offer, PathId, PathState, ProtocolViolation,
    SetPrimaryError,
};
use sctp_wire::{
    AddressRequest, AsconfSerial, Cause, Chunk, ChunkBuf, ChunkTypes, CorrelationId, Parameter, TagOrigin,
    Tsn,
};

use crate::authentication::Signer;
use crate::by_hand::{Hand, with_tag};
use crate::net::{End, LEFT, LEFT_PORT, Pair, RIGHT_PORT, Setup, by_ip, ms, ordered};

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn moving() -> Setup {
    Setup::signalling().configure(|config| {
        config.extensions.authentication = Offer::On;
        config.extensions.dynamic_addresses = Offer::On;
    })
}

/// The left host has two addresses and tells of the first.
fn moving_from_one_address() -> Setup {
    moving().homes(&["10.0.0.1", "10.0.0.5"], &["10.0.0.2"]).telling(1)
}

fn ask(pair: &mut Pair, end: End, change: AddressChange) -> Result<(), AddressChangeError> {
    pair.with(end, |side, now| {
        let id = side.id.unwrap();
        match change {
            AddressChange::Add(address) => side.endpoint.add_local_address(now, id, address),
            AddressChange::Delete(address) => side.endpoint.delete_local_address(now, id, address),
            AddressChange::SetPrimary(address) => side.endpoint.request_peer_primary(now, id, address),
        }
    })
}

fn asconf(pair: &Pair, end: End) -> AsconfStatistics {
    pair.statistics(end).asconf
}

fn outcomes(pair: &Pair, end: End) -> Vec<AddressOutcome> {
    let outcome = |event: &Event| {
        if let Event::AddressChangeAnswered { outcome, .. } = event { Some(*outcome) } else { None }
    };
    pair.side(end).events.iter().filter_map(|(_, event)| outcome(event)).collect()
}

pub(crate) fn peer_addresses(pair: &Pair, end: End) -> Vec<IpAddr> {
    pair.statistics(end).paths.iter().map(|path| path.address).collect()
}

/// A message each way every millisecond from number `from` to `to`, each with its number in it.
fn talk(pair: &mut Pair, from: u32, to: u32) {
    talk_every(pair, 1, from, to);
}

/// Likewise, with so many milliseconds between two.
pub(crate) fn talk_every(pair: &mut Pair, pause_ms: u64, from: u32, to: u32) {
    for number in from..to {
        for end in [End::Left, End::Right] {
            let mut message = ordered(0, 0, 100);
            message.payload = [&number.to_be_bytes()[..], &[0; 96]].concat().into();
            pair.send(end, message);
        }
        pair.run_ms(pause_ms);
    }
}

/// Every message in order, none missing, none twice.
pub(crate) fn assert_all_arrived(pair: &Pair, count: u32) {
    for end in [End::Left, End::Right] {
        let numbers: Vec<_> = pair
            .payloads(end)
            .iter()
            .map(|payload| u32::from_be_bytes(payload[..4].try_into().unwrap()))
            .collect();
        assert_eq!(numbers, (0..count).collect::<Vec<_>>(), "{end:?}");
    }
}

/// A thousand messages a second each way while an association moves from one address to another, with losses and without.
#[test]
fn association_moves_to_another_address_under_load_and_nothing_is_lost_doubled_or_reordered() {
    for lost in [&[][..], &[1, 3, 20, 21], &[2, 5, 6, 7, 40]] {
        let mut pair = moving_from_one_address().connected();
        talk(&mut pair, 0, 200);
        pair.drop_next(End::Left, lost);
        pair.drop_next(End::Right, lost);
        ask(&mut pair, End::Left, AddressChange::Add(ip("10.0.0.5"))).unwrap();
        talk(&mut pair, 200, 400);
        ask(&mut pair, End::Left, AddressChange::SetPrimary(ip("10.0.0.5"))).unwrap();
        ask(&mut pair, End::Left, AddressChange::Delete(ip("10.0.0.1"))).unwrap();
        talk(&mut pair, 400, 1000);
        pair.run_ms(3000);
        assert_all_arrived(&pair, 1000);
        assert_eq!(outcomes(&pair, End::Left), [AddressOutcome::Done; 3]);
        assert_eq!(peer_addresses(&pair, End::Right), [ip("10.0.0.5")]);
        let path = pair.statistics(End::Right).paths[0];
        assert!(path.state == PathState::Active && path.is_primary);
        let counted = asconf(&pair, End::Right);
        assert_eq!((counted.added, counted.deleted, counted.refused), (1, 1, 0));
        assert_eq!(pair.statistics(End::Left).paths[0].source, Some(ip("10.0.0.5")));
        assert_eq!((pair.endings(End::Left), pair.endings(End::Right)), (vec![], vec![]));
    }
}

/// RFC 5061 §5.3.2: the only address goes before the new one is there.
#[test]
fn host_that_changes_its_only_address_keeps_its_association() {
    let setup = moving_from_one_address()
        .configure(|config| config.paths.automatic_addresses = AutomaticAddresses::On);
    let mut pair = setup.connected();
    talk(&mut pair, 0, 100);
    pair.with(End::Left, |side, now| side.endpoint.local_address_down(now, ip("10.0.0.1")));
    talk(&mut pair, 100, 150);
    let moved_at = pair.now_ms();
    pair.with(End::Left, |side, now| side.endpoint.local_address_up(now, ip("10.0.0.5")));
    talk(&mut pair, 150, 300);
    pair.run_ms(5000);
    assert_all_arrived(&pair, 300);
    let first = pair.log(End::Left, moved_at).first().unwrap().clone();
    assert!(first.contains("AUTH ASCONF"), "{first}");
    assert_eq!(outcomes(&pair, End::Left), [AddressOutcome::Done; 2]);
    assert_eq!(peer_addresses(&pair, End::Right), [ip("10.0.0.5")]);
    assert_eq!(pair.statistics(End::Right).paths[0].state, PathState::Active);
}

#[test]
fn addresses_can_change_far_more_often_than_there_are_paths() {
    let mut pair = moving_from_one_address().connected();
    for round in 0..12_u32 {
        let (new, old) = [("10.0.0.5", "10.0.0.1"), ("10.0.0.1", "10.0.0.5")][round as usize % 2];
        ask(&mut pair, End::Left, AddressChange::Add(ip(new))).unwrap();
        ask(&mut pair, End::Left, AddressChange::Delete(ip(old))).unwrap();
        talk(&mut pair, round * 150, (round + 1) * 150);
    }
    pair.run_ms(1000);
    assert_all_arrived(&pair, 12 * 150);
    assert_eq!(outcomes(&pair, End::Left), [AddressOutcome::Done; 24]);
    assert_eq!(peer_addresses(&pair, End::Right), [ip("10.0.0.1")]);
}

#[test]
fn path_of_a_deleted_address_never_stands_for_another_address() {
    let mut pair = moving_from_one_address().connected();
    let first = pair.statistics(End::Right).paths[0].path;
    for round in 0..20_usize {
        let (new, old) = [("10.0.0.5", "10.0.0.1"), ("10.0.0.1", "10.0.0.5")][round % 2];
        ask(&mut pair, End::Left, AddressChange::Add(ip(new))).unwrap();
        ask(&mut pair, End::Left, AddressChange::Delete(ip(old))).unwrap();
        pair.run_ms(300);
        let set = pair.with(End::Right, |side, now| side.endpoint.set_primary(now, side.id.unwrap(), first));
        assert_eq!(set, Err(SetPrimaryError::UnknownPath(first)), "after {} addresses", round + 2);
    }
    let is_new = |event: &Event| {
        let Event::PeerAddressChange { path, state: PathState::Unconfirmed } = event else { return None };
        Some(*path)
    };
    let new: BTreeSet<PathId> =
        pair.side(End::Right).events.iter().filter_map(|(_, event)| is_new(event)).collect();
    assert_eq!((new.len(), new.contains(&first)), (20, false), "each address has a path of its own");
}

/// RFC 5061 §5.1 (B4): sent again as it was, and answered as it was.
#[test]
fn lost_asconfs_and_answers_are_sent_again_unchanged() {
    for (from_left, processed) in [(true, (1, 0)), (false, (1, 1))] {
        let mut pair = moving_from_one_address().connected();
        let end = if from_left { End::Left } else { End::Right };
        // The first of the right end is a HEARTBEAT to the new address.
        pair.drop_next(end, if from_left { &[1] } else { &[1, 2] });
        ask(&mut pair, End::Left, AddressChange::Add(ip("10.0.0.5"))).unwrap();
        pair.run_ms(2000);
        assert_eq!(outcomes(&pair, End::Left), [AddressOutcome::Done]);
        assert_eq!((asconf(&pair, End::Left).sent, asconf(&pair, End::Left).retransmissions), (1, 1));
        let counted = asconf(&pair, End::Right);
        assert_eq!((counted.processed, counted.repeated), processed);
        let asked = pair.side(End::Left).sent.iter().flat_map(|sent| {
            let chunks = sent.packet().chunks().flatten().filter(|chunk| chunk.kind() == ChunkType::ASCONF);
            chunks.map(|chunk| chunk.as_unknown().unwrap().raw.to_vec()).collect::<Vec<_>>()
        });
        let asked: Vec<_> = asked.collect();
        assert!(asked.len() == 2 && asked[0] == asked[1], "{asked:?}");
    }
}

#[test]
fn silent_peer_ends_the_association_by_t4() {
    let mut pair = moving_from_one_address().connected();
    pair.cut();
    ask(&mut pair, End::Left, AddressChange::Add(ip("10.0.0.5"))).unwrap();
    pair.run_ms(600_000);
    assert!(matches!(pair.endings(End::Left)[..], [Err(AssociationError::PeerUnreachable { .. })]));
}

#[test]
fn what_cannot_be_asked_is_said_at_once() {
    let mut pair = moving_from_one_address().connected();
    let last = ip("10.0.0.1");
    assert_eq!(
        ask(&mut pair, End::Left, AddressChange::Delete(last)),
        Err(AddressChangeError::LastAddress(last))
    );
    let results: Vec<_> =
        (0..40).map(|_| ask(&mut pair, End::Left, AddressChange::Add(ip("10.0.0.5")))).collect();
    assert_eq!(results.last(), Some(&Err(AddressChangeError::TooMany)));
    pair.run_ms(1000);
    assert!(outcomes(&pair, End::Left).iter().all(|outcome| *outcome == AddressOutcome::Done));
    pair.shutdown(End::Left);
    pair.run_ms(1000);
    assert!(ask(&mut pair, End::Left, AddressChange::Add(last)).is_err());
    let mut plain = Setup::signalling().connected();
    assert_eq!(ask(&mut plain, End::Left, AddressChange::Add(last)), Err(AddressChangeError::NotAgreed));
}

/// A peer by hand that offers ASCONF, and its next serial number.
fn by_hand(pair: &mut Pair) -> (Signer, AsconfSerial) {
    let kinds = [ChunkType::ASCONF, ChunkType::ASCONF_ACK, ChunkType::AUTH].map(ChunkType::get);
    let signer = Signer::offering(pair, 5, &[Parameter::SupportedExtensions(ChunkTypes::new(&kinds))]);
    signer.hand.echo(pair);
    let serial = AsconfSerial::new(signer.hand.next_tsn.get());
    (signer, serial)
}

fn request(kind: fn(AddressRequest) -> Parameter<'static>, address: &str) -> Parameter<'static> {
    kind(AddressRequest { correlation: CorrelationId::new(77), address: ip(address) })
}

const HAND: &str = "10.0.0.9";

fn last_kinds(pair: &Pair) -> String {
    pair.side(End::Right).sent.last().unwrap().kinds()
}

/// RFC 5061 §5.2 (D1 to D5), §4.2.1: found by its tag, believed for its HMAC, answered where it came from.
#[test]
fn robustness_07_wildcard_from_a_new_address_adds_it_and_without_a_valid_hmac_does_nothing() {
    let mut pair = moving().build();
    let (mut signer, serial) = by_hand(&mut pair);
    signer.hand.source = by_ip(ip("10.0.0.77"));
    let wish = [request(Parameter::AddIpAddress, "0.0.0.0")];
    let before = pair.side(End::Right).sent.len();
    signer.hand.tell(&mut pair, |writer| writer.asconf(serial, ip(HAND), &wish).unwrap());
    signer.tell(&mut pair, 4, |writer| writer.asconf(serial, ip(HAND), &wish).unwrap());
    let header = signer.hand.data_header(0);
    signer.hand.tell(&mut pair, |writer| writer.data(&header, b"from nowhere").unwrap());
    assert_eq!(pair.side(End::Right).sent.len(), before, "not a word");
    assert_eq!(peer_addresses(&pair, End::Right), [ip(HAND)]);
    let counted = pair.statistics(End::Right);
    assert_eq!((counted.authentication.unauthenticated_chunks, counted.authentication.unknown_keys), (1, 1));
    assert_eq!(counted.asconf, AsconfStatistics::default());
    signer.tell(&mut pair, 0, |writer| {
        writer.asconf(serial, ip(HAND), &wish).unwrap();
        writer.data(&header, b"too early").unwrap();
    });
    assert_eq!(peer_addresses(&pair, End::Right), [ip(HAND), ip("10.0.0.77")]);
    assert_eq!(pair.path_states(End::Right), [PathState::Active, PathState::Unconfirmed]);
    let answers = pair.sent_to(End::Right, "10.0.0.77");
    assert_eq!(answers, ["HEARTBEAT ASCONF-ACK"]);
    assert!(pair.payloads(End::Right).is_empty(), "what is bundled with the introduction does not count");
}

/// RFC 5061 §5.3 (F7, F8).
#[test]
fn robustness_07_last_and_source_address_stay() {
    let mut pair = moving().build();
    let (signer, serial) = by_hand(&mut pair);
    let refused = |pair: &mut Pair, serial, wishes: &[Parameter<'_>]| {
        signer.tell(pair, 0, |writer| writer.asconf(serial, ip(HAND), wishes).unwrap());
        let answer =
            pair.side(End::Right).sent.iter().rev().find(|sent| sent.kinds().contains("ASCONF")).unwrap();
        let packet = answer.packet();
        let ack = packet
            .chunks()
            .flatten()
            .find_map(|chunk| if let Chunk::AsconfAck(ack) = chunk { Some(ack) } else { None });
        let Some(Ok(Parameter::ErrorCauseIndication(error))) = ack.unwrap().responses.iter().next() else {
            return None;
        };
        error.causes.iter().next().unwrap().ok().map(|cause| cause.code().get())
    };
    let delete = request(Parameter::DeleteIpAddress, HAND);
    assert_eq!(refused(&mut pair, serial, &[delete]), Some(0xa0));
    let add = request(Parameter::AddIpAddress, "10.0.0.10");
    assert_eq!(refused(&mut pair, serial.next(), &[add, delete]), Some(0xa2));
    assert_eq!(peer_addresses(&pair, End::Right).len(), 2);
    assert_eq!(asconf(&pair, End::Right).refused, 2);
}

/// RFC 5061 §5.3 (F0).
#[test]
fn answer_to_what_was_never_asked_ends_the_association_with_cause_a3() {
    let mut pair = moving().build();
    let (signer, _) = by_hand(&mut pair);
    let peer_tsn = signer.hand.peer_tsn;
    let ack = |tsn: Tsn| ChunkBuf::asconf_ack(AsconfSerial::new(tsn.get()), &[]).unwrap();
    signer.tell(&mut pair, 0, |writer| writer.raw(&ack(peer_tsn.previous())).unwrap());
    assert_eq!(asconf(&pair, End::Right).stray_acks, 1);
    signer.hand.tell(&mut pair, |writer| writer.raw(&ack(peer_tsn)).unwrap());
    assert_eq!(pair.endings(End::Right), [], "it was not even authenticated");
    signer.tell(&mut pair, 0, |writer| writer.raw(&ack(peer_tsn)).unwrap());
    assert_eq!(pair.endings(End::Right), [Err(ProtocolViolation::IllegalAsconfAck.into())]);
    let abort = pair.side(End::Right).sent.last().unwrap().clone();
    let Some(Ok(Chunk::Abort(abort))) = abort.packet().chunks().next() else {
        panic!("{}", last_kinds(&pair))
    };
    assert_eq!(abort.causes.iter().next(), Some(Ok(Cause::IllegalAsconfAck)));
}

/// RFC 5061 §5.1 (A9).
#[test]
fn peer_that_reports_asconf_as_unknown_is_not_asked_again() {
    let mut pair = moving().build();
    let (signer, _) = by_hand(&mut pair);
    ask(&mut pair, End::Right, AddressChange::Add(ip("10.0.0.3"))).unwrap();
    let error = ChunkBuf::error(&[Cause::UnrecognizedChunkType(&[0xc1, 0, 0, 4])]).unwrap();
    signer.hand.tell(&mut pair, |writer| writer.raw(&error).unwrap());
    assert_eq!(outcomes(&pair, End::Right), [AddressOutcome::NotUnderstood]);
    let again = ask(&mut pair, End::Right, AddressChange::Add(ip("10.0.0.3")));
    assert_eq!(again, Err(AddressChangeError::NotUnderstood));
    let sent = pair.times_of(End::Right, "ASCONF", 0).len();
    pair.run_ms(20_000);
    assert_eq!(pair.times_of(End::Right, "ASCONF", 0).len(), sent, "T4 is stopped");
}

/// RFC 5061 §5.1 (A9): nor by what happens to the addresses of this host.
#[test]
fn peer_that_reports_asconf_as_unknown_is_not_asked_for_new_addresses_either() {
    let mut setup = moving();
    setup.server.association.paths.automatic_addresses = AutomaticAddresses::On;
    let mut pair = setup.build();
    let (signer, _) = by_hand(&mut pair);
    let up = |pair: &mut Pair, address: &str| {
        pair.with(End::Right, |side, now| side.endpoint.local_address_up(now, ip(address)));
    };
    up(&mut pair, "10.0.0.3");
    let sent = pair.times_of(End::Right, "ASCONF", 0).len();
    assert_eq!(sent, 1);
    let error = ChunkBuf::error(&[Cause::UnrecognizedChunkType(&[0xc1, 0, 0, 4])]).unwrap();
    signer.hand.tell(&mut pair, |writer| writer.raw(&error).unwrap());
    up(&mut pair, "10.0.0.4");
    pair.run_ms(20_000);
    assert_eq!(pair.times_of(End::Right, "ASCONF", 0).len(), sent);
    assert_eq!(outcomes(&pair, End::Right), [AddressOutcome::NotUnderstood]);
}

/// RFC 5061 §5.5, §5.2 (E1 to E7): a peer may repeat an ASCONF together with the next ones.
#[test]
fn several_asconfs_of_a_packet_are_done_and_answered_in_their_order() {
    let mut pair = moving().build();
    let (signer, first) = by_hand(&mut pair);
    let wish = |number: u32| request(Parameter::AddIpAddress, &format!("10.0.0.{}", 70 + number));
    signer.tell(&mut pair, 0, |writer| writer.asconf(first, ip(HAND), &[wish(0)]).unwrap());
    let before = pair.side(End::Right).sent.len();
    signer.tell(&mut pair, 0, |writer| {
        let mut serial = first;
        for number in 0..3 {
            writer.asconf(serial, ip(HAND), &[wish(number)]).unwrap();
            serial = serial.next();
        }
    });
    let added = ["10.0.0.9", "10.0.0.70", "10.0.0.71", "10.0.0.72"].map(ip);
    assert_eq!(peer_addresses(&pair, End::Right), added);
    let counted = asconf(&pair, End::Right);
    assert_eq!((counted.processed, counted.repeated, counted.added), (3, 1, 3));
    let answers = pair.side(End::Right).sent[before..].iter();
    let serials = answers.flat_map(|sent| {
        let of = |chunk| if let Chunk::AsconfAck(ack) = chunk { Some(ack.serial) } else { None };
        sent.packet().chunks().flatten().filter_map(of).collect::<Vec<_>>()
    });
    assert_eq!(serials.collect::<Vec<_>>(), [first, first.next(), first.next().next()]);
}

/// RFC 5061 §4.2.4: both ends ask to be sent to their first address, and the handshake went to and from the second ones.
#[test]
fn address_wished_for_in_init_and_init_ack_is_primary_as_soon_as_it_is_confirmed() {
    for (wish, is_granted) in [(AnnouncedPrimary::FirstAddress, true), (AnnouncedPrimary::Nothing, false)] {
        let setup = moving().configure(|config| config.paths.announced_primary = wish);
        let mut pair = setup.two_homes().build();
        pair.cut_link(0);
        pair.connect_to(2);
        pair.run_ms(2500);
        pair.mend_link(0);
        pair.run_ms(10_000);
        for end in [End::Left, End::Right] {
            let paths = pair.statistics(end).paths;
            let first = match end {
                End::Left => "10.0.0.2",
                End::Right => "10.0.0.1",
            };
            let primary = paths.iter().find(|path| path.is_primary).unwrap().address;
            assert_eq!(primary == ip(first), is_granted, "{end:?}: {paths:?}");
        }
    }
}

/// RFC 5061 §4.2.4: one that the peer does not have is not wished for.
#[test]
fn wish_for_an_address_that_is_not_listed_changes_nothing() {
    let mut pair = moving().build();
    let kinds = [ChunkType::ASCONF, ChunkType::ASCONF_ACK, ChunkType::AUTH].map(ChunkType::get);
    let wish = request(Parameter::SetPrimaryAddress, "10.0.0.55");
    let lists = Parameter::SupportedExtensions(ChunkTypes::new(&kinds));
    let signer = Signer::offering(&mut pair, 5, &[lists, wish]);
    signer.hand.echo(&mut pair);
    assert_eq!(peer_addresses(&pair, End::Right), [ip(HAND)]);
    assert!(pair.statistics(End::Right).paths[0].is_primary);
}

/// RFC 5061 §4.2.6: each side tells the other, in INIT and INIT ACK, if it has something to tell.
#[test]
fn adaptation_layer_indication_reaches_the_other_side() {
    let mut setup = Setup::rfc9260();
    setup.client.extensions.adaptation_layer = Some(0x0102_0304);
    let told = |pair: &Pair, end| {
        let side = pair.side(end);
        side.endpoint.association(side.id.unwrap()).unwrap().peer_adaptation_layer()
    };
    let pair = setup.connected();
    assert_eq!(told(&pair, End::Right), Some(0x0102_0304));
    assert_eq!(told(&pair, End::Left), None);
    let mut setup = Setup::rfc9260();
    setup.server.association.extensions.adaptation_layer = Some(0);
    let pair = setup.connected();
    assert_eq!(told(&pair, End::Left), Some(0));
    assert_eq!(told(&pair, End::Right), None);
}

/// RFC 5061 §5.3.1, rule F4.
#[test]
fn abort_to_an_address_that_is_being_deleted_is_ignored() {
    let mut pair = moving_from_one_address().connected();
    ask(&mut pair, End::Left, AddressChange::Add(ip("10.0.0.5"))).unwrap();
    pair.run_ms(200);
    let tag = pair.side(End::Right).sent.last().unwrap().packet().verification_tag.get();
    let abort = ChunkBuf::abort(TagOrigin::Receiver, &[]).unwrap();
    let abort = with_tag(RIGHT_PORT, LEFT_PORT, tag, |writer| writer.raw(&abort).unwrap());
    pair.cut();
    ask(&mut pair, End::Left, AddressChange::Delete(LEFT)).unwrap();
    let to = |pair: &mut Pair, local: &str| {
        let local = Some(ip(local));
        pair.with(End::Left, |side, now| {
            let source = by_ip(crate::net::RIGHT);
            let ecn = sctp_core::Ecn::NotEct;
            side.endpoint.handle_packet(now, sctp_core::Datagram { source, local, ecn, payload: &abort });
        });
    };
    to(&mut pair, "10.0.0.1");
    assert_eq!(pair.state(End::Left), Some(AssociationState::Established));
    to(&mut pair, "10.0.0.5");
    assert!(matches!(pair.endings(End::Left)[..], [Err(AssociationError::AbortedByPeer(_))]));
}

/// RFC 5061 §6: ASCONF without authentication is not to be had.
#[test]
fn peer_that_lists_asconf_without_authentication_is_refused() {
    let kinds = [ChunkType::ASCONF, ChunkType::ASCONF_ACK, ChunkType::AUTH].map(ChunkType::get);
    let lists = Parameter::SupportedExtensions(ChunkTypes::new(&kinds));
    let mut pair = moving().build();
    Hand::new(LEFT_PORT, 5).init_with(&mut pair, &[lists]);
    assert_eq!(last_kinds(&pair), "ABORT");
    pair.cut();
    pair.connect_back();
    let init = pair.side(End::Right).sent.last().unwrap().clone();
    let Some(Ok(Chunk::Init(init))) = init.packet().chunks().next() else { panic!("{}", init.kinds()) };
    let answer = with_tag(LEFT_PORT, RIGHT_PORT, init.initiate_tag.get(), |writer| {
        let parameters = [Parameter::StateCookie(b"cookie"), lists];
        writer.init_ack(&Hand::new(LEFT_PORT, 6).header(), &parameters).unwrap();
    });
    pair.inject(End::Right, LEFT, &answer);
    assert_eq!(pair.endings(End::Right), [Err(ProtocolViolation::AsconfWithoutAuthentication.into())]);
    assert!(pair.times_of(End::Right, "COOKIE_ECHO", 0).is_empty());
}

/// RFC 5061 §5.3 (F13): when one address is left, what was lost on its way to the deleted one goes there.
#[test]
fn data_lost_on_its_way_to_a_deleted_address_goes_to_the_one_that_is_left() {
    let mut pair = moving().two_homes().connected();
    pair.run_ms(200);
    pair.with(End::Left, |side, now| side.endpoint.set_primary(now, side.id.unwrap(), PathId::new(1)))
        .unwrap();
    pair.cut_link(0);
    let cut_at = pair.now_ms();
    pair.send(End::Right, ordered(0, 1, 100));
    let left = pair.statistics(End::Right).paths[0].address;
    ask(&mut pair, End::Left, AddressChange::Delete(left)).unwrap();
    pair.run_ms(30);
    assert_eq!(outcomes(&pair, End::Left), [AddressOutcome::Done]);
    pair.run_ms(1000);
    assert_eq!(pair.read_times(End::Left), [cut_at + 20], "10 ms for ASCONF, 10 ms for DATA");
    let last = pair.side(End::Right).sent.iter().rfind(|sent| sent.to == left).unwrap();
    assert!(last.at_ms() <= cut_at + 10, "nothing goes to the deleted address any more");
}

/// RFC 9260 §8.1: a peer that has deleted every address but one that it never shows to be its own is not waited for.
#[test]
fn peer_that_is_left_with_an_unconfirmed_address_only_and_is_silent_is_given_up() {
    for interval in [None, Some(ms(30_000))] {
        let mut setup = moving();
        setup.server.association.heartbeat.interval = interval;
        let mut pair = setup.build();
        let (mut signer, serial) = by_hand(&mut pair);
        signer.hand.source = by_ip(ip("10.0.0.77"));
        let wishes = [request(Parameter::AddIpAddress, "0.0.0.0"), request(Parameter::DeleteIpAddress, HAND)];
        signer.tell(&mut pair, 0, |writer| writer.asconf(serial, ip(HAND), &wishes).unwrap());
        assert_eq!(pair.path_states(End::Right), [PathState::Unconfirmed]);
        pair.send(End::Right, ordered(0, 0, 100));
        pair.run_ms(2_000_000);
        assert_eq!(pair.endings(End::Right), [Err(AssociationError::PeerUnreachable { errors: 11 })]);
        let to_it = pair.sent_to(End::Right, "10.0.0.77");
        assert!(to_it.iter().all(|kinds| !kinds.contains("DATA")), "{to_it:?}");
    }
}

/// RFC 5061 §5.3 (F5): what the peer has been asked for counts, not only what it has answered.
#[test]
fn robustness_38_deletions_asked_for_at_once_leave_an_address() {
    let mut pair = moving().homes(&["10.0.0.1", "10.0.0.5"], &["10.0.0.2"]).connected();
    talk(&mut pair, 0, 50);
    let [first, second] = ["10.0.0.1", "10.0.0.5"].map(ip);
    ask(&mut pair, End::Left, AddressChange::Delete(first)).unwrap();
    let refused = Err(AddressChangeError::LastAddress(second));
    assert_eq!(ask(&mut pair, End::Left, AddressChange::Delete(second)), refused);
    talk(&mut pair, 50, 100);
    assert_eq!(ask(&mut pair, End::Left, AddressChange::Delete(second)), refused);
    ask(&mut pair, End::Left, AddressChange::Delete(ip("0.0.0.0"))).unwrap();
    assert_eq!(ask(&mut pair, End::Left, AddressChange::Delete(second)), refused);
    pair.run_ms(1000);
    assert_all_arrived(&pair, 100);
    assert_eq!(outcomes(&pair, End::Left), [AddressOutcome::Done; 2]);
    assert_eq!(peer_addresses(&pair, End::Right), [second]);
}

/// The address that was to take its place is refused: the last one is not given up for it.
#[test]
fn robustness_38_last_address_is_not_deleted_when_the_one_to_replace_it_is_refused() {
    let mut pair = moving_from_one_address().connected();
    ask(&mut pair, End::Left, AddressChange::Add(ip("127.0.0.1"))).unwrap();
    ask(&mut pair, End::Left, AddressChange::Delete(ip("10.0.0.1"))).unwrap();
    talk(&mut pair, 0, 100);
    pair.run_ms(1000);
    assert_all_arrived(&pair, 100);
    let [AddressOutcome::Refused { .. }, last] = outcomes(&pair, End::Left)[..] else { panic!() };
    assert_eq!(last, AddressOutcome::Refused { cause: 0xa0 });
    assert_eq!(asconf(&pair, End::Left).sent, 1);
}

/// RFC 5061 §5.2 (E6): a peer that sends from an address it does not have (any more) gets to know there that it was refused, for
/// there it hears.
#[test]
fn robustness_38_refusal_reaches_a_peer_that_asks_from_an_address_it_has_deleted() {
    let mut pair = moving().build();
    let (mut signer, serial) = by_hand(&mut pair);
    let before = pair.sent_to(End::Right, HAND).len();
    signer.hand.source = by_ip(ip("10.0.0.77"));
    let wish = [request(Parameter::DeleteIpAddress, HAND)];
    for _repeated in 0..2 {
        signer.tell(&mut pair, 0, |writer| writer.asconf(serial, ip(HAND), &wish).unwrap());
    }
    assert_eq!(asconf(&pair, End::Right).refused, 1);
    assert_eq!(pair.sent_to(End::Right, "10.0.0.77"), ["ASCONF-ACK"; 2]);
    assert_eq!(pair.sent_to(End::Right, HAND).len(), before);
}

/// A peer that answers everything else is not asked for ever.
#[test]
fn robustness_21_asconf_that_a_living_peer_never_answers_is_given_up() {
    let mut pair = moving().build();
    let (signer, _) = by_hand(&mut pair);
    ask(&mut pair, End::Right, AddressChange::Add(ip("10.0.0.3"))).unwrap();
    for count in 1..=80 {
        pair.send(End::Right, ordered(0, 1, 10));
        signer.hand.sack(&mut pair, count, 100_000, &[]);
        pair.run_ms(10_000);
    }
    assert_eq!(pair.endings(End::Right), []);
    assert_eq!(outcomes(&pair, End::Right), [AddressOutcome::NotAnswered]);
    assert_eq!(asconf(&pair, End::Right).retransmissions, 10);
    let again = ask(&mut pair, End::Right, AddressChange::Add(ip("10.0.0.3")));
    assert_eq!(again, Err(AddressChangeError::NotUnderstood));
}

/// HEARTBEATs of the right end to addresses that the hand named and never spoke from.
fn heartbeats_to_strangers(pair: &Pair) -> usize {
    let sent = pair.side(End::Right).sent.iter();
    sent.filter(|sent| sent.to != ip(HAND) && sent.kinds().contains("HEARTBEAT")).count()
}

/// RFC 9260 §5.4: whoever is named is asked, but no more than HB.Max.Burst in an RTO, however often they are named.
#[test]
fn robustness_35_named_addresses_are_not_all_asked_at_once() {
    let mut pair = moving().build();
    let (signer, mut serial) = by_hand(&mut pair);
    let named: Vec<String> = (1..8).map(|last| format!("10.0.1.{last}")).collect();
    let wishes = |kind: fn(AddressRequest) -> Parameter<'static>| -> Vec<Parameter<'static>> {
        named.iter().map(|address| request(kind, address)).collect()
    };
    let before = pair.side(End::Right).sent.len();
    for round in 0..100 {
        let kind = [Parameter::AddIpAddress, Parameter::DeleteIpAddress][round % 2];
        let wishes = [wishes(kind), vec![request(Parameter::SetPrimaryAddress, HAND)]].concat();
        signer.tell(&mut pair, 0, |writer| writer.asconf(serial, ip(HAND), &wishes).unwrap());
        serial = serial.next();
    }
    let left = pair.side(End::Right).sent.len() - before;
    assert!(left <= 101, "{left} packets for 100");
    assert_eq!((heartbeats_to_strangers(&pair), asconf(&pair, End::Right).added), (1, 350));
    let add = wishes(Parameter::AddIpAddress);
    signer.tell(&mut pair, 0, |writer| writer.asconf(serial, ip(HAND), &add).unwrap());
    for _second in 0..100 {
        let before = heartbeats_to_strangers(&pair);
        pair.run_ms(1000);
        assert!(heartbeats_to_strangers(&pair) <= before + 1);
    }
    assert!(named.iter().all(|address| !pair.sent_to(End::Right, address).is_empty()), "each in its turn");
}

/// The same for those that an INIT names, of an association that begins or begins anew; and for the sum of both.
#[test]
fn robustness_35_restarts_do_not_make_named_addresses_be_asked_more_often() {
    let mut pair = Setup::signalling().build();
    let named: Vec<Parameter<'static>> =
        (1..8).map(|last| Parameter::Ipv4Address([10, 0, 1, last].into())).collect();
    let before = pair.side(End::Right).sent.len();
    for tag in 5..55 {
        let mut hand = Hand::new(LEFT_PORT, tag);
        hand.init_with(&mut pair, &named);
        hand.echo(&mut pair);
        pair.run_ms(10);
    }
    let left = pair.side(End::Right).sent.len() - before;
    assert!(left <= 101, "{left} packets for 100");
    assert_eq!(heartbeats_to_strangers(&pair), 1);
    assert_eq!(pair.statistics(End::Right).association.restarts, 49);
}

/// RFC 5061 §5.4: it becomes the primary one when it is confirmed, and not asked for that.
#[test]
fn robustness_35_wish_to_send_to_an_unconfirmed_address_makes_nobody_be_asked() {
    let mut pair = moving().build();
    let (signer, serial) = by_hand(&mut pair);
    let wishes = [request(Parameter::AddIpAddress, "10.0.1.1")];
    signer.tell(&mut pair, 0, |writer| writer.asconf(serial, ip(HAND), &wishes).unwrap());
    for round in 0..50 {
        let wish = [request(Parameter::SetPrimaryAddress, "10.0.1.1")];
        let serial = AsconfSerial::new(serial.get().wrapping_add(1 + round));
        signer.tell(&mut pair, 0, |writer| writer.asconf(serial, ip(HAND), &wish).unwrap());
    }
    assert_eq!(heartbeats_to_strangers(&pair), 1);
}

fn sources(pair: &Pair, end: End) -> Vec<Option<IpAddr>> {
    pair.statistics(end).paths.iter().map(|path| path.source).collect()
}

/// RFC 5061 §5.3 (F1), (F4): the peer has forgotten it, and would answer what comes from there with ABORT.
#[test]
fn deleted_address_that_the_host_has_again_is_not_sent_from() {
    let mut pair = moving().homes(&["10.0.0.1", "10.0.1.1"], &["10.0.0.2", "10.0.1.2"]).connected();
    let [first, second] = ["10.0.0.1", "10.0.1.1"].map(ip);
    ask(&mut pair, End::Left, AddressChange::Delete(second)).unwrap();
    for wait in [0, 1000] {
        pair.run_ms(wait);
        pair.with(End::Left, |side, now| {
            side.endpoint.local_address_down(now, first);
            side.endpoint.local_address_up(now, second);
        });
        assert!(!sources(&pair, End::Left).contains(&Some(second)), "{wait}");
        pair.with(End::Left, |side, now| side.endpoint.local_address_up(now, first));
    }
    assert_eq!(outcomes(&pair, End::Left), [AddressOutcome::Done]);
    pair.send(End::Left, ordered(0, 1, 100));
    pair.run_ms(1000);
    assert_eq!(pair.payloads(End::Right).len(), 1);
}

/// RFC 5061 §5.1 (A7): what was waiting for an answer goes in one ASCONF, and the last of it is what holds.
#[test]
fn address_that_one_request_adds_and_the_next_deletes_is_not_sent_from() {
    let mut pair = moving().homes(&["10.0.0.1", "10.0.1.1"], &["10.0.0.2", "10.0.1.2"]).connected();
    let second = ip("10.0.1.1");
    for change in [AddressChange::Delete(second), AddressChange::Add(second), AddressChange::Delete(second)] {
        ask(&mut pair, End::Left, change).unwrap();
    }
    pair.run_ms(100);
    assert_eq!(outcomes(&pair, End::Left), [AddressOutcome::Done; 3]);
    assert_eq!((asconf(&pair, End::Left).sent, peer_addresses(&pair, End::Right)), (2, vec![ip("10.0.0.1")]));
    pair.with(End::Left, |side, now| side.endpoint.local_address_down(now, ip("10.0.0.1")));
    assert!(!sources(&pair, End::Left).contains(&Some(second)));
}

/// RFC 5061 §5.3 (F2) lets the host use it then, which it cannot.
#[test]
fn address_that_is_lost_before_the_peer_has_added_it_is_not_sent_from_until_it_is_back() {
    let [old, new] = ["10.0.0.1", "10.0.0.5"].map(ip);
    for automatic in [AutomaticAddresses::Off, AutomaticAddresses::On] {
        let setup = moving_from_one_address();
        let mut pair = setup.configure(|config| config.paths.automatic_addresses = automatic).connected();
        ask(&mut pair, End::Left, AddressChange::Add(new)).unwrap();
        pair.with(End::Left, |side, now| side.endpoint.local_address_down(now, new));
        pair.run_ms(200);
        pair.with(End::Left, |side, now| side.endpoint.local_address_down(now, old));
        assert_eq!(sources(&pair, End::Left), [None], "{automatic:?}");
        pair.with(End::Left, |side, now| side.endpoint.local_address_up(now, new));
        pair.send(End::Left, ordered(0, 1, 100));
        pair.run_ms(1000);
        assert_eq!((sources(&pair, End::Left), pair.payloads(End::Right).len()), (vec![Some(new)], 1));
    }
}

/// That the peer has added it is no news of the host.
#[test]
fn automatic_addresses_do_not_add_again_what_the_user_adds_and_deletes() {
    let setup = moving_from_one_address();
    let mut pair =
        setup.configure(|config| config.paths.automatic_addresses = AutomaticAddresses::On).connected();
    for change in [AddressChange::Add(ip("10.0.0.5")), AddressChange::Delete(ip("10.0.0.5"))] {
        ask(&mut pair, End::Left, change).unwrap();
    }
    pair.run_ms(500);
    assert_eq!(outcomes(&pair, End::Left), [AddressOutcome::Done; 2]);
    assert_eq!(peer_addresses(&pair, End::Right), [ip("10.0.0.1")]);
}

/// The host has the address again before the peer has answered that it forgot it.
#[test]
fn automatic_address_that_comes_back_while_it_is_deleted_is_added_again() {
    let setup = moving().homes(&["10.0.0.1", "10.0.1.1"], &["10.0.0.2", "10.0.1.2"]);
    let mut pair =
        setup.configure(|config| config.paths.automatic_addresses = AutomaticAddresses::On).connected();
    let second = ip("10.0.1.1");
    pair.with(End::Left, |side, now| {
        side.endpoint.local_address_down(now, second);
        side.endpoint.local_address_up(now, second);
    });
    pair.run_ms(1000);
    assert_eq!(outcomes(&pair, End::Left), [AddressOutcome::Done, AddressOutcome::Done]);
    assert!(peer_addresses(&pair, End::Right).contains(&second));
}

/// The peer says where it wants to be reached: that nothing was answered there for a while is not waited out.
#[test]
fn path_that_had_failed_is_asked_at_once_where_the_peer_wants_to_be_reached() {
    let mut pair = moving().two_homes().connected();
    pair.run_ms(2000);
    pair.cut_link(1);
    pair.run_ms(400_000);
    assert_eq!(pair.path_states(End::Right)[1], PathState::Inactive);
    pair.mend_link(1);
    let asked_at = pair.now_ms();
    ask(&mut pair, End::Left, AddressChange::SetPrimary(ip("10.0.1.1"))).unwrap();
    pair.run_ms(1000);
    assert_eq!(outcomes(&pair, End::Left), [AddressOutcome::Done]);
    let changes = pair.path_changes(End::Right, asked_at);
    assert_eq!(
        changes.last().map(|(_, path, state)| (*path, *state)),
        Some((1, PathState::Active)),
        "{changes:?}"
    );
    pair.send(End::Right, ordered(0, 7, 100));
    pair.run_ms(100);
    let sent = pair.sent_to(End::Right, "10.0.1.1");
    assert!(sent.last().is_some_and(|kinds| kinds.contains("DATA")), "{sent:?}");
}

/// Whoever asks for the same address again and again makes nobody ask more than once in an RTO.
#[test]
fn wish_for_a_path_that_stays_dead_is_asked_for_once_an_rto() {
    let mut pair = moving().two_homes().connected();
    pair.run_ms(2000);
    pair.cut_link(1);
    pair.run_ms(400_000);
    let before = pair.sent_to(End::Right, "10.0.1.1").len();
    for _ in 0..40 {
        ask(&mut pair, End::Left, AddressChange::SetPrimary(ip("10.0.1.1"))).unwrap();
        pair.run_ms(25);
    }
    let asked = pair.sent_to(End::Right, "10.0.1.1").len() - before;
    assert!(pair.statistics(End::Right).asconf.processed >= 20);
    // A second holds five RTO of 200 ms.
    assert!((1..=6).contains(&asked), "{asked} HEARTBEATs in a second");
}
