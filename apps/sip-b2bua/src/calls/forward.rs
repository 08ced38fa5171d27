//! The parts of a message that go to the other side: everything but what belongs to a hop, to a dialog, or to an
//! extension that is not here (RFC 3261 §16.6 is for proxies; RFC 7092 for agents as this one).

use sip::{Dialog, Flow, HeaderName, Headers, Method, NameAddr, Request, Response, SipUri, Transport};

use super::admission::ALLOWED;
use super::call::Leg;

/// Copies what goes on.
pub(super) fn copy(from: &Headers, to: &mut Headers) {
    for (name, value) in from.iter().filter(|(name, _)| goes_on(name)) {
        to.push(name.clone(), value);
    }
}

fn goes_on(name: &HeaderName) -> bool {
    match name {
        HeaderName::ContentEncoding
        | HeaderName::ContentType
        | HeaderName::Reason
        | HeaderName::RetryAfter
        | HeaderName::Other(_) => true,
        HeaderName::Allow
        | HeaderName::CallId
        | HeaderName::Contact
        | HeaderName::ContentLength
        | HeaderName::CSeq
        | HeaderName::From
        | HeaderName::MaxForwards
        | HeaderName::MinSe
        | HeaderName::ProxyRequire
        | HeaderName::RAck
        | HeaderName::RecordRoute
        | HeaderName::Require
        | HeaderName::Route
        | HeaderName::RSeq
        | HeaderName::SessionExpires
        | HeaderName::Supported
        | HeaderName::To
        | HeaderName::Unsupported
        | HeaderName::Via => false,
    }
}

/// Creates the INVITE to the called side, which names the same user at the next hop and begins a dialog of its own.
pub(super) fn first_invite(request: &Request, leg: &Leg, call_id: String) -> Request {
    let user = SipUri::parse(&request.uri).ok().and_then(|uri| uri.user);
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    let mut invite = Request::new(
        Method::Invite,
        format!("sip:{user}{}{}", leg.flow.remote, parameter(leg.flow.transport)),
    );
    let to = request.headers.first(&HeaderName::To).unwrap_or_default();
    let from = request.headers.first(&HeaderName::From).and_then(NameAddr::parse);
    invite.headers.push(HeaderName::MaxForwards, "70");
    if let Some(from) = from {
        invite.headers.push(HeaderName::From, from.with_tag(&leg.tag).to_string());
    }
    invite.headers.push(HeaderName::To, to);
    invite.headers.push(HeaderName::CallId, call_id);
    invite.headers.push(HeaderName::CSeq, "1 INVITE");
    invite
}

/// Completes a request to the other side: one hop less, where we are, what we understand, and all that goes on.
pub(super) fn complete(request: &mut Request, original: &Request, hops: u8, contact: &str) {
    request.headers.set(&HeaderName::MaxForwards, hops.to_string());
    if matches!(request.method, Method::Invite | Method::Update) {
        request.headers.push(HeaderName::Contact, contact);
        request.headers.push(HeaderName::Allow, ALLOWED);
    }
    copy(&original.headers, &mut request.headers);
    request.body = original.body.clone();
}

/// Completes a response to the asker.
pub(super) fn complete_response(response: &mut Response, original: &Response, contact: Option<&str>) {
    response.reason.clone_from(&original.reason);
    if let Some(contact) = contact {
        response.headers.push(HeaderName::Contact, contact);
        response.headers.push(HeaderName::Allow, ALLOWED);
    }
    // A redirection says where else to call: that is what it is for.
    if (300..400).contains(&original.status.code()) {
        for value in original.headers.all(&HeaderName::Contact) {
            response.headers.push(HeaderName::Contact, value);
        }
    }
    copy(&original.headers, &mut response.headers);
    response.body = original.body.clone();
}

/// Takes the body away from a response, with the header fields that speak of it.
pub(super) fn strip_body(response: &mut Response) {
    let is_of_body = |name: &HeaderName| OF_BODY.iter().any(|of| of.eq_ignore_ascii_case(name.as_str()));
    let mut kept = Headers::default();
    for (name, value) in response.headers.iter().filter(|(name, _)| !is_of_body(name)) {
        kept.push(name.clone(), value);
    }
    (response.headers, response.body) = (kept, bytes::Bytes::new());
}

/// Returns the flow over which requests of a dialog go: the connection that its peer uses if that leads to the next
/// hop; the way to where the route set or the target says if that is an address; otherwise the way back to where its
/// peer's messages come from, for names are not looked up.
pub(super) fn way(leg: &Leg, dialog: &Dialog, has_address: impl Fn(Flow) -> bool) -> Flow {
    let Some(hop) = dialog.next_hop() else { return leg.flow };
    let Some(address) = hop.host.address() else { return leg.flow };
    if leg.flow.connection.is_some() && leg.flow.remote.ip() == address {
        return leg.flow;
    }
    let transport = hop.parameters.value("transport").and_then(Transport::of).unwrap_or(leg.flow.transport);
    let port = hop.port.unwrap_or(transport.default_port());
    let flow = Flow::new(transport, std::net::SocketAddr::new(address, port));
    if has_address(flow) { flow } else { leg.flow }
}

/// Returns the parameter of a URI that names the transport; it is empty for UDP, which is what is meant without the
/// parameter.
pub(super) fn parameter(transport: Transport) -> String {
    if transport == Transport::UDP {
        String::new()
    } else {
        format!(";transport={}", transport.name().to_ascii_lowercase())
    }
}

/// The header fields that speak of a body.
const OF_BODY: [&str; 5] =
    ["Content-Type", "Content-Encoding", "Content-Disposition", "Content-Language", "MIME-Version"];
