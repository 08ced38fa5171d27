//! Authenticated chunks (RFC 4895): between two ends, and against a peer that gets it wrong.

use hmac::{Hmac, KeyInit, Mac};
use sctp_core::{
    AssociationConfig, AssociationError, AuthKeyError, AuthKeys, AuthenticationStatistics, Capability,
    ChunkSet, ChunkType, EndpointConfig, Event, HmacAlgorithm, HmacPreference, KeyOwner, Offer,
    ProtocolViolation, SharedKeyId,
};
use sctp_wire::{
    Cause, Chunk, ChunkBuf, ChunkTypes, HmacIds, PacketWriter, Parameter, TagOrigin, encode_parameters,
};
use sha1::Sha1;

use crate::by_hand::{Hand, with_tag};
use crate::net::{End, LEFT_PORT, Pair, RIGHT_PORT, Setup, is_up, ordered, port};

fn key(id: u16) -> SharedKeyId {
    SharedKeyId::new(id)
}

/// Both ends take these only when authenticated.
fn demanding(chunks: &[ChunkType]) -> Setup {
    let chunks: ChunkSet = chunks.iter().copied().collect();
    Setup::signalling().configure(|config| {
        config.extensions.authentication = Offer::On;
        config.authentication.chunks = chunks;
    })
}

fn authentication(pair: &Pair, end: End) -> AuthenticationStatistics {
    pair.statistics(end).authentication
}

fn is_restart(event: &Event) -> bool {
    matches!(event, Event::Restart { .. })
}

/// Packets of an end in which one of these chunks stands without AUTH in front of it.
fn unsigned(pair: &Pair, end: End, kinds: &[&str]) -> Vec<String> {
    let log = pair.log(end, 0).into_iter();
    let is_bare = |line: &String| {
        let chunks: Vec<_> = line.split(' ').skip(1).collect();
        let signed_from = chunks.iter().position(|kind| *kind == "AUTH").unwrap_or(chunks.len());
        chunks[..signed_from].iter().any(|kind| kinds.contains(kind))
    };
    log.filter(is_bare).collect()
}

#[test]
fn demanded_chunks_travel_behind_auth_both_ways_and_fill_packets_as_before() {
    for hmacs in [HmacPreference::Sha256First, HmacPreference::Sha1First, HmacPreference::Sha1Only] {
        let setup = demanding(&[ChunkType::DATA, ChunkType::SACK])
            .configure(|config| config.authentication.hmacs = hmacs)
            .drop_from_left(&[4, 9])
            .drop_from_right(&[7]);
        let mut pair = setup.build();
        pair.connect();
        for number in 0..10 {
            pair.send(End::Left, ordered(0, number, 5000));
        }
        pair.run_ms(100);
        for number in 0..10 {
            pair.send(End::Right, ordered(0, number, 777));
        }
        pair.run_ms(10_000);
        for (end, other, octets) in [(End::Left, End::Right, 5000), (End::Right, End::Left, 777)] {
            let expected: Vec<_> = (0..10).map(|number| vec![number; octets]).collect();
            assert_eq!(pair.payloads(other), expected);
            assert_eq!(unsigned(&pair, end, &["DATA", "SACK"]), [""; 0]);
            let (sent, taken) = (authentication(&pair, end), authentication(&pair, other));
            assert!(taken.verified > 9 && sent.packets_signed >= taken.verified, "{sent:?} {taken:?}");
            let mut expected = AuthenticationStatistics::default();
            (expected.packets_signed, expected.verified) = (taken.packets_signed, taken.verified);
            assert_eq!(taken, expected);
        }
        let longest = pair.side(End::Left).sent.iter().map(|sent| sent.octets.len()).max();
        assert_eq!(longest, Some(1380), "AUTH takes its room from the data");
    }
}

#[test]
fn what_is_not_demanded_is_not_signed() {
    let mut pair = demanding(&[ChunkType::RE_CONFIG]).connected();
    pair.send(End::Left, ordered(0, 1, 5000));
    pair.run_ms(1000);
    assert_eq!(pair.payloads(End::Right), [[1; 5000]]);
    assert_eq!(authentication(&pair, End::Left), AuthenticationStatistics::default());
    assert_eq!(pair.times_of(End::Left, "AUTH", 0), [0; 0]);
}

/// RFC 4895 §6.1: RANDOM follows the rules of the tags when INITs cross.
#[test]
fn crossing_opens_and_restarts_agree_on_keys() {
    for lost in 1..=5 {
        let setup = demanding(&[ChunkType::DATA]).drop_from_left(&[lost]).drop_from_right(&[lost]);
        let mut pair = setup.build();
        pair.connect();
        pair.run_ms(5);
        pair.connect_back();
        pair.send(End::Left, ordered(0, 1, 2000));
        pair.send(End::Right, ordered(0, 2, 2000));
        pair.run_ms(20_000);
        assert_eq!((pair.count(End::Left, is_up), pair.count(End::Right, is_up)), (1, 1), "lost {lost}");
        assert_eq!(pair.payloads(End::Right), [[1; 2000]], "lost {lost}");
        assert_eq!(pair.payloads(End::Left), [[2; 2000]], "lost {lost}");
        pair.reboot(End::Left, EndpointConfig::new(port(LEFT_PORT)));
        pair.connect();
        pair.run_ms(5000);
        pair.send(End::Left, ordered(0, 3, 20));
        pair.send(End::Right, ordered(0, 4, 20));
        pair.run_ms(1000);
        assert_eq!(pair.count(End::Right, is_restart), 1);
        assert_eq!(pair.payloads(End::Right).last(), Some(&&[3; 20][..]));
        assert_eq!(pair.payloads(End::Left), [[4; 20]]);
        assert_eq!(authentication(&pair, End::Right).wrong_hmacs, 0);
    }
}

#[test]
fn stale_cookie_is_followed_by_the_same_random() {
    let mut setup = demanding(&[ChunkType::DATA]);
    setup.server.cookie_life = core::time::Duration::from_millis(30);
    let mut pair = setup.build();
    pair.connect();
    pair.send(End::Left, ordered(0, 1, 20));
    pair.run_ms(15);
    pair.impair(End::Left, netem::Impairments { delay: crate::net::ms(35), ..Default::default() });
    pair.run_ms(45);
    pair.drop_next(End::Left, &[]);
    pair.run_ms(500);
    assert_eq!(pair.times_of(End::Left, "INIT", 0).len(), 2);
    assert_eq!(pair.payloads(End::Right), [[1; 20]]);
}

fn with_keys(setup: Setup, left: &AuthKeys, right: &AuthKeys) -> Setup {
    let mut setup = setup;
    setup.client.authentication.keys = left.clone();
    setup.server.association.authentication.keys = right.clone();
    setup
}

#[test]
fn ends_with_different_keys_exchange_nothing_and_the_counters_tell() {
    let (one, other) = (AuthKeys::new(key(1), "one"), AuthKeys::new(key(1), "other"));
    let mut pair = with_keys(demanding(&[ChunkType::DATA]), &one, &other).connected();
    pair.send(End::Left, ordered(0, 1, 20));
    pair.send(End::Right, ordered(0, 2, 20));
    pair.run_ms(2000);
    assert!(pair.payloads(End::Right).is_empty() && pair.payloads(End::Left).is_empty());
    for end in [End::Left, End::Right] {
        let counted = authentication(&pair, end);
        assert!(
            counted.wrong_hmacs > 1 && counted.packets_signed > 1 && counted.verified == 0,
            "{counted:?}"
        );
        assert_eq!(pair.times_of(end, "ABORT", 0), [0; 0], "nothing is said about it");
    }
}

#[test]
fn robustness_08_end_that_has_keys_does_not_fall_back_to_the_empty_one() {
    let mut pair =
        with_keys(demanding(&[ChunkType::DATA]), &AuthKeys::default(), &AuthKeys::new(key(1), "k"))
            .connected();
    pair.send(End::Left, ordered(0, 1, 20));
    pair.run_ms(500);
    assert!(pair.payloads(End::Right).is_empty());
    assert!(authentication(&pair, End::Right).unknown_keys > 0);
}

#[test]
fn keys_are_changed_while_messages_flow() {
    let keys = AuthKeys::new(key(1), "old");
    let mut pair = with_keys(demanding(&[ChunkType::DATA, ChunkType::SACK]), &keys, &keys).connected();
    for step in 0..200_usize {
        let mut change = |end, change: &dyn Fn(&mut sctp_core::Endpoint, KeyOwner)| {
            pair.with(end, |side, _| change(&mut side.endpoint, KeyOwner::Association(side.id.unwrap())));
        };
        let set =
            |endpoint: &mut sctp_core::Endpoint, owner| endpoint.set_auth_key(owner, key(2), "new").unwrap();
        let activate =
            |endpoint: &mut sctp_core::Endpoint, owner| endpoint.activate_auth_key(owner, key(2)).unwrap();
        let delete =
            |endpoint: &mut sctp_core::Endpoint, owner| endpoint.delete_auth_key(owner, key(1)).unwrap();
        match step {
            40 => change(End::Left, &set),
            60 => change(End::Right, &set),
            80 => change(End::Left, &activate),
            100 => change(End::Right, &activate),
            150 => {
                change(End::Left, &delete);
                change(End::Right, &delete);
            }
            _ => {}
        }
        pair.send(End::Left, ordered(0, step, 100));
        pair.send(End::Right, ordered(0, step, 100));
        pair.run_ms(1);
    }
    pair.run_ms(500);
    for end in [End::Left, End::Right] {
        let expected: Vec<_> = (0..200_usize).map(|step| vec![step.to_le_bytes()[0]; 100]).collect();
        assert_eq!(pair.payloads(end), expected);
        assert_eq!(pair.count(end, |event| *event == Event::NewPeerKey(key(2))), 1);
        let counted = authentication(&pair, end);
        assert_eq!((counted.wrong_hmacs, counted.unknown_keys, counted.unauthenticated_chunks), (0, 0, 0));
        assert_eq!(pair.statistics(end).sender.retransmissions, 0);
    }
}

#[test]
fn keys_that_do_not_exist_or_are_in_use_are_kept_apart() {
    let mut pair = demanding(&[ChunkType::DATA]).connected();
    pair.with(End::Left, |side, _| {
        let owner = KeyOwner::Association(side.id.unwrap());
        let endpoint = &mut side.endpoint;
        assert_eq!(endpoint.activate_auth_key(owner, key(9)), Err(AuthKeyError::Unknown(key(9))));
        assert_eq!(endpoint.delete_auth_key(owner, key(9)), Err(AuthKeyError::Unknown(key(9))));
        assert_eq!(endpoint.delete_auth_key(owner, key(0)), Err(AuthKeyError::Active(key(0))));
        endpoint.set_auth_key(KeyOwner::Accepted, key(9), "later").unwrap();
        endpoint.activate_auth_key(KeyOwner::Accepted, key(9)).unwrap();
        endpoint.delete_auth_key(KeyOwner::Accepted, key(0)).unwrap();
    });
}

/// Robustness against downgrade: who took the parameters out does not matter.
#[test]
fn peer_that_cannot_authenticate_is_refused_where_it_must() {
    let refused = |client: bool| {
        let mut setup = demanding(&[ChunkType::DATA]);
        let plain = if client { &mut setup.client } else { &mut setup.server.association };
        *plain = AssociationConfig::default();
        plain.extensions = sctp_core::Extensions::NONE;
        let mut pair = setup.build();
        pair.connect();
        pair.run_ms(1000);
        assert_eq!(pair.side(End::Right).endpoint.association_count(), 0);
        pair.endings(End::Left)
    };
    match &refused(true)[..] {
        [Err(AssociationError::Refused(error))] => assert_eq!(error.cause, Some(13)),
        other => panic!("{other:?}"),
    }
    assert_eq!(refused(false), [Err(ProtocolViolation::NoAuthentication.into())]);
}

#[test]
fn peer_without_authentication_is_welcome_where_nothing_is_demanded() {
    let mut setup = demanding(&[]);
    setup.client.extensions.authentication = Offer::Off;
    let mut pair = setup.connected();
    pair.send(End::Left, ordered(0, 1, 20));
    pair.run_ms(500);
    assert_eq!(pair.payloads(End::Right), [[1; 20]]);
    let side = pair.side(End::Right);
    let capabilities = side.endpoint.association(side.id.unwrap()).unwrap().capabilities();
    assert!(!capabilities.has(Capability::Authentication));
}

/// A peer written by hand that has its own idea of RFC 4895 §6.1 and §6.2.
pub(crate) struct Signer {
    pub(crate) hand: Hand,
    association_key: Vec<u8>,
}

impl Signer {
    /// Offers RANDOM and SHA-1, and wants nothing authenticated itself.
    fn new(pair: &mut Pair, tag: u32) -> Self {
        Self::offering(pair, tag, &[])
    }

    /// The same, and something else.
    pub(crate) fn offering(pair: &mut Pair, tag: u32, more: &[Parameter<'_>]) -> Self {
        let mut hand = Hand::new(LEFT_PORT, tag);
        let mine = [Parameter::Random(&[9; 32]), Parameter::HmacAlgorithms(HmacIds::SHA_1)];
        hand.init_with(pair, &[&mine, more].concat());
        let answer = pair.side(End::Right).sent.last().unwrap().clone();
        let Some(Ok(Chunk::InitAck(ack))) = answer.packet().chunks().next() else {
            panic!("{}", answer.kinds())
        };
        let is_material = |parameter: &Parameter<'_>| {
            matches!(parameter, Parameter::Random(_) | Parameter::ChunkList(_) | Parameter::HmacAlgorithms(_))
        };
        let vector = |parameters: Vec<Parameter<'_>>| -> Vec<u8> {
            parameters.iter().flat_map(|parameter| encode_parameters(&[*parameter]).unwrap()).collect()
        };
        let theirs = vector(ack.parameters.iter().flatten().filter(is_material).collect());
        // Mine is the shorter one, and so the smaller number: both begin with 0x80.
        let association_key = [vector(mine.to_vec()), theirs].concat();
        Self { hand, association_key }
    }

    fn established(pair: &mut Pair) -> Self {
        let signer = Self::new(pair, 5);
        signer.hand.echo(pair);
        assert_eq!(pair.count(End::Right, is_up), 1);
        signer
    }

    /// A packet signed with key `id`, which is empty.
    pub(crate) fn tell(&self, pair: &mut Pair, id: u16, write: impl FnOnce(&mut PacketWriter<'_>)) {
        self.hand.tell(pair, |writer| {
            writer.auth(key(id), HmacAlgorithm::Sha1).unwrap();
            write(writer);
            writer.sign(|octets, hmac| {
                let keyed = Hmac::<Sha1>::new_from_slice(&self.association_key).unwrap();
                hmac.copy_from_slice(&keyed.chain_update(octets).finalize().into_bytes());
            });
        });
    }
}

#[test]
fn signature_made_by_hand_is_accepted_and_a_bare_chunk_is_dropped_without_a_word() {
    let mut pair = demanding(&[ChunkType::DATA]).build();
    let mut signer = Signer::established(&mut pair);
    let header = signer.hand.data_header(0);
    let before = pair.side(End::Right).sent.len();
    signer.hand.tell(&mut pair, |writer| writer.data(&header, b"forged").unwrap());
    pair.run_ms(1000);
    assert_eq!(pair.side(End::Right).sent.len(), before, "no SACK, no ERROR, no ABORT");
    signer.hand.tell(&mut pair, |writer| {
        writer.heartbeat(b"not demanded").unwrap();
        writer.data(&header, b"forged").unwrap();
    });
    assert_eq!(pair.side(End::Right).sent.last().unwrap().kinds(), "HEARTBEAT_ACK");
    assert_eq!(authentication(&pair, End::Right).unauthenticated_chunks, 2);
    signer.tell(&mut pair, 0, |writer| writer.data(&header, b"signed").unwrap());
    pair.run_ms(1000);
    assert_eq!(pair.payloads(End::Right), [b"signed"]);
    assert_eq!(authentication(&pair, End::Right).verified, 1);
}

/// RFC 4895 §6.3.
#[test]
fn robustness_08_wrong_hmac_or_unknown_key_drops_the_rest_of_the_packet_without_a_word() {
    let mut pair = demanding(&[ChunkType::DATA]).build();
    let mut signer = Signer::established(&mut pair);
    let before = pair.side(End::Right).sent.len();
    let header = signer.hand.data_header(0);
    signer.tell(&mut pair, 3, |writer| writer.data(&header, b"key 3").unwrap());
    signer.association_key.push(1);
    signer.tell(&mut pair, 0, |writer| {
        writer.heartbeat(b"behind AUTH").unwrap();
        writer.data(&header, b"wrong").unwrap();
    });
    signer.hand.tell(&mut pair, |writer| {
        writer.chunk(ChunkType::AUTH, 0, |value| value.bytes(&[0, 0, 0, 1])).unwrap();
        writer.data(&header, b"no HMAC at all").unwrap();
    });
    pair.run_ms(1000);
    assert_eq!(pair.side(End::Right).sent.len(), before);
    let counted = authentication(&pair, End::Right);
    assert_eq!((counted.unknown_keys, counted.wrong_hmacs, counted.verified), (1, 2, 0));
    assert!(pair.payloads(End::Right).is_empty());
}

/// RFC 4895 §4.1, §6.3.
#[test]
fn hmac_that_was_not_offered_is_reported_and_the_rest_dropped() {
    let setup = demanding(&[ChunkType::DATA])
        .configure(|config| config.authentication.hmacs = HmacPreference::Sha1Only);
    let mut pair = setup.build();
    let mut signer = Signer::established(&mut pair);
    let header = signer.hand.data_header(0);
    for id in [2_u16, 3, 77] {
        signer.hand.tell(&mut pair, |writer| {
            let body = [&[0, 0][..], &id.to_be_bytes(), &[0; 32]].concat();
            writer.chunk(ChunkType::AUTH, 0, |value| value.bytes(&body)).unwrap();
            writer.data(&header, b"nobody knows").unwrap();
        });
        let answer = pair.side(End::Right).sent.last().unwrap();
        let Some(Ok(Chunk::Error(causes))) = answer.packet().chunks().next() else {
            panic!("{}", answer.kinds())
        };
        let cause = causes.iter().next().unwrap().unwrap();
        assert_eq!(cause, Cause::UnsupportedHmacIdentifier(sctp_wire::HmacId::new(id)));
    }
    assert_eq!(authentication(&pair, End::Right).unsupported_hmacs, 3);
    assert!(pair.payloads(End::Right).is_empty());
}

/// RFC 4895 §5.1.
#[test]
fn second_auth_chunk_in_a_packet_is_not_looked_at() {
    let mut pair = demanding(&[ChunkType::DATA]).build();
    let mut signer = Signer::established(&mut pair);
    let (first, second) = (signer.hand.data_header(0), signer.hand.data_header(0));
    signer.tell(&mut pair, 0, |writer| {
        writer.data(&first, b"first").unwrap();
        writer.chunk(ChunkType::AUTH, 0, |value| value.bytes(&[0; 24])).unwrap();
        writer.data(&second, b"second").unwrap();
    });
    assert_eq!(pair.payloads(End::Right), [b"first"]);
    assert_eq!(authentication(&pair, End::Right).repeated, 1);
}

/// RFC 4895 §6.1.
#[test]
fn random_of_another_length_than_32_octets_ends_the_attempt_with_cause_13() {
    let mut pair = demanding(&[]).build();
    let odd = [Parameter::Random(&[9; 31]), Parameter::HmacAlgorithms(HmacIds::SHA_1)];
    Hand::new(LEFT_PORT, 5).init_with(&mut pair, &odd);
    let cause_of = |pair: &Pair| {
        let answer = pair.side(End::Right).sent.last().unwrap();
        let Some(Ok(Chunk::Abort(abort))) = answer.packet().chunks().next() else {
            panic!("{}", answer.kinds())
        };
        abort.causes.iter().next().unwrap().unwrap().code().get()
    };
    assert_eq!(cause_of(&pair), 13);
    pair.cut();
    pair.connect_back();
    let init = pair.side(End::Right).sent.last().unwrap().clone();
    let Some(Ok(Chunk::Init(init))) = init.packet().chunks().next() else { panic!("{}", init.kinds()) };
    let answer = with_tag(LEFT_PORT, RIGHT_PORT, init.initiate_tag.get(), |writer| {
        let parameters = [Parameter::StateCookie(b"cookie"), odd[0], odd[1]];
        writer.init_ack(&Hand::new(LEFT_PORT, 6).header(), &parameters).unwrap();
    });
    pair.inject(End::Right, crate::net::LEFT, &answer);
    assert_eq!(cause_of(&pair), 13);
    assert_eq!(pair.endings(End::Right), [Err(ProtocolViolation::RandomLength { octets: 31 }.into())]);
}

#[test]
fn init_ack_mentions_authentication_only_to_who_does_it() {
    let mut pair = demanding(&[]).build();
    let announced = |pair: &mut Pair, parameters: &[Parameter<'_>]| {
        Hand::new(LEFT_PORT, 5).init_with(pair, parameters);
        let answer = pair.side(End::Right).sent.last().unwrap();
        let Some(Ok(Chunk::InitAck(ack))) = answer.packet().chunks().next() else {
            panic!("{}", answer.kinds())
        };
        ack.parameters.iter().flatten().any(|parameter| matches!(parameter, Parameter::Random(_)))
    };
    let (random, sha_1) = (Parameter::Random(&[1; 32]), Parameter::HmacAlgorithms(HmacIds::SHA_1));
    let unknown = [[0, 2]];
    assert!(announced(&mut pair, &[random, sha_1]));
    assert!(!announced(&mut pair, &[]));
    assert!(!announced(&mut pair, &[random]));
    assert!(!announced(&mut pair, &[random, Parameter::HmacAlgorithms(HmacIds::new(&unknown))]));
    assert!(!announced(&mut pair, &[Parameter::ChunkList(ChunkTypes::new(&[0])), sha_1]));
}

/// RFC 4895 §6.3: AUTH, then COOKIE ECHO, and no association yet.
#[test]
fn where_cookie_echo_is_demanded_only_who_knows_the_key_gets_in() {
    let secret = AuthKeys::new(key(1), "ours");
    for (client, is_let_in) in [(&secret, true), (&AuthKeys::new(key(1), "theirs"), false)] {
        let mut pair = with_keys(demanding(&[ChunkType::COOKIE_ECHO]), client, &secret).build();
        pair.connect();
        pair.send(End::Left, ordered(0, 1, 20));
        pair.run_ms(900);
        assert_eq!(pair.count(End::Right, is_up), usize::from(is_let_in));
        assert_eq!(pair.payloads(End::Right).len(), usize::from(is_let_in));
        assert_eq!(unsigned(&pair, End::Left, &["COOKIE_ECHO"]), [""; 0]);
        let endpoint = &pair.side(End::Right).endpoint;
        assert_eq!(endpoint.statistics().handshake.unauthenticated_cookies > 0, !is_let_in);
        assert_eq!(endpoint.association_count(), usize::from(is_let_in));
    }
}

#[test]
fn cookie_echo_without_auth_makes_no_association_where_it_is_demanded() {
    let mut pair = demanding(&[ChunkType::COOKIE_ECHO]).build();
    let signer = Signer::new(&mut pair, 5);
    let before = pair.side(End::Right).sent.len();
    signer.hand.echo(&mut pair);
    assert_eq!(pair.side(End::Right).endpoint.association_count(), 0);
    assert_eq!(pair.side(End::Right).sent.len(), before);
    assert_eq!(pair.side(End::Right).endpoint.statistics().handshake.unauthenticated_cookies, 1);
    let cookie = signer.hand.cookie().to_vec();
    signer.tell(&mut pair, 0, |writer| writer.cookie_echo(&cookie).unwrap());
    assert_eq!(pair.count(End::Right, is_up), 1);
}

/// RFC 4895 §6.3: whoever restarts has to know the key of the association that it replaces; what stands behind its
/// COOKIE ECHO counts, though the keys are new ones.
#[test]
fn restart_is_signed_with_the_key_of_the_old_association_where_cookie_echo_is_demanded() {
    let mut pair = demanding(&[ChunkType::COOKIE_ECHO, ChunkType::DATA]).build();
    let old = Signer::new(&mut pair, 5);
    let cookie = old.hand.cookie().to_vec();
    old.tell(&mut pair, 0, |writer| writer.cookie_echo(&cookie).unwrap());
    let mut new = Signer::new(&mut pair, 6);
    let cookie = new.hand.cookie().to_vec();
    new.tell(&mut pair, 0, |writer| writer.cookie_echo(&cookie).unwrap());
    assert_eq!(pair.count(End::Right, is_restart), 0, "signed with the new key");
    let header = new.hand.data_header(0);
    let by_old_key = Signer { association_key: old.association_key, ..new };
    by_old_key.tell(&mut pair, 0, |writer| {
        writer.cookie_echo(&cookie).unwrap();
        writer.data(&header, b"at once").unwrap();
    });
    assert_eq!(pair.count(End::Right, is_restart), 1);
    assert_eq!(pair.payloads(End::Right), [b"at once"]);
}

/// RFC 4895 §6.3: with ABORT in the list, nobody without the key ends the association.
#[test]
fn unsigned_abort_is_ignored_where_abort_is_demanded() {
    let mut pair = demanding(&[ChunkType::ABORT]).build();
    let signer = Signer::established(&mut pair);
    signer.hand.abort(&mut pair);
    // What was never sent is acknowledged: the same in disguise.
    signer.hand.sack(&mut pair, 9, 100_000, &[]);
    assert_eq!(pair.endings(End::Right), []);
    assert_eq!(authentication(&pair, End::Right).unauthenticated_chunks, 2);
    let abort = ChunkBuf::abort(TagOrigin::Receiver, &[]).unwrap();
    signer.tell(&mut pair, 0, |writer| writer.raw(&abort).unwrap());
    assert_eq!(pair.endings(End::Right).len(), 1);
}
