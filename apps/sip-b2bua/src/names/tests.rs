//! Lookups against a server of DNS in this process, on loopback.

use std::str::FromStr;

use hickory_resolver::proto::op::{Message, MessageType, ResponseCode};
use hickory_resolver::proto::rr::rdata::{A, NAPTR, SRV};
use hickory_resolver::proto::rr::{Name, Record};
use tokio::net::UdpSocket;

use super::*;

/// The records of a zone; what is not in it does not exist.
type Zone = Vec<(&'static str, RData)>;

fn naptr(order: u16, preference: u16, service: &str, at: &str) -> RData {
    let octets = |text: &str| text.as_bytes().to_vec().into_boxed_slice();
    let name = Name::from_str(at).unwrap();
    RData::NAPTR(NAPTR::new(order, preference, octets("s"), octets(service), octets(""), name))
}

fn srv(priority: u16, weight: u16, port: u16, at: &str) -> RData {
    RData::SRV(SRV::new(priority, weight, port, Name::from_str(at).unwrap()))
}

fn a(last: u8) -> RData {
    RData::A(A::new(192, 0, 2, last))
}

/// Answers out of the zone.
async fn serve(socket: UdpSocket, zone: Zone) {
    let mut buffer = [0; 1_500];
    while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
        let mut reply = Message::from_vec(&buffer[..length]).unwrap();
        let query = reply.queries[0].clone();
        let is_named = |name: &&str| Name::from_str(name).unwrap() == *query.name();
        let of_name: Vec<_> = zone.iter().filter(|(name, _)| is_named(name)).collect();
        reply.metadata.message_type = MessageType::Response;
        reply.metadata.response_code =
            if of_name.is_empty() { ResponseCode::NXDomain } else { ResponseCode::NoError };
        for (_, data) in of_name.into_iter().filter(|(_, data)| data.record_type() == query.query_type()) {
            reply.add_answer(Record::from_rdata(query.name().clone(), 60, data.clone()));
        }
        socket.send_to(&reply.to_vec().unwrap(), from).await.unwrap();
    }
}

/// Starts a server with this zone.
async fn server(zone: Zone) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let server = socket.local_addr().unwrap();
    tokio::spawn(serve(socket, zone));
    server
}

/// The addresses of an agent that has these transports.
fn own(transports: &[Transport]) -> Vec<(Transport, SocketAddr)> {
    transports.iter().map(|transport| (*transport, "192.0.2.99:5060".parse().unwrap())).collect()
}

/// A resolver that asks a server with this zone, of an agent with these transports.
async fn names(zone: Zone, transports: &[Transport]) -> Names {
    Names::new(&[server(zone).await], &own(transports)).unwrap()
}

fn name(host: &str, port: Option<u16>, transport: Option<Transport>) -> HopName {
    HopName { host: host.to_owned(), port, transport }
}

/// The targets of a name: transport, address, rank and weight.
async fn targets(names: &Names, name: &HopName) -> Vec<(&'static str, String, u32, u16)> {
    let found = names.find(name).await.unwrap();
    let shown = |target: &HopAddress| {
        let HopAddress { flow, rank, weight } = target;
        (flow.transport.name(), flow.remote.to_string(), *rank, *weight)
    };
    found.targets.iter().map(shown).collect()
}

const EVERY: [Transport; 3] = [Transport::UDP, Transport::TCP, Transport::SCTP];

#[tokio::test]
async fn a_domain_says_which_transports_it_has_and_in_which_order() {
    // RFC 3263 §4.1, RFC 4168 §6: NAPTR by order and preference, then SRV by priority.
    let zone = vec![
        ("example.org.", naptr(50, 20, "SIP+D2T", "_sip._tcp.example.org.")),
        ("example.org.", naptr(50, 10, "SIP+D2S", "_sip._sctp.example.org.")),
        ("example.org.", naptr(40, 10, "SIPS+D2T", "_sips._tcp.example.org.")),
        ("_sip._sctp.example.org.", srv(2, 5, 5070, "b.example.org.")),
        ("_sip._sctp.example.org.", srv(1, 7, 5060, "a.example.org.")),
        ("_sip._tcp.example.org.", srv(1, 0, 5060, "b.example.org.")),
        ("a.example.org.", a(1)),
        ("b.example.org.", a(2)),
    ];
    let names = names(zone, &EVERY).await;
    let expected = [
        ("SCTP", "192.0.2.1:5060".to_owned(), 0, 7),
        ("SCTP", "192.0.2.2:5070".to_owned(), 1, 5),
        ("TCP", "192.0.2.2:5060".to_owned(), 2, 0),
    ];
    assert_eq!(targets(&names, &name("example.org", None, None)).await, expected, "TLS is not spoken here");
}

#[tokio::test]
async fn without_naptr_the_services_of_each_transport_are_looked_for() {
    let zone = vec![
        ("_sip._udp.example.org.", srv(0, 0, 5080, "a.example.org.")),
        ("example.org.", a(9)),
        ("a.example.org.", a(1)),
    ];
    let names = names(zone, &EVERY).await;
    let found = [("UDP", "192.0.2.1:5080".to_owned(), 0, 0)];
    assert_eq!(targets(&names, &name("example.org", None, None)).await, found);
    assert_eq!(targets(&names, &name("example.org", None, Some(Transport::UDP))).await, found);
}

#[tokio::test]
async fn a_host_without_services_or_with_a_port_is_reached_itself() {
    // RFC 3263 §4.2.
    let names = names(vec![("host.example.org.", a(3))], &EVERY).await;
    let of = async |port, transport| targets(&names, &name("host.example.org", port, transport)).await;
    let at = |transport, port| vec![(transport, format!("192.0.2.3:{port}"), 0, 0)];
    assert_eq!(of(None, None).await, at("UDP", 5060));
    assert_eq!(of(Some(5090), None).await, at("UDP", 5090));
    assert_eq!(of(None, Some(Transport::TCP)).await, at("TCP", 5060));
    assert_eq!(of(Some(5090), Some(Transport::SCTP)).await, at("SCTP", 5090));
}

#[tokio::test]
async fn a_name_that_is_not_there_stands_for_nothing_and_long_answers_are_cut() {
    let mut zone: Zone = (0..40).map(|last| ("many.example.org.", a(last))).collect();
    zone.push(("_sip._udp.off.example.org.", srv(0, 0, 0, ".")));
    zone.push(("off.example.org.", a(1)));
    let names = names(zone, &[Transport::UDP]).await;
    assert_eq!(targets(&names, &name("none.example.org", None, None)).await, []);
    let off = name("off.example.org", None, Some(Transport::UDP));
    assert_eq!(targets(&names, &off).await, [], "a dot: nobody serves it (RFC 2782)");
    let many = targets(&names, &name("many.example.org", Some(5060), None)).await;
    assert_eq!(many.len(), MOST_ADDRESSES);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_an_error_and_no_empty_answer() {
    let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let names = Names::new(&[silent.local_addr().unwrap()], &own(&[Transport::UDP])).unwrap();
    assert!(names.find(&name("example.org", None, None)).await.is_err());
}

#[tokio::test]
async fn a_name_is_followed_as_long_as_a_route_has_it() {
    let server = server(vec![("host.example.org.", a(3))]).await;
    let (sender, mut inputs) = mpsc::channel(4);
    let mut followers = Followers::new(own(&EVERY), sender);
    let name = name("host.example.org", Some(5060), None);
    followers.follow(&[server], [&name].into_iter()).unwrap();
    let Some(Input::Found(told, addresses)) = inputs.recv().await else { panic!("what was found") };
    assert_eq!((told, addresses.len()), (name.clone(), 1));
    followers.follow(&[server], [&name].into_iter()).unwrap();
    assert_eq!(followers.tasks.len(), 1, "it is followed already");
    followers.follow(&[server], core::iter::empty()).unwrap();
    assert!(followers.tasks.is_empty());
}
