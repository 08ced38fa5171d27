//! SCTP packets to typed values and back (RFC 9260 §3), without a clock, without IO, without allocation.
//!
//! ```text
//!  0       8       16              32
//!  ├───────┴───────┼───────────────┤
//!  │  source port  │  dest. port   │  Packet::decode checks the CRC32c and the ports,
//!  ├───────────────┴───────────────┤  borrows everything else
//!  │       verification tag        │
//!  ├───────────────────────────────┤
//!  │    CRC32c, low octet first    │
//!  ├───────┬───────┬───────────────┤
//!  │ type  │ flags │    length     │  Packet::chunks ─► Chunk::{Data, Init, Sack, …}
//!  ├───────┴───────┴───────────────┤       │
//!  │ value: fields, then …         │       ├─► Init::parameters ─► Parameter::{Ipv4Address, …}
//!  │ [type|length|value]*  padding │       └─► Abort::causes    ─► Cause::{StaleCookie, …}
//!  ├───────┬───────┬───────────────┤
//!  │ type  │ …     │               │  the next chunk begins at a multiple of 4
//! ```
//!
//! * **Reading**: [`Packet`], its [`Chunks`], their [`Parameters`] and [`Causes`] are views of the octets
//!   received. Lists are decoded while they are walked over; one malformed item gives one [`DecodeError`].
//! * **Writing**: [`PacketWriter`] puts chunks straight into the caller's buffer; [`ChunkBuf`] holds a control
//!   chunk that waits for a packet. [`Parameter`] and [`Cause`] are the same types both ways.
//! * **Numbers**: [`Tsn`], [`Ssn`] and their like are types of their own, serial ones without an order;
//!   [`ChunkType`], [`ParameterType`], [`CauseCode`], [`PayloadProtocolId`] name what is registered.
//!
//! Not here: what a value *means*. An initiate tag of 0, a window of 10 octets, DATA without data all decode,
//! because the association has to answer them (crate `sctp-core`). Chunks of extensions are decoded too; an
//! association that does not speak one takes it as unknown ([`Chunk::as_unknown`]). AUTH computes nothing here:
//! [`Auth::authenticated_octets`] and [`PacketWriter::finish_authenticated`] hand out what an HMAC covers.
//!
//! ```
//! use sctp_wire::{Checksum, Chunk, DataFlags, DataHeader, Packet, PacketWriter};
//! use sctp_wire::{PayloadProtocolId, SctpPort, Ssn, StreamId, Tsn, VerificationTag};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (here, there) = (SctpPort::try_from(5001)?, SctpPort::try_from(7626)?);
//! let header = DataHeader {
//!     tsn: Tsn::new(7),
//!     stream: StreamId::new(1),
//!     ssn: Ssn::new(3),
//!     ppid: PayloadProtocolId::SIMCO,
//!     flags: DataFlags::WHOLE,
//! };
//! let mut datagram = Vec::new();
//! let mut packet = PacketWriter::begin(&mut datagram, here, there, VerificationTag::new(0xABCD), 1200);
//! packet.sack(Tsn::new(9), 65536, [], [])?;
//! packet.data(&header, b"policy")?;
//! assert_eq!(packet.finish(), datagram.len());
//!
//! let packet = Packet::decode(&datagram, Checksum::Verify)?;
//! let Some(Ok(Chunk::Data(data))) = packet.chunks().nth(1) else { panic!("DATA comes second") };
//! assert_eq!(data.payload, b"policy");
//! assert_eq!(
//!     packet.to_string(),
//!     "5001 > 7626 tag=0x0000abcd | SACK cum=9 a_rwnd=65536 | DATA tsn=7 stream=1 ssn=3 ppid=15 BE 6 B"
//! );
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod cause;
mod checksum;
mod chunk;
mod codepoints;
mod cursor;
mod error;
mod list;
mod numbers;
mod packet;
mod parameter;
mod write;

pub use cause::{Cause, Causes, CausesIter};
pub use checksum::KnownHeader;
pub use chunk::{
    Abort, Asconf, AsconfAck, Auth, CHUNK_HEADER_BYTES, Chunk, Cookie, Data, DataFlags, DataHeader,
    ForwardTsn, FragmentLabel, GapAckBlock, HeartbeatInfo, HmacAlgorithm, IData, IDataHeader, IForwardTsn,
    Init, InitHeader, Pad, ReConfig, ReconfigCombination, Sack, Shutdown, SkippedMid, SkippedSsn, TagOrigin,
    UnknownChunk,
};
pub use codepoints::{
    CauseCode, ChunkType, ErrorDetectionMethod, HmacId, ParameterType, PayloadProtocolId, UnknownAction,
};
pub use error::{DecodeError, Flaw, Item, Layer};
pub use numbers::{
    AsconfSerial, CorrelationId, Fsn, Mid, ReconfigSequence, SctpPort, SharedKeyId, Ssn, StreamId, Tsn,
    VerificationTag, ZeroPort,
};
pub use packet::{COMMON_HEADER_BYTES, Checksum, Chunks, Packet};
pub use parameter::{
    AddStreams, AddressRequest, ChunkSet, ChunkTypes, ErrorCauseIndication, HmacIds, IncomingSsnReset,
    NextTsns, OutgoingSsnReset, Parameter, ParameterTypes, Parameters, ParametersIter, ReconfigResponse,
    ReconfigResult, StreamIds, UnknownParameter,
};
pub use write::{AuthPolicy, ChunkBuf, Full, PacketWriter, ValueWriter, encode_causes, encode_parameters};
