use bytes::Bytes;

use super::*;
use crate::limits::MessageLimits;
use crate::message::Message;
use crate::status::Status;

fn invite(lines: &str) -> (Request, Essentials) {
    let text = format!(
        "INVITE sip:b@example.org SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1\r\n\
         From: \"A\" <sip:a@example.com>;tag=a\r\nTo: <sip:b@example.org>\r\nCall-ID: 1\r\nCSeq: 5 INVITE\r\n{lines}\r\n"
    );
    let Message::Request(request) = Message::parse(&Bytes::from(text), &MessageLimits::default()).unwrap()
    else {
        panic!("a response");
    };
    let essentials = Essentials::of_request(&request, &MessageLimits::default()).unwrap();
    (request, essentials)
}

/// Both sides of a dialog whose INVITE went over two proxies.
fn both(routes: &str) -> (Dialog, Dialog) {
    let (request, essentials) = invite(&format!("Contact: <sip:a@192.0.2.1>\r\n{routes}"));
    let server = Dialog::of_server(&request, &essentials, "b").unwrap();
    let mut response = Response::to(&request, Status::OK, "b");
    response.headers.push(HeaderName::Contact, "<sip:b@192.0.2.9:5070>");
    for route in request.headers.all(&HeaderName::RecordRoute) {
        response.headers.push(HeaderName::RecordRoute, route);
    }
    let essentials = Essentials::of_response(&response, &MessageLimits::default()).unwrap();
    (Dialog::of_client(&request, &response, &essentials).unwrap(), server)
}

#[test]
fn both_sides_have_the_same_dialog_seen_from_their_end() {
    let (mut client, mut server) = both("");
    let bye = client.request(Method::Bye);
    assert_eq!(bye.uri, "sip:b@192.0.2.9:5070");
    assert_eq!(bye.headers.first(&HeaderName::CSeq), Some("6 BYE"));
    assert_eq!(bye.headers.first(&HeaderName::From), Some("\"A\" <sip:a@example.com>;tag=a"));
    assert_eq!(bye.headers.first(&HeaderName::To), Some("<sip:b@example.org>;tag=b"));
    let bye = server.request(Method::Bye);
    assert_eq!((bye.uri.as_str(), bye.headers.first(&HeaderName::CSeq)), ("sip:a@192.0.2.1", Some("1 BYE")));
    assert_eq!((client.local_tag(), client.remote_tag()), (server.remote_tag(), server.local_tag()));
    assert_eq!(client.ack(5).headers.first(&HeaderName::CSeq), Some("5 ACK"));
}

#[test]
fn route_sets_are_reversed_at_the_client() {
    let (mut client, mut server) = both("Record-Route: <sip:p2;lr>, <sip:p1;lr>\r\n");
    let routes =
        |request: &Request| request.headers.all(&HeaderName::Route).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(routes(&client.request(Method::Bye)), ["<sip:p1;lr>", "<sip:p2;lr>"]);
    assert_eq!(routes(&server.request(Method::Bye)), ["<sip:p2;lr>", "<sip:p1;lr>"]);
    assert_eq!(client.next_hop().unwrap().host.to_string(), "p1");
}

#[test]
fn a_strict_router_becomes_the_request_uri() {
    // RFC 3261 §12.2.1.1.
    let (mut client, _) = both("Record-Route: <sip:p2;lr>\r\nRecord-Route: <sip:p1>\r\n");
    let bye = client.request(Method::Bye);
    assert_eq!(bye.uri, "sip:p1");
    let routes: Vec<&str> = bye.headers.all(&HeaderName::Route).collect();
    assert_eq!(routes, ["<sip:p2;lr>", "<sip:b@192.0.2.9:5070>"]);
}

#[test]
fn requests_out_of_order_are_told() {
    let (_, mut server) = both("");
    assert_eq!(server.accept(5), Order::OutOfOrder);
    assert_eq!(server.accept(9), Order::Next);
    assert_eq!(server.accept(6), Order::OutOfOrder);
}

#[test]
fn a_dialog_needs_one_contact_that_can_be_called() {
    for contact in ["", "Contact: *\r\n", "Contact: <tel:1>\r\n", "Contact: <sip:a@x>, <sip:b@x>\r\n"] {
        let (request, essentials) = invite(contact);
        assert_eq!(Dialog::of_server(&request, &essentials, "b"), Err(DialogError::Contact), "{contact}");
    }
}

#[test]
fn a_route_set_longer_than_any_way_is_refused() {
    let (request, essentials) =
        invite(&format!("Contact: <sip:a@x>\r\nRecord-Route: {}\r\n", ["<sip:p;lr>"; 71].join(",")));
    assert_eq!(Dialog::of_server(&request, &essentials, "b"), Err(DialogError::RecordRoute));
}
