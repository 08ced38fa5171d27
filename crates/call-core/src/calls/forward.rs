//! The parts of a message that go to the other side: everything but what belongs to a hop, to a dialog, or to an
//! extension that is not here (RFC 3261 §16.6 is for proxies; RFC 7092 for agents as this one).

use std::time::Duration;

use sip::{Dialog, Flow, HeaderName, Headers, Method, NameAddr, Request, Response, SipUri, Transport};

use super::admission::ALLOWED;
use super::call::Leg;

/// The extensions that work through this agent: reliable provisional responses (RFC 3262), session timers (RFC 4028).
pub(crate) const EXTENSIONS: [&str; 2] = ["100rel", "timer"];

/// Copies what goes on; of extensions those that work through this agent.
pub(super) fn copy(from: &Headers, to: &mut Headers) {
    for (name, value) in from.iter().filter(|(name, _)| goes_on(name)) {
        to.push(name.clone(), value);
    }
    for name in [HeaderName::Require, HeaderName::Supported] {
        let works = |tag: &&str| EXTENSIONS.iter().any(|known| known.eq_ignore_ascii_case(tag));
        let tags: Vec<&str> = from.list(&name).unwrap_or_default().into_iter().filter(works).collect();
        if !tags.is_empty() {
            to.push(name, tags.join(", "));
        }
    }
}

/// Returns whether a provisional response is one that PRACK has to confirm (RFC 3262 §3).
pub(super) fn is_reliable(response: &Response) -> bool {
    response.headers.lists(&HeaderName::Require, "100rel")
        && response.headers.first(&HeaderName::RSeq).is_some()
}

/// Returns the value of RAck for the other side, whose INVITE has another number; `None` if it is malformed (RFC 3262 §7.2).
pub(super) fn rack(headers: &Headers, number: u32) -> Option<String> {
    let mut words = headers.first(&HeaderName::RAck)?.split([' ', '\t']).filter(|word| !word.is_empty());
    let (response, request, method) = (words.next()?, words.next()?, words.next()?);
    let is_number = |text: &str| text.parse::<u32>().is_ok();
    let is_fine = is_number(response) && is_number(request) && method == "INVITE" && words.next().is_none();
    is_fine.then(|| format!("{response} {number} INVITE"))
}

/// Returns how long a session lasts without being refreshed, if a success says so (RFC 4028 §4); no shorter than may be asked
/// for.
pub(super) fn session_interval(headers: &Headers) -> Option<Duration> {
    let value = headers.first(&HeaderName::SessionExpires)?;
    let seconds: u32 = value.split(';').next()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.into()).max(SHORTEST_SESSION))
}

fn goes_on(name: &HeaderName) -> bool {
    match name {
        HeaderName::Authorization
        | HeaderName::ContentEncoding
        | HeaderName::ContentType
        | HeaderName::MinSe
        | HeaderName::Reason
        | HeaderName::RetryAfter
        | HeaderName::RSeq
        | HeaderName::SessionExpires
        | HeaderName::Other(_) => true,
        HeaderName::Allow
        | HeaderName::CallId
        | HeaderName::Contact
        | HeaderName::ContentLength
        | HeaderName::CSeq
        | HeaderName::From
        | HeaderName::MaxForwards
        | HeaderName::ProxyRequire
        | HeaderName::RAck
        | HeaderName::RecordRoute
        | HeaderName::Require
        | HeaderName::Route
        | HeaderName::Supported
        | HeaderName::To
        | HeaderName::Unsupported
        | HeaderName::Via => false,
    }
}

/// Creates the INVITE to the called side, which names the same user at the next hop and begins a dialog of its own.
pub(super) fn first_invite(request: &Request, leg: &Leg, call_id: String) -> Request {
    let uri = SipUri::parse(&request.uri).ok();
    let scheme = if uri.as_ref().is_some_and(|uri| uri.is_secure) { "sips" } else { "sip" };
    let user = uri.and_then(|uri| uri.user).map(|user| format!("{user}@")).unwrap_or_default();
    let parameter = if scheme == "sips" { String::new() } else { parameter(leg.flow.transport) };
    let mut invite = Request::new(Method::Invite, format!("{scheme}:{user}{}{parameter}", leg.flow.remote));
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

/// Returns the part of a request that makes a dialog together with a response to it.
pub(super) fn what_makes_a_dialog(request: &Request) -> Request {
    let mut part = Request::new(request.method.clone(), "");
    if let Some(from) = request.headers.first(&HeaderName::From) {
        part.headers.push(HeaderName::From, from);
    }
    part
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
    let named = hop.parameters.value("transport").and_then(Transport::of);
    let transport = match named {
        // A URI of SIPS is reached over TLS, whichever transport of octets it names (RFC 3261 §26.2.2).
        Some(Transport::TCP) | None if hop.is_secure => Transport::TLS,
        Some(named) => named,
        None => leg.flow.transport,
    };
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

/// The shortest session interval (RFC 4028 §5).
const SHORTEST_SESSION: Duration = Duration::from_secs(90);
/// The header fields that speak of a body.
const OF_BODY: [&str; 5] =
    ["Content-Type", "Content-Encoding", "Content-Disposition", "Content-Language", "MIME-Version"];
