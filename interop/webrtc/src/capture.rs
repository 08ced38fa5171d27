//! The SCTP packets of a connection as a pcapng file, as they are inside DTLS, where Wireshark cannot look.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, PcapError};

/// An open capture file.
pub(crate) struct Capture(PcapNgWriter<BufWriter<File>>);

/// The way a packet went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    FromBrowser,
    ToBrowser,
}

impl Capture {
    /// Creates or overwrites a file.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let mut writer = PcapNgWriter::new(BufWriter::new(File::create(path)?)).map_err(into_io)?;
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::SCTP,
            snaplen: 0,
            options: vec![InterfaceDescriptionOption::IfTsResol(NANOSECONDS)],
        };
        writer.write_pcapng_block(interface).map_err(into_io)?;
        Ok(Self(writer))
    }

    /// Adds a packet, with its time since 1970, and hands it to the system: whoever ends the process loses nothing.
    pub(crate) fn add(&mut self, time: Duration, direction: Direction, packet: &[u8]) -> io::Result<()> {
        let flags = match direction {
            Direction::FromBrowser => INBOUND,
            Direction::ToBrowser => OUTBOUND,
        };
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: time,
            original_len: u32::try_from(packet.len()).unwrap_or(u32::MAX),
            data: Cow::Borrowed(packet),
            options: vec![EnhancedPacketOption::Flags(flags)],
        };
        self.0.write_pcapng_block(block).map_err(into_io)?;
        self.0.get_mut().flush()
    }
}

fn into_io(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

/// The resolution of the times, as a negative power of ten.
const NANOSECONDS: u8 = 9;
/// The two lowest bits of a packet's flags in pcapng are its direction.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;
