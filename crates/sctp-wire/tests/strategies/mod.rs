//! Random chunks of every kind, for the properties.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::prelude::*;
use sctp_wire::{
    Cause, CauseCode, ChunkBuf, ChunkType, DataFlags, InitHeader, PacketWriter, Parameter, ParameterType,
    ParameterTypes, Parameters, SctpPort, StreamId, TagOrigin, Tsn, UnknownParameter, VerificationTag,
};

/// Raw material for one parameter, cause or chunk.
#[derive(Clone, Debug)]
pub(crate) struct Seed {
    pick: usize,
    flags: u8,
    numbers: [u32; 4],
    octets: Vec<u8>,
}

pub(crate) fn seed() -> impl Strategy<Value = Seed> {
    (any::<usize>(), any::<u8>(), any::<[u32; 4]>(), vec(any::<u8>(), 0..40))
        .prop_map(|(pick, flags, numbers, octets)| Seed { pick, flags, numbers, octets })
}

/// A whole packet of up to `most` chunks.
pub(crate) fn packet(most: usize) -> impl Strategy<Value = Vec<u8>> {
    vec((seed(), vec(seed(), 0..5)), 0..most).prop_map(|chunks| {
        let mut buffer = Vec::new();
        let port = SctpPort::new(7626).unwrap();
        let mut writer = PacketWriter::begin(&mut buffer, port, port, VerificationTag::new(9), 60_000);
        for (head, parts) in &chunks {
            writer.raw(&head.chunk(parts)).unwrap();
        }
        let _ = writer.finish();
        buffer
    })
}

impl Seed {
    fn parameter(&self) -> Parameter<'_> {
        let (octets, [number, ..]) = (&self.octets[..], self.numbers);
        let parameters = [
            Parameter::HeartbeatInfo(octets),
            Parameter::Ipv4Address(Ipv4Addr::from(number)),
            Parameter::Ipv6Address(Ipv6Addr::from(u128::from(number) << 90)),
            Parameter::StateCookie(octets),
            Parameter::UnrecognizedParameter(octets),
            Parameter::CookiePreservative { increment_ms: number },
            Parameter::HostNameAddress(octets),
            Parameter::SupportedAddressTypes(ParameterTypes::new(octets.as_chunks().0)),
            Parameter::EcnCapable,
            Parameter::ZeroChecksumAcceptable { edmid: number },
            Parameter::SupportedExtensions(octets),
            Parameter::ForwardTsnSupported,
            Parameter::AdaptationLayerIndication(number),
            Parameter::Padding(octets),
            Parameter::Unknown(UnknownParameter { kind: ParameterType::RANDOM, value: octets, raw: &[] }),
        ];
        parameters[self.pick % parameters.len()]
    }

    fn cause(&self) -> Cause<'_> {
        let (octets, [number, ..]) = (&self.octets[..], self.numbers);
        let causes = [
            Cause::InvalidStreamIdentifier(StreamId::new(u16::from(self.flags))),
            Cause::MissingMandatoryParameter(ParameterTypes::new(octets.as_chunks().0)),
            Cause::StaleCookie { staleness_us: number },
            Cause::OutOfResource,
            Cause::UnresolvableAddress(octets),
            Cause::UnrecognizedChunkType(octets),
            Cause::InvalidMandatoryParameter,
            Cause::UnrecognizedParameters(octets),
            Cause::NoUserData(Tsn::new(number)),
            Cause::CookieReceivedWhileShuttingDown,
            Cause::RestartWithNewAddresses(Parameters::new(octets)),
            Cause::UserInitiatedAbort(octets),
            Cause::ProtocolViolation(octets),
            Cause::Unknown { code: CauseCode::NO_AUTHORIZATION, value: octets },
        ];
        causes[self.pick % causes.len()]
    }

    fn chunk(&self, parts: &[Seed]) -> ChunkBuf {
        let [number, ..] = self.numbers;
        let tag = if self.flags & 1 == 0 { TagOrigin::Receiver } else { TagOrigin::Reflected };
        let parameters: Vec<_> = parts.iter().map(Seed::parameter).collect();
        let causes: Vec<_> = parts.iter().map(Seed::cause).collect();
        match self.pick % 14 {
            0 => self.data(),
            1 => ChunkBuf::init(&self.init(), &parameters).unwrap(),
            2 => ChunkBuf::init_ack(&self.init(), &parameters).unwrap(),
            3 => self.sack(parts),
            4 => ChunkBuf::heartbeat(&self.octets).unwrap(),
            5 => ChunkBuf::heartbeat_ack(&self.octets).unwrap(),
            6 => ChunkBuf::abort(tag, &causes).unwrap(),
            7 => ChunkBuf::shutdown(Tsn::new(number)),
            8 => ChunkBuf::shutdown_ack(),
            9 => ChunkBuf::error(&causes).unwrap(),
            10 => ChunkBuf::cookie_echo(&self.octets).unwrap(),
            11 => ChunkBuf::cookie_ack(),
            12 => ChunkBuf::shutdown_complete(tag),
            _ => ChunkBuf::encode(ChunkType::I_DATA, self.flags, |value| value.bytes(&self.octets)).unwrap(),
        }
    }

    fn data(&self) -> ChunkBuf {
        ChunkBuf::encode(ChunkType::DATA, DataFlags::from(self.flags).bits(), |value| {
            self.numbers.iter().take(3).for_each(|number| value.u32(*number));
            value.bytes(&self.octets);
        })
        .unwrap()
    }

    fn sack(&self, duplicates: &[Seed]) -> ChunkBuf {
        let gaps = self.octets.as_chunks::<4>().0;
        ChunkBuf::encode(ChunkType::SACK, 0, |value| {
            value.u32(self.numbers[0]);
            value.u32(self.numbers[1]);
            value.u16(u16::try_from(gaps.len()).unwrap());
            value.u16(u16::try_from(duplicates.len()).unwrap());
            value.bytes(gaps.as_flattened());
            duplicates.iter().for_each(|duplicate| value.u32(duplicate.numbers[0]));
        })
        .unwrap()
    }

    fn init(&self) -> InitHeader {
        let [initiate_tag, a_rwnd, initial_tsn, _] = self.numbers;
        InitHeader {
            initiate_tag: VerificationTag::new(initiate_tag),
            a_rwnd,
            outbound_streams: u16::from(self.flags),
            inbound_streams: u16::from(self.flags) << 8,
            initial_tsn: Tsn::new(initial_tsn),
        }
    }
}
