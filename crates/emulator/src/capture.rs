//! A pcapng file of what each direction was offered and what it delivered.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use netem::{DropReason, Verdict};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, PcapResult};
use virtual_time::Instant;

use super::error::EmulatorError;
use super::link::Direction;

/// Where in a direction a packet was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tap {
    /// Read from the sender.
    Offered,
    /// Written to the receiver.
    Delivered,
}

/// The open file. The first failure ends the capture, not the emulation.
pub(super) struct Capture {
    writer: PcapNgWriter<BufWriter<File>>,
    path: PathBuf,
    /// The wall clock at the emulator's epoch.
    epoch: Duration,
    failure: Option<String>,
}

impl Capture {
    /// Starts the file with two interfaces per lane, in the order of `lanes`.
    pub(super) fn create(path: &Path, lanes: &[(u8, Direction)]) -> Result<Self, EmulatorError> {
        let failed = |reason: String| EmulatorError::Capture { path: path.to_owned(), reason };
        let file = File::create(path).map_err(|error| failed(error.to_string()))?;
        let mut writer =
            PcapNgWriter::new(BufWriter::new(file)).map_err(|error| failed(error.to_string()))?;
        for (index, direction) in lanes {
            for tap in ["offered", "delivered"] {
                let name = format!("link {index} {} {tap}", direction.name());
                describe(&mut writer, name).map_err(|error| failed(error.to_string()))?;
            }
        }
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self { writer, path: path.to_owned(), epoch, failure: None })
    }

    /// A packet was offered to lane number `lane`.
    pub(super) fn offered(&mut self, lane: usize, now: Instant, packet: &[u8], verdict: Option<Verdict>) {
        let comment = verdict.map(|verdict| match verdict {
            Verdict::Queued { number, .. } => format!("packet {number}"),
            Verdict::Dropped { number, reason } => format!("packet {number}, dropped: {}", because(reason)),
        });
        self.record(lane, Tap::Offered, now, packet, comment);
    }

    /// A packet was delivered by lane number `lane`.
    pub(super) fn delivered(&mut self, lane: usize, now: Instant, packet: &[u8], number: Option<u64>) {
        self.record(lane, Tap::Delivered, now, packet, number.map(|number| format!("packet {number}")));
    }

    /// Writes what is buffered, and tells why the capture is incomplete if it is.
    pub(super) fn finish(mut self) -> Option<String> {
        if self.failure.is_none() {
            self.failure = self.writer.get_mut().flush().err().map(|error| error.to_string());
        }
        self.failure.map(|failure| format!("{}: {failure}", self.path.display()))
    }

    fn record(&mut self, lane: usize, tap: Tap, now: Instant, packet: &[u8], comment: Option<String>) {
        if self.failure.is_some() {
            return;
        }
        let offset = match tap {
            Tap::Offered => 0,
            Tap::Delivered => 1,
        };
        let block = EnhancedPacketBlock {
            interface_id: u32::try_from(2 * lane + offset).unwrap_or(u32::MAX),
            timestamp: self.epoch + now.since(Instant::EPOCH),
            original_len: u32::try_from(packet.len()).unwrap_or(u32::MAX),
            data: Cow::Borrowed(packet),
            options: comment
                .map(|text| EnhancedPacketOption::Comment(Cow::Owned(text)))
                .into_iter()
                .collect(),
        };
        self.failure = self.writer.write_pcapng_block(block).err().map(|error| error.to_string());
    }
}

fn describe(writer: &mut PcapNgWriter<BufWriter<File>>, name: String) -> PcapResult<usize> {
    let mut interface = InterfaceDescriptionBlock::new(DataLink::RAW, 0);
    interface.options.push(InterfaceDescriptionOption::IfName(Cow::Owned(name)));
    interface.options.push(InterfaceDescriptionOption::IfTsResol(NANOSECONDS));
    writer.write_pcapng_block(interface)
}

const fn because(reason: DropReason) -> &'static str {
    match reason {
        DropReason::Listed => "listed",
        DropReason::Loss => "loss",
        DropReason::QueueFull => "queue full",
    }
}

/// Timestamps count in units of 10⁻⁹ seconds.
const NANOSECONDS: u8 = 9;
