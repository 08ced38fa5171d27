//! Octet vectors written by hand from the layouts of the RFCs.

use core::net::{IpAddr, Ipv4Addr};

use super::{decode, read, too_short};
use crate::chunk::*;
use crate::codepoints::{HmacId, ParameterType, PayloadProtocolId};
use crate::error::{DecodeError, Flaw, Item};
use crate::numbers::{AsconfSerial, Fsn, Mid, SharedKeyId, Ssn, StreamId, Tsn};
use crate::packet::{Checksum, Packet};
use crate::parameter::Parameter;

/// RFC 4895 §5.1.
#[test]
fn auth_decodes_and_names_what_its_hmac_covers() {
    let mut octets = vec![15, 0, 0, 28, 0, 2, 0, 1];
    octets.extend(1..=20);
    let (chunk, line) = read(&octets);
    let Chunk::Auth(auth) = chunk else { panic!("{line}") };
    assert_eq!((auth.key, auth.hmac_id), (SharedKeyId::new(2), HmacId::SHA_1));
    assert_eq!(auth.hmac, (1..=20).collect::<Vec<u8>>());
    assert_eq!(line, "AUTH key=2 SHA-1 20 B");
    assert_eq!(decode(&[15, 0, 0, 6, 0, 2, 0, 0]), Err(too_short(2, 0)));
    assert_eq!(read(&[15, 0, 0, 8, 0, 0, 0, 9]).1, "AUTH key=0 HMAC 0x09 0 B");
}

/// RFC 4895 §6.2: from the AUTH chunk on, zeros for the HMAC, padding and later chunks included.
#[test]
fn an_hmac_covers_nothing_before_its_chunk_and_everything_after() {
    for hmac_bytes in [0, 1, 20, 32, 33, 100] {
        let mut datagram = vec![0x13, 0x89, 0x1d, 0xca, 0, 0, 0, 7, 0, 0, 0, 0, 11, 0, 0, 4];
        let length = u16::try_from(8 + hmac_bytes).unwrap().to_be_bytes();
        let header = [15, 9, length[0], length[1], 0, 0, 0, 1];
        let mut behind = vec![0; (4 - hmac_bytes % 4) % 4];
        behind.extend([10, 0, 0, 5, 0xaa, 1, 2, 3, 0xff, 0xff]);
        datagram.extend(header);
        datagram.extend(vec![0xee; hmac_bytes]);
        datagram.extend(&behind);
        let packet = Packet::decode(&datagram, Checksum::Ignore).unwrap();
        let Some(Ok(Chunk::Auth(auth))) = packet.chunks().nth(1) else { panic!("{packet}") };
        let covered = auth.authenticated_octets().flatten().copied().collect::<Vec<u8>>();
        let expected = header.into_iter().chain(vec![0; hmac_bytes]).chain(behind).collect::<Vec<u8>>();
        assert_eq!(covered, expected);
    }
}

#[test]
fn hmac_algorithms_know_their_numbers() {
    for (algorithm, id, hmac_bytes) in [(HmacAlgorithm::Sha1, 1, 20), (HmacAlgorithm::Sha256, 3, 32)] {
        assert_eq!(algorithm.id(), HmacId::new(id));
        assert_eq!(HmacAlgorithm::of(HmacId::new(id)), Some(algorithm));
        assert_eq!((algorithm.hmac_bytes(), algorithm.chunk_bytes()), (hmac_bytes, hmac_bytes + 8));
    }
    assert_eq!([0, 2, 4].map(|id| HmacAlgorithm::of(HmacId::new(id))), [None; 3]);
}

/// RFC 8260 §2.1.
#[test]
fn i_data_says_the_ppid_first_and_numbers_its_later_fragments() {
    let mut octets =
        [64, 2, 0, 23, 0, 0, 0, 7, 0, 1, 0xff, 0xff, 0, 1, 0, 3, 0, 0, 0, 15, b'a', b'b', b'c', 0];
    let (chunk, line) = read(&octets);
    let Chunk::IData(data) = chunk else { panic!("{line}") };
    assert_eq!((data.tsn, data.stream, data.mid), (Tsn::new(7), StreamId::new(1), Mid::new(0x1_0003)));
    assert_eq!(data.label, FragmentLabel::Beginning(PayloadProtocolId::SIMCO));
    assert_eq!((data.label.fsn(), data.label.ppid()), (Fsn::new(0), Some(PayloadProtocolId::SIMCO)));
    assert_eq!(data.payload, b"abc");
    assert_eq!(line, "I-DATA tsn=7 stream=1 mid=65539 ppid=15 B 3 B");
    octets[1] = 0x0d;
    let (chunk, line) = read(&octets);
    let Chunk::IData(data) = chunk else { panic!("{line}") };
    assert_eq!((data.label, data.label.ppid()), (FragmentLabel::Later(Fsn::new(15)), None));
    assert_eq!(data.label.fsn(), Fsn::new(15));
    assert_eq!(line, "I-DATA tsn=7 stream=1 mid=65539 fsn=15 IUE 3 B");
    assert_eq!(decode(&[64, 3, 0, 8, 0, 0, 0, 7]), Err(too_short(16, 4)));
    assert_eq!([0, 3, 4, 5].map(IData::chunk_bytes), [20, 24, 24, 28]);
}

/// RFC 3758 §3.2.
#[test]
fn forward_tsn_lists_the_streams_it_skips_in() {
    let octets = [192, 0, 0, 16, 0, 0, 0, 9, 0, 1, 0, 3, 0, 2, 0xff, 0xff];
    let (chunk, line) = read(&octets);
    let Chunk::ForwardTsn(forward) = chunk else { panic!("{line}") };
    assert_eq!(forward.new_cumulative_tsn, Tsn::new(9));
    let first = SkippedSsn { stream: StreamId::new(1), ssn: Ssn::new(3) };
    assert_eq!((forward.skipped().next(), forward.skipped().len()), (Some(first), 2));
    assert_eq!(line, "FORWARD TSN cum=9 skip=[1:3 2:65535]");
    assert_eq!(read(&[192, 0, 0, 8, 0, 0, 0, 1]).1, "FORWARD TSN cum=1 skip=[]");
    assert_eq!(decode(&[192, 0, 0, 10, 0, 0, 0, 1, 0, 1, 0, 0]), Err(Flaw::TooLong { octets: 2 }));
}

/// RFC 8260 §2.3.1: U is the lowest of sixteen bits, the others are reserved.
#[test]
fn i_forward_tsn_tells_ordered_from_unordered_messages() {
    let octets = [194, 0, 0, 24, 0, 0, 0, 9, 0, 1, 0xff, 0xfe, 0, 1, 0, 3, 0, 2, 0, 1, 0, 0, 0, 4];
    let (chunk, line) = read(&octets);
    let Chunk::IForwardTsn(forward) = chunk else { panic!("{line}") };
    let skipped: Vec<_> =
        forward.skipped().map(|one| (one.stream.get(), one.unordered, one.mid.get())).collect();
    assert_eq!(skipped, [(1, false, 0x1_0003), (2, true, 4)]);
    assert_eq!(line, "I-FORWARD-TSN cum=9 skip=[1:65539 2:4U]");
    assert_eq!(decode(&[194, 0, 0, 12, 0, 0, 0, 9, 0, 1, 0, 0]), Err(Flaw::TooLong { octets: 4 }));
}

/// RFC 5061 §4.1.1, §4.2.1: with the example of the latter.
#[test]
fn asconf_has_an_address_to_find_it_by_and_requests() {
    let octets = [
        193, 0, 0, 32, 0, 0, 0, 5, 0, 5, 0, 8, 10, 0, 0, 1, 0xc0, 1, 0, 16, 1, 2, 0x34, 0x74, 0, 5, 0, 8,
        0xc0, 0, 2, 1,
    ];
    let (chunk, line) = read(&octets);
    let Chunk::Asconf(asconf) = chunk else { panic!("{line}") };
    assert_eq!(asconf.serial, AsconfSerial::new(5));
    assert_eq!(asconf.address, IpAddr::from([10, 0, 0, 1]));
    let Some(Ok(Parameter::AddIpAddress(request))) = asconf.requests.iter().next() else { panic!("{line}") };
    assert_eq!(request.address, Ipv4Addr::new(192, 0, 2, 1));
    assert_eq!(line, "ASCONF serial=5 10.0.0.1 [Add IP Address corr=16921716 192.0.2.1]");
}

#[test]
fn asconf_without_an_address_is_malformed() {
    assert_eq!(decode(&[193, 0, 0, 8, 0, 0, 0, 5]), Err(Flaw::NoAddress));
    assert_eq!(decode(&[193, 0, 0, 12, 0, 0, 0, 5, 0xc0, 0, 0, 4]), Err(Flaw::NoAddress));
    assert_eq!(decode(&[193, 0, 0, 15, 0, 0, 0, 5, 0, 5, 0, 7, 1, 2, 3, 0]), Err(too_short(4, 3)));
    assert_eq!(decode(&[193, 0, 0, 12, 0, 0, 0, 5, 0, 5, 0, 8]), Err(Flaw::NoAddress));
}

/// RFC 5061 §4.1.2: no answers mean success throughout.
#[test]
fn asconf_ack_lists_its_answers() {
    assert_eq!(read(&[128, 0, 0, 8, 0, 0, 0, 5]).1, "ASCONF-ACK serial=5 []");
    let octets =
        [128, 0, 0, 28, 0, 0, 0, 5, 0xc0, 5, 0, 8, 0, 0, 0, 1, 0xc0, 3, 0, 12, 0, 0, 0, 2, 0, 0xa3, 0, 4];
    let (chunk, line) = read(&octets);
    let Chunk::AsconfAck(ack) = chunk else { panic!("{line}") };
    assert_eq!((ack.serial, ack.responses.iter().count()), (AsconfSerial::new(5), 2));
    let failed = "Error Cause Indication corr=2 [Association Aborted Due to Illegal ASCONF-ACK]";
    assert_eq!(line, format!("ASCONF-ACK serial=5 [Success Indication corr=1, {failed}]"));
}

/// RFC 6525 §3.1, §4.1, §4.4.
#[test]
fn re_config_lists_requests_and_responses() {
    let octets = [
        130, 0, 0, 34, 0, 16, 0, 12, 0, 0, 0, 8, 0, 0, 0, 1, 0, 13, 0, 18, 0, 0, 0, 3, 0, 0, 0, 8, 0, 0, 0,
        9, 0, 4, 0, 0,
    ];
    let (chunk, line) = read(&octets);
    let Chunk::ReConfig(reconfig) = chunk else { panic!("{line}") };
    assert_eq!(reconfig.combination(), Some(ReconfigCombination::ResponseAndOutgoingReset));
    let response = "Re-configuration Response resp=8 performed";
    let request = "Outgoing SSN Reset Request seq=3 resp=8 last_tsn=9 streams=[4]";
    assert_eq!(line, format!("RE-CONFIG [{response}, {request}]"));
}

/// RFC 6525 §3.1: ten combinations, all others are not allowed.
#[test]
fn re_config_takes_only_the_listed_combinations() {
    let allowed = [(13, 14), (17, 18), (16, 13), (16, 16)];
    for first in 12..20 {
        let kind = ParameterType::new(first);
        let alone = ReconfigCombination::of(kind, None);
        assert_eq!(alone.is_some(), (13..=18).contains(&first), "{first}");
        for second in 12..20 {
            let found = ReconfigCombination::of(kind, Some(ParameterType::new(second)));
            let expected = allowed.contains(&(first, second)) || allowed.contains(&(second, first));
            assert_eq!(found.is_some(), expected, "{first} {second}");
        }
    }
}

#[test]
fn re_config_with_no_parameter_or_three_or_half_a_one_is_no_combination() {
    let combination = |value: &[u8]| {
        let mut octets = vec![130, 0, 0, u8::try_from(4 + value.len()).unwrap()];
        octets.extend_from_slice(value);
        let Chunk::ReConfig(reconfig) = decode(&octets).unwrap() else { panic!("no RE-CONFIG") };
        reconfig.combination()
    };
    let response = [0, 16, 0, 12, 0, 0, 0, 8, 0, 0, 0, 1];
    assert_eq!(combination(&[]), None);
    assert_eq!(combination(&response), Some(ReconfigCombination::Response));
    assert_eq!(combination(&response.repeat(2)), Some(ReconfigCombination::TwoResponses));
    assert_eq!(combination(&response.repeat(3)), None);
    assert_eq!(combination(&[&response[..], &[0, 16, 0]].concat()), None);
    // A malformed content counts by its type.
    assert_eq!(combination(&[0, 15, 0, 4]), Some(ReconfigCombination::SsnTsnReset));
}

/// RFC 4820 §3.
#[test]
fn pad_holds_whatever_fills_it() {
    assert_eq!(read(&[132, 0, 0, 7, 1, 2, 3, 0]).1, "PAD 3 B");
    assert_eq!(read(&[132, 0, 0, 4]).1, "PAD 0 B");
}

/// RFC 9260 §3.2: an extension that is not spoken is reported like any other unknown chunk.
#[test]
fn every_extension_can_be_taken_as_unknown_sound_or_not() {
    for kind in [15, 64, 128, 130, 132, 192, 193, 194] {
        let mut datagram = vec![0x13, 0x89, 0x1d, 0xca, 0, 0, 0, 7, 0, 0, 0, 0, 11, 0, 0, 4];
        let sound = [kind, 5, 0, 26, 0, 0, 0, 1, 0, 5, 0, 8, 1, 2, 3, 4, 0, 13, 0, 8, 1, 2, 3, 4, 5, 6];
        let sound = if kind > 191 && kind != 193 { &[kind, 5, 0, 8, 0, 0, 0, 1] } else { &sound[..] };
        datagram.extend(sound);
        let packet = Packet::decode(&datagram, Checksum::Ignore).unwrap();
        let unknown = packet.chunks().nth(1).unwrap().unwrap().as_unknown().unwrap();
        assert_eq!((unknown.kind.get(), unknown.flags), (kind, 5));
        assert_eq!((unknown.raw, unknown.value), (sound, &sound[4..]));
        assert!(unknown.kind.is_extension());
        assert_eq!(packet.chunks().next().unwrap().unwrap().as_unknown(), None);
    }
    let datagram = [0x13, 0x89, 0x1d, 0xca, 0, 0, 0, 7, 0, 0, 0, 0, 11, 0, 0, 4, 64, 3, 0, 6, 1, 2, 0, 0];
    let packet = Packet::decode(&datagram, Checksum::Ignore).unwrap();
    let error = packet.chunks().nth(1).unwrap().unwrap_err();
    assert_eq!(packet.undecoded(&error).unwrap().raw, [64, 3, 0, 6, 1, 2]);
    let elsewhere =
        DecodeError::Body { item: Item::Chunk(ChunkType::AUTH), offset: 11, flaw: too_short(1, 0) };
    assert_eq!(packet.undecoded(&elsewhere), None);
    assert_eq!(packet.undecoded(&DecodeError::ShortPacket { length: 0 }), None);
}
