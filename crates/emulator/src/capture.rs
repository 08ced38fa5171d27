//! A pcapng file of what each direction was offered, what it delivered, or both.

use std::borrow::Cow;
use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant as WallInstant, SystemTime, UNIX_EPOCH};

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

/// A file to write packets to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaptureFile {
    /// The pcapng file; what was in it before is lost.
    pub path: PathBuf,
    /// The point of the link at which packets are written down.
    pub point: CapturePoint,
}

/// Returns the path of a capture beside another: `x.pcapng` becomes `x-NAME.pcapng`.
#[must_use]
pub fn beside(path: &Path, name: impl Display) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().unwrap_or("pcapng".as_ref()).to_string_lossy();
    path.with_file_name(format!("{stem}-{name}.{extension}"))
}

/// The point of a link at which packets are written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CapturePoint {
    /// Packets as the sender sent them and when, lost ones included, each once. The default.
    #[default]
    Sender,
    /// Packets as the receiver got them and when, each once: with delays, copies and damage, without what was
    /// lost.
    Receiver,
    /// Packets at both points, on interfaces of their own. A program that takes all interfaces for one sees
    /// every delivered packet twice.
    Both,
}

impl CapturePoint {
    fn has(self, tap: Tap) -> bool {
        match self {
            Self::Sender => tap == Tap::Offered,
            Self::Receiver => tap == Tap::Delivered,
            Self::Both => true,
        }
    }
}

/// The point of a direction at which a packet was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tap {
    /// Read from the sender.
    Offered,
    /// Written to the receiver.
    Delivered,
}

/// The open file. The first failure ends the capture, not the emulation.
pub(super) struct Capture {
    writer: PcapNgWriter<BufWriter<File>>,
    file: CaptureFile,
    /// Interface of a lane's two taps, in the file's order.
    interfaces: Vec<(usize, Tap)>,
    /// The emulator's epoch on the calendar.
    epoch: Duration,
    failure: Option<String>,
}

impl Capture {
    /// Starts the file with an interface for each of the taps wanted, in the order of `lanes`. `epoch` is the emulator's.
    pub(super) fn create(
        file: &CaptureFile,
        lanes: &[(u8, Direction)],
        epoch: WallInstant,
    ) -> Result<Self, EmulatorError> {
        let failed = |reason: String| EmulatorError::Capture { path: file.path.clone(), reason };
        let octets = File::create(&file.path).map_err(|error| failed(error.to_string()))?;
        let mut writer =
            PcapNgWriter::new(BufWriter::new(octets)).map_err(|error| failed(error.to_string()))?;
        let mut interfaces = Vec::new();
        for (lane, (index, direction)) in lanes.iter().enumerate() {
            for tap in [Tap::Offered, Tap::Delivered].into_iter().filter(|tap| file.point.has(*tap)) {
                let name = format!("link {index} {} {}", direction.name(), tap.name());
                describe(&mut writer, name).map_err(|error| failed(error.to_string()))?;
                interfaces.push((lane, tap));
            }
        }
        Ok(Self { writer, file: file.clone(), interfaces, epoch: on_the_calendar(epoch), failure: None })
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
        self.failure.map(|failure| format!("{}: {failure}", self.file.path.display()))
    }

    fn record(&mut self, lane: usize, tap: Tap, now: Instant, packet: &[u8], comment: Option<String>) {
        if self.failure.is_some() {
            return;
        }
        let Some(interface) = self.interfaces.iter().position(|known| *known == (lane, tap)) else { return };
        let block = EnhancedPacketBlock {
            interface_id: u32::try_from(interface).unwrap_or(u32::MAX),
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

impl Tap {
    const fn name(self) -> &'static str {
        match self {
            Self::Offered => "offered",
            Self::Delivered => "delivered",
        }
    }
}

/// Returns `instant` on the calendar, as the time since 1970, by the closest of several pairs of readings of
/// both clocks.
fn on_the_calendar(instant: WallInstant) -> Duration {
    let mut best: Option<(Duration, Duration)> = None;
    for _ in 0..READINGS {
        let before = WallInstant::now();
        let calendar = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let between = before.elapsed();
        if best.is_none_or(|(least, _)| between < least) {
            best = Some((between, calendar.saturating_sub(before.duration_since(instant) + between / 2)));
        }
    }
    best.unwrap_or_default().1
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
/// Enough that a thread is not interrupted in each.
const READINGS: u32 = 8;
