//! Key vectors, keys, HMACs and verdicts, beside values computed by another program from RFC 4895 §6.1 and §6.2.

use sctp_wire::{Checksum, Packet, PacketWriter, ParameterType, SctpPort, VerificationTag};

use super::*;
use crate::association::{Commons, ParameterList};
use crate::config::{AssociationConfig, AuthConfig, HmacPreference, Offer};
use crate::receiver::SpareBlocks;

fn announcement(random: [u8; 32], chunks: &[ChunkType], hmacs: HmacPreference) -> Announcement {
    let mut config = AssociationConfig::default();
    config.extensions.authentication = Offer::On;
    config.authentication =
        AuthConfig { hmacs, chunks: chunks.iter().copied().collect(), ..Default::default() };
    Announcement::ours(&Commons::new(config, SpareBlocks::within(0)), random).unwrap()
}

fn ascending() -> [u8; 32] {
    core::array::from_fn(|index| u8::try_from(index).unwrap())
}

fn descending() -> [u8; 32] {
    ascending().map(|octet| 255 - octet)
}

fn decoded(ours: &[u8]) -> Announcement {
    KeyMaterial::decode(&mut &[ours, &ascending()].concat()[..], true, None).unwrap().ours
}

/// CHUNKS in the order 193, 128, 0, as no set of ours would list them.
fn unsorted() -> Announcement {
    let mut octets = ascending().to_vec();
    octets.extend([0, 4, 0xc1, 0x80, 0x00, 2, 0, 3, 0, 1]);
    decoded(&octets)
}

/// One that signs; its mirror image verifies.
fn two_ends(keys: &AuthKeys) -> [Authentication; 2] {
    let plain = announcement(descending(), &[], HmacPreference::Sha1Only);
    [(unsorted(), plain.clone()), (plain, unsorted())].map(|(ours, peer)| {
        let mut end = Authentication::new(Some(ours));
        end.agree(Some(peer), keys);
        end
    })
}

/// AUTH and COOKIE ACK, signed by `sign`.
fn packet(key: u16, algorithm: HmacAlgorithm, sign: impl FnOnce(&[u8], &mut [u8])) -> Vec<u8> {
    let (port, mut octets) = (SctpPort::new(9).unwrap(), Vec::new());
    let mut writer = PacketWriter::begin(&mut octets, port, port, VerificationTag::new(1), 200);
    writer.auth(SharedKeyId::new(key), algorithm).unwrap();
    writer.cookie_ack().unwrap();
    let _len = writer.finish_authenticated(sign);
    octets
}

fn verdict(end: &mut Authentication, keys: &AuthKeys, octets: &[u8]) -> AuthVerdict {
    let packet = Packet::decode(octets, Checksum::Verify).unwrap();
    let Some(Ok(Chunk::Auth(auth))) = packet.chunks().next() else { panic!("AUTH comes first") };
    end.verify(keys, &auth)
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

#[test]
fn key_vectors_are_the_parameters_without_padding_rfc_4895_6_1() {
    let random = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    let expected = ["80020024", random, "80030007c18000", "8004000800030001"].concat();
    assert_eq!(hex(&unsorted().key_vector()), expected);
    let plain = announcement(descending(), &[], HmacPreference::Sha1Only).key_vector();
    assert!(hex(&plain).ends_with("e3e2e1e0800400060001"), "no CHUNKS, no place for it");
}

#[test]
fn hmacs_are_those_of_an_independent_computation_rfc_4895_6_1_6_2() {
    let rows = [
        ("", HmacAlgorithm::Sha1, "85c8bf257c2d32c7e126d1816a51a961cf953992"),
        ("", HmacAlgorithm::Sha256, "1de9130f907921056c6c793cb1ad2aaef20a91ea98e7cc02d2f3eda7fcce093d"),
        ("only the two of us", HmacAlgorithm::Sha1, "0b35df499331efac362bfb23a59b0d1244068aa3"),
        (
            "only the two of us",
            HmacAlgorithm::Sha256,
            "01e0080e0c4e978a7518fd5cf4a85637bb379a3c177dfb297c01acddf5131f00",
        ),
    ];
    for (secret, algorithm, expected) in rows {
        let keys = AuthKeys::new(SharedKeyId::new(7), secret);
        for mut end in two_ends(&keys) {
            let mut found = String::new();
            packet(7, algorithm, |octets, hmac| {
                end.announced.as_mut().unwrap().agreed.as_mut().unwrap().hmac = algorithm;
                end.sign(&keys, octets, hmac);
                found = hex(hmac);
            });
            assert_eq!(found, expected, "{secret:?} {algorithm:?}");
        }
    }
}

#[test]
fn only_the_right_key_and_an_offered_hmac_convince_rfc_4895_6_3() {
    let keys = AuthKeys::new(SharedKeyId::new(7), "secret");
    let [mut one, mut other] = two_ends(&keys);
    let mut both = keys.clone();
    both.set(SharedKeyId::new(8), "another");
    let right = packet(7, HmacAlgorithm::Sha1, |octets, hmac| one.sign(&keys, octets, hmac));
    assert_eq!(verdict(&mut other, &keys, &right), AuthVerdict::Authentic);
    assert_eq!(one.statistics.get().packets_signed, 1);
    let wrong = AuthKeys::new(SharedKeyId::new(7), "Secret");
    other.on_keys_changed();
    assert_eq!(verdict(&mut other, &wrong, &right), AuthVerdict::WrongHmac);
    assert_eq!(verdict(&mut other, &AuthKeys::default(), &right), AuthVerdict::UnknownKey);
    let null = packet(0, HmacAlgorithm::Sha1, |octets, hmac| one.sign(&AuthKeys::default(), octets, hmac));
    assert_eq!(verdict(&mut other, &keys, &null), AuthVerdict::UnknownKey, "no way back to the empty key");
    let not_offered = packet(7, HmacAlgorithm::Sha256, |_, _| {});
    assert_eq!(verdict(&mut other, &keys, &not_offered), AuthVerdict::UnsupportedHmac(HmacId::SHA_256));
    let counted = other.statistics.get();
    assert_eq!((counted.verified, counted.wrong_hmacs, counted.unknown_keys), (1, 1, 2));
    assert_eq!(counted.unsupported_hmacs, 1);
    one.on_keys_changed();
    both.activate(SharedKeyId::new(8)).unwrap();
    let changed = packet(8, HmacAlgorithm::Sha1, |octets, hmac| one.sign(&both, octets, hmac));
    assert_eq!(verdict(&mut other, &both, &changed), AuthVerdict::AuthenticByNewKey(SharedKeyId::new(8)));
    assert_eq!(verdict(&mut other, &both, &changed), AuthVerdict::Authentic);
}

#[test]
fn every_changed_octet_behind_auth_is_noticed() {
    let keys = AuthKeys::default();
    let [mut one, mut other] = two_ends(&keys);
    let octets = packet(0, HmacAlgorithm::Sha1, |octets, hmac| one.sign(&keys, octets, hmac));
    // The type and length of AUTH would make it another chunk; its flags, key and all that follows are covered.
    for position in (13..octets.len()).filter(|position| ![14, 15].contains(position)) {
        let mut changed = octets.clone();
        changed[position] ^= 1;
        let packet = Packet::decode(&changed, Checksum::Ignore).unwrap();
        let Some(Ok(Chunk::Auth(auth))) = packet.chunks().next() else { panic!("{packet}") };
        assert!(other.verify(&keys, &auth) != AuthVerdict::Authentic, "octet {position}");
    }
}

#[test]
fn chunks_that_cannot_be_authenticated_are_ignored_in_the_list_of_a_peer_rfc_4895_3_2() {
    let mut octets = ascending().to_vec();
    octets.extend([0, 7, 1, 2, 14, 15, 0, 0x80, 1, 0, 1]);
    let demanded: Vec<_> = decoded(&octets).accepted_authenticated_only().iter().collect();
    assert_eq!(demanded, [ChunkType::DATA, ChunkType::ASCONF_ACK]);
}

#[test]
fn announcement_survives_the_cookie_and_a_short_one_does_not_parse() {
    let empty_list = decoded(&[&ascending()[..], &[0, 1, 0]].concat());
    for announcement in [unsorted(), announcement(descending(), &[], HmacPreference::Sha1First), empty_list] {
        let material = KeyMaterial { ours: unsorted(), peer: announcement };
        let (mut octets, is_alike) = (Vec::new(), material.is_alike());
        material.encode(&mut octets);
        for length in 0..octets.len() {
            assert_eq!(KeyMaterial::decode(&mut &octets[..length], is_alike, None), None, "{length}");
        }
        octets.push(0xee);
        let mut rest = &octets[..];
        assert_eq!(KeyMaterial::decode(&mut rest, is_alike, None), Some(material));
        assert_eq!(rest, [0xee]);
    }
}

#[test]
fn what_a_peer_announces_is_taken_whole_or_not_at_all() {
    let ours = announcement(ascending(), &[ChunkType::DATA], HmacPreference::Sha256First);
    let found = |without: Option<ParameterType>| {
        let mut found = Found::default();
        let mut parameters = ParameterList::new();
        ours.add_to(&mut parameters);
        parameters.iter().filter(|parameter| Some(parameter.kind()) != without).for_each(|p| found.note(*p));
        found.announcement(None)
    };
    assert_eq!(found(None), Ok(Some(ours.clone())));
    assert_eq!(found(Some(ParameterType::RANDOM)), Ok(None));
    assert_eq!(found(Some(ParameterType::HMAC_ALGORITHMS)), Ok(None));
    assert!(matches!(found(Some(ParameterType::CHUNK_LIST)), Ok(Some(_))));
    let mut found = Found::default();
    found.note(sctp_wire::Parameter::Random(&[0; 31]));
    assert_eq!(found.announcement(None), Err(WrongRandomLength { octets: 31 }));
    let unknown = [[0, 2], [0, 0]];
    let mut found = Found::default();
    found.note(sctp_wire::Parameter::Random(&[0; 32]));
    found.note(sctp_wire::Parameter::HmacAlgorithms(sctp_wire::HmacIds::new(&unknown)));
    assert_eq!(found.announcement(None), Ok(None), "no HMAC in common");
}

#[test]
fn first_hmac_of_the_peer_that_is_known_signs_rfc_4895_6_1() {
    for (hmacs, expected) in [
        (HmacPreference::Sha256First, HmacAlgorithm::Sha256),
        (HmacPreference::Sha1First, HmacAlgorithm::Sha1),
        (HmacPreference::Sha1Only, HmacAlgorithm::Sha1),
    ] {
        let mut end = Authentication::new(Some(announcement(ascending(), &[], HmacPreference::Sha1Only)));
        end.agree(Some(announcement(descending(), &[ChunkType::DATA], hmacs)), &AuthKeys::default());
        let policy = end.policy(&AuthKeys::default()).unwrap();
        assert_eq!(policy.algorithm, expected);
        assert_eq!(end.data_overhead_bytes(&AuthKeys::default()), expected.chunk_bytes());
    }
}
