//! Captures: packets as Wireshark reads them.
//!
//! A capture sees packets either where they enter a link or where they leave it. Links are the interfaces of the
//! capture, named `link 0`, `link 1`, …; the link type is raw IP. Times are virtual, counted from 1970, to the
//! nanosecond. A packet that is dropped there carries a comment that says why.

mod headers;

use std::borrow::Cow;
use std::io::Write;
use std::time::Duration;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, PcapError};
use virtual_time::Instant;

use crate::frames::Frame;
use crate::id::{LaneId, LinkId};
use crate::trace::Fate;

/// A pcapng file being written.
pub(crate) struct Capture {
    writer: PcapNgWriter<Box<dyn Write + Send>>,
    scope: CaptureScope,
    point: CapturePoint,
    /// The links that have an interface in the file, by its number there.
    links: Vec<LinkId>,
    packet: Vec<u8>,
    failure: Option<PcapError>,
}

impl Capture {
    pub(crate) fn new(
        writer: Box<dyn Write + Send>,
        scope: CaptureScope,
        point: CapturePoint,
    ) -> Result<Self, CaptureError> {
        let writer = PcapNgWriter::new(writer)?;
        Ok(Self { writer, scope, point, links: Vec::new(), packet: Vec::new(), failure: None })
    }

    /// Writes the packet if this capture is about it. After a failure nothing more is written.
    pub(crate) fn record(
        &mut self,
        point: CapturePoint,
        at: Instant,
        lane: LaneId,
        frame: &Frame,
        payload: &[u8],
        fate: Fate,
    ) {
        let is_wanted = match self.scope {
            CaptureScope::World => true,
            CaptureScope::Link(link) => link == lane.link(),
        };
        if point != self.point || !is_wanted || self.failure.is_some() {
            return;
        }
        self.failure = self.write(at, lane.link(), frame, payload, fate).err();
    }

    /// Flushes the file.
    pub(crate) fn finish(self) -> Result<(), CaptureError> {
        if let Some(failure) = self.failure {
            return Err(failure.into());
        }
        self.writer.into_inner().flush().map_err(|error| PcapError::IoError(error).into())
    }

    fn write(
        &mut self,
        at: Instant,
        link: LinkId,
        frame: &Frame,
        payload: &[u8],
        fate: Fate,
    ) -> Result<(), PcapError> {
        let interface_id = self.interface(link)?;
        self.packet.clear();
        headers::write(&mut self.packet, frame, payload);
        let comment = remark(fate).map(|remark| EnhancedPacketOption::Comment(Cow::Borrowed(remark)));
        let block = EnhancedPacketBlock {
            interface_id,
            timestamp: Duration::from_nanos(at.as_nanos()),
            original_len: u32::try_from(self.packet.len()).unwrap_or(u32::MAX),
            data: Cow::Borrowed(&self.packet),
            options: comment.into_iter().collect(),
        };
        self.writer.write_pcapng_block(block).map(|_| ())
    }

    /// Returns the interface of the file that stands for `link`, described when it is first met.
    fn interface(&mut self, link: LinkId) -> Result<u32, PcapError> {
        let known = self.links.iter().position(|candidate| *candidate == link);
        let position = match known {
            Some(position) => position,
            None => {
                self.describe(link)?;
                self.links.len() - 1
            }
        };
        Ok(u32::try_from(position).unwrap_or(u32::MAX))
    }

    fn describe(&mut self, link: LinkId) -> Result<(), PcapError> {
        let options = vec![
            InterfaceDescriptionOption::IfName(Cow::Owned(link.to_string())),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ];
        let block = InterfaceDescriptionBlock { linktype: DataLink::RAW, snaplen: NO_LIMIT, options };
        self.writer.write_pcapng_block(block)?;
        self.links.push(link);
        Ok(())
    }
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture")
            .field("scope", &self.scope)
            .field("point", &self.point)
            .finish_non_exhaustive()
    }
}

/// The packets that a capture is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaptureScope {
    /// The packets on all links.
    World,
    /// The packets on this link alone.
    Link(LinkId),
}

/// The end of a link at which a capture looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CapturePoint {
    /// The end where packets enter the link: what the senders did and when, lost packets included.
    Departure,
    /// The end where packets leave the link: what the receivers saw and when, with delays, copies and damage.
    Arrival,
}

/// A capture could not be written.
#[derive(Debug, thiserror::Error)]
#[error("the capture is incomplete, writing failed: {0}")]
pub struct CaptureError(#[from] PcapError);

/// Returns the comment for a packet in the file; delivered packets have none.
const fn remark(fate: Fate) -> Option<&'static str> {
    match fate {
        Fate::Delivered | Fate::Forwarded => None,
        Fate::Listed => Some("dropped: its number was listed"),
        Fate::Lost => Some("dropped: lost on the link"),
        Fate::QueueFull => Some("dropped: the queue was full"),
        Fate::LinkDown => Some("dropped: the link was down"),
        Fate::BadChecksum => Some("dropped: damaged, the UDP checksum fails"),
        Fate::NotForHost => Some("dropped: the host does not have this address"),
        Fate::Unroutable => Some("dropped: no route"),
        Fate::TooLong => Some("dropped: longer than IP can carry"),
        Fate::HopLimit => Some("dropped: too many routers on its way"),
    }
}

/// `if_tsresol`: a negative power of ten.
const NANOSECONDS: u8 = 9;
/// `SnapLen`: zero means that packets are complete.
const NO_LIMIT: u32 = 0;
