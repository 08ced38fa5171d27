//! Random chunks of every kind, for the properties.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::prelude::*;
use sctp_wire::{
    AddStreams, AddressRequest, AsconfSerial, Cause, CauseCode, Causes, ChunkBuf, ChunkType, ChunkTypes,
    CorrelationId, DataFlags, ErrorCauseIndication, ErrorDetectionMethod, HmacId, HmacIds, IncomingSsnReset,
    InitHeader, NextTsns, OutgoingSsnReset, PacketWriter, Parameter, ParameterType, ParameterTypes,
    Parameters, ReconfigResponse, ReconfigResult, ReconfigSequence, SctpPort, StreamId, StreamIds, TagOrigin,
    Tsn, UnknownParameter, VerificationTag,
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
            Parameter::ZeroChecksumAcceptable { edmid: ErrorDetectionMethod::new(number) },
            Parameter::SupportedExtensions(ChunkTypes::new(octets)),
            Parameter::ForwardTsnSupported,
            Parameter::AdaptationLayerIndication(number),
            Parameter::Padding(octets),
            Parameter::Random(octets),
            Parameter::ChunkList(ChunkTypes::new(octets)),
            Parameter::HmacAlgorithms(HmacIds::new(octets.as_chunks().0)),
            Parameter::Unknown(UnknownParameter {
                kind: ParameterType::new(0x80fe),
                value: octets,
                raw: &[],
            }),
        ];
        match self.pick % 3 {
            0 => self.request(),
            _ => parameters[self.pick / 3 % parameters.len()],
        }
    }

    /// A parameter of ASCONF, ASCONF-ACK or RE-CONFIG.
    fn request(&self) -> Parameter<'_> {
        let (octets, [number, other, tsn, _]) = (&self.octets[..], self.numbers);
        let correlation = CorrelationId::new(number);
        let (request, response) = (ReconfigSequence::new(number), ReconfigSequence::new(other));
        let (last_tsn, streams) = (Tsn::new(tsn), StreamIds::new(octets.as_chunks().0));
        let add = AddStreams { request, count: u16::from(self.flags) };
        let address = AddressRequest { correlation, address: self.address() };
        let next_tsns =
            (self.flags & 1 == 0).then_some(NextTsns { sender: last_tsn, receiver: Tsn::new(other) });
        let result = ReconfigResult::from(tsn % 9);
        let requests = [
            Parameter::AddIpAddress(address),
            Parameter::DeleteIpAddress(address),
            Parameter::SetPrimaryAddress(address),
            Parameter::SuccessIndication(correlation),
            Parameter::ErrorCauseIndication(ErrorCauseIndication {
                correlation,
                causes: Causes::new(octets),
            }),
            Parameter::OutgoingSsnReset(OutgoingSsnReset { request, response, last_tsn, streams }),
            Parameter::IncomingSsnReset(IncomingSsnReset { request, streams }),
            Parameter::SsnTsnReset { request },
            Parameter::ReconfigResponse(ReconfigResponse { response, result, next_tsns }),
            Parameter::AddOutgoingStreams(add),
            Parameter::AddIncomingStreams(add),
        ];
        requests[self.pick / 3 % requests.len()]
    }

    fn address(&self) -> IpAddr {
        let [number, ..] = self.numbers;
        match self.flags & 2 {
            0 => Ipv4Addr::from(number).into(),
            _ => Ipv6Addr::from(u128::from(number) << 90).into(),
        }
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
            Cause::DeleteLastAddress(octets),
            Cause::ResourceShortage(octets),
            Cause::DeleteSourceAddress(octets),
            Cause::IllegalAsconfAck,
            Cause::NoAuthorization(octets),
            Cause::UnsupportedHmacIdentifier(HmacId::new(u16::from(self.flags))),
            Cause::Unknown { code: CauseCode::new(99), value: octets },
        ];
        causes[self.pick % causes.len()]
    }

    fn chunk(&self, parts: &[Seed]) -> ChunkBuf {
        let [number, ..] = self.numbers;
        let tag = if self.flags & 1 == 0 { TagOrigin::Receiver } else { TagOrigin::Reflected };
        let parameters: Vec<_> = parts.iter().map(Seed::parameter).collect();
        let causes: Vec<_> = parts.iter().map(Seed::cause).collect();
        match self.pick % 22 {
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
            13 => self.with_octets(ChunkType::AUTH, 0, 1, &self.octets),
            14 => self.i_data(),
            15 => {
                self.with_octets(ChunkType::FORWARD_TSN, 0, 1, self.octets.as_chunks::<4>().0.as_flattened())
            }
            16 => self.i_forward_tsn(parts),
            17 => ChunkBuf::asconf(AsconfSerial::new(number), self.address(), &parameters).unwrap(),
            18 => ChunkBuf::asconf_ack(AsconfSerial::new(number), &parameters).unwrap(),
            19 => ChunkBuf::re_config(&parameters).unwrap(),
            20 => self.with_octets(ChunkType::PAD, 0, 0, &vec![0; self.octets.len()]),
            _ => self.with_octets(ChunkType::new(0xbf), self.flags, 0, &self.octets),
        }
    }

    fn with_octets(&self, kind: ChunkType, flags: u8, numbers: usize, octets: &[u8]) -> ChunkBuf {
        ChunkBuf::encode(kind, flags, |value| {
            self.numbers.iter().take(numbers).for_each(|number| value.u32(*number));
            value.bytes(octets);
        })
        .unwrap()
    }

    fn i_data(&self) -> ChunkBuf {
        ChunkBuf::encode(ChunkType::I_DATA, DataFlags::from(self.flags).bits(), |value| {
            value.u32(self.numbers[0]);
            value.u16(u16::from(self.flags));
            value.u16(0);
            value.u32(self.numbers[1]);
            value.u32(self.numbers[2]);
            value.bytes(&self.octets);
        })
        .unwrap()
    }

    fn i_forward_tsn(&self, parts: &[Seed]) -> ChunkBuf {
        ChunkBuf::encode(ChunkType::I_FORWARD_TSN, 0, |value| {
            value.u32(self.numbers[0]);
            for part in parts {
                value.u16(u16::from(part.flags));
                value.u16(u16::from(part.flags & 1));
                value.u32(part.numbers[0]);
            }
        })
        .unwrap()
    }

    fn data(&self) -> ChunkBuf {
        self.with_octets(ChunkType::DATA, DataFlags::from(self.flags).bits(), 3, &self.octets)
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
