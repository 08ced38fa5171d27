//! The messages of `rtnetlink(7)` about links and addresses, read with bounds; anything else is skipped.
//!
//! Written out because a netlink library would bring an async runtime and many messages for these two. All fields
//! are in the machine's own byte order.

use std::net::IpAddr;

/// A message of the kernel about links and addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// A link exists; whether it carries packets.
    Link {
        index: u32,
        is_running: bool,
    },
    LinkGone {
        index: u32,
    },
    /// An address is assigned; whether it is known to be ours alone.
    Address {
        index: u32,
        address: IpAddr,
        is_tentative: bool,
    },
    AddressGone {
        index: u32,
        address: IpAddr,
    },
    /// The answer to a dump request is complete.
    DumpDone,
}

/// A table that the kernel is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Dump {
    Links,
    Addresses,
}

impl Dump {
    /// Returns the request: a header and an empty `rtgenmsg`, for all families.
    pub(super) fn request(self) -> [u8; 20] {
        let kind = match self {
            Self::Links => RTM_GETLINK,
            Self::Addresses => RTM_GETADDR,
        };
        let mut request = [0; 20];
        request[..4].copy_from_slice(&20_u32.to_ne_bytes());
        request[4..6].copy_from_slice(&kind.to_ne_bytes());
        request[6..8].copy_from_slice(&(NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
        request
    }
}

/// Walks over the messages of one read.
pub(super) struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Messages<'a> {
    pub(super) fn new(read: &'a [u8]) -> Self {
        Self { rest: read }
    }
}

impl Iterator for Messages<'_> {
    type Item = News;

    fn next(&mut self) -> Option<News> {
        loop {
            let length = usize::try_from(u32_at(self.rest, 0)?).ok()?;
            let message = self.rest.get(..length).filter(|message| message.len() >= HEADER_BYTES)?;
            self.rest = self.rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            if let Some(news) = read(message) {
                return Some(news);
            }
        }
    }
}

fn read(message: &[u8]) -> Option<News> {
    let body = message.get(HEADER_BYTES..)?;
    match u16_at(message, 4)? {
        NLMSG_DONE | NLMSG_ERROR => Some(News::DumpDone),
        RTM_NEWLINK => {
            let flags = u32_at(body, 8)?;
            let is_running = flags & (IFF_UP | IFF_RUNNING) == IFF_UP | IFF_RUNNING;
            Some(News::Link { index: u32_at(body, 4)?, is_running })
        }
        RTM_DELLINK => Some(News::LinkGone { index: u32_at(body, 4)? }),
        RTM_NEWADDR => {
            let (index, address, flags) = address(body)?;
            let is_tentative = flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED) != 0;
            Some(News::Address { index, address, is_tentative })
        }
        RTM_DELADDR => address(body).map(|(index, address, _)| News::AddressGone { index, address }),
        _ => None,
    }
}

/// Returns interface, address and flags of an `ifaddrmsg`. On a point-to-point link IFA_ADDRESS is the other
/// end's, and IFA_LOCAL ours.
fn address(body: &[u8]) -> Option<(u32, IpAddr, u32)> {
    let (mut flags, index) = (u32::from(*body.get(2)?), u32_at(body, 4)?);
    let (mut address, mut local) = (None, None);
    let mut rest = body.get(8..)?;
    while let (Some(length), Some(kind)) = (u16_at(rest, 0), u16_at(rest, 2)) {
        let Some(value) = rest.get(4..usize::from(length)) else { break };
        match kind {
            IFA_ADDRESS => address = ip(value),
            IFA_LOCAL => local = ip(value),
            IFA_FLAGS => flags = u32_at(value, 0)?,
            _ => {}
        }
        rest = rest.get(usize::from(length).next_multiple_of(4)..).unwrap_or_default();
    }
    Some((index, local.or(address)?, flags))
}

fn ip(octets: &[u8]) -> Option<IpAddr> {
    if let Ok(v4) = <[u8; 4]>::try_from(octets) {
        return Some(v4.into());
    }
    <[u8; 16]>::try_from(octets).ok().map(IpAddr::from)
}

fn u16_at(octets: &[u8], at: usize) -> Option<u16> {
    octets.get(at..)?.first_chunk().map(|octets| u16::from_ne_bytes(*octets))
}

fn u32_at(octets: &[u8], at: usize) -> Option<u32> {
    octets.get(at..)?.first_chunk().map(|octets| u32::from_ne_bytes(*octets))
}

const HEADER_BYTES: usize = 16;
const NLM_F_REQUEST: u16 = 0x001;
const NLM_F_DUMP: u16 = 0x300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
pub(super) const RTM_NEWLINK: u16 = 16;
const RTM_DELLINK: u16 = 17;
const RTM_GETLINK: u16 = 18;
pub(super) const RTM_NEWADDR: u16 = 20;
const RTM_DELADDR: u16 = 21;
const RTM_GETADDR: u16 = 22;
const IFF_UP: u32 = 0x01;
const IFF_RUNNING: u32 = 0x40;
pub(super) const IFA_ADDRESS: u16 = 1;
pub(super) const IFA_LOCAL: u16 = 2;
pub(super) const IFA_FLAGS: u16 = 8;
const IFA_F_DADFAILED: u32 = 0x08;
const IFA_F_TENTATIVE: u32 = 0x40;
