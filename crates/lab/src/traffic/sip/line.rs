//! The line between caller and callee: what SIP is told of the transport below it.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use bytes::Bytes;
use sip::{Connection, Endpoint, EndpointConfig, Flow, HeaderName, Method, Request, Transport};

use crate::lanes::Carriage;
use crate::traffic::Terms;

/// The transport of a flow, in the words of SIP.
///
/// The addresses in messages are for documentation: where messages go, the transport of the laboratory knows. A lane is a
/// connection to SIP, so that responses come back on the lane of their request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    transport: Transport,
    lanes: u16,
}

impl Line {
    /// A line on which nothing is lost and nothing takes time.
    pub(super) const IN_MEMORY: Self = Self { transport: Transport::TCP, lanes: 1 };

    pub(super) fn new(terms: &Terms) -> Self {
        let transport = match terms.carriage {
            Carriage::Messages => Transport::SCTP,
            Carriage::Octets => Transport::TCP,
            Carriage::Datagrams => Transport::UDP,
        };
        Self { transport, lanes: terms.lanes }
    }

    /// Returns the lane of a call, all of whose messages stay on it (RFC 4168 §5.1).
    pub(super) fn lane_of(&self, number: u64) -> u16 {
        u16::try_from(number % u64::from(self.lanes.max(1))).unwrap_or(0)
    }

    /// Returns the way to `remote` on a lane.
    pub(super) fn flow(&self, remote: SocketAddr, lane: u16) -> Flow {
        Flow { connection: Some(Connection(lane.into())), ..Flow::new(self.transport, remote) }
    }

    /// Creates the endpoint of one side.
    pub(super) fn endpoint(&self, own: SocketAddr, seed: u64) -> Endpoint {
        let mut secret = [0; 32];
        secret[..8].copy_from_slice(&seed.to_be_bytes());
        Endpoint::new(EndpointConfig::new(vec![(self.transport, own)]), secret)
    }

    /// Creates the INVITE of a call, with an offer of one stream of sound; all but Via.
    pub(super) fn invite(&self, number: u64) -> Request {
        let mut request = Request::new(Method::Invite, format!("sip:callee@{}", CALLEE.ip()));
        for (name, value) in [
            (HeaderName::MaxForwards, "70".to_owned()),
            (HeaderName::From, format!("<sip:caller@{}>;tag={number}", CALLER.ip())),
            (HeaderName::To, format!("<sip:callee@{}>", CALLEE.ip())),
            (HeaderName::CallId, format!("{number}@{}", CALLER.ip())),
            (HeaderName::CSeq, format!("{INVITE} INVITE")),
            (HeaderName::Contact, self.contact("caller", CALLER)),
            (HeaderName::ContentType, "application/sdp".to_owned()),
        ] {
            request.headers.push(name, value);
        }
        request.body = sound(CALLER.ip());
        request
    }

    /// Returns the Contact of a side.
    pub(super) fn contact(&self, user: &str, at: SocketAddr) -> String {
        let transport = self.transport.name().to_ascii_lowercase();
        format!("<sip:{user}@{at};transport={transport}>")
    }
}

/// Returns the next message that an endpoint wants sent, and its lane.
pub(super) fn next_message(endpoint: &mut Endpoint) -> Option<(u16, Bytes)> {
    let sent = endpoint.poll_transmit()?;
    let Connection(lane) = sent.flow.connection.unwrap_or(Connection(0));
    Some((u16::try_from(lane).unwrap_or(0), sent.octets))
}

/// Returns the session description of a side that listens at an address.
pub(super) fn sound(at: IpAddr) -> Bytes {
    let origin = format!("v=0\r\no=- 1 1 IN IP4 {at}\r\ns=-\r\nc=IN IP4 {at}\r\nt=0 0\r\n");
    (origin + "m=audio 40000 RTP/AVP 0 8\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:8 PCMA/8000\r\n").into()
}

/// The address of the caller in its messages (RFC 5737).
pub(crate) const CALLER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 5060);
/// The address of the callee in its messages (RFC 5737).
pub(crate) const CALLEE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 5060);
/// The number of an INVITE in its dialog.
pub(super) const INVITE: u32 = 1;
