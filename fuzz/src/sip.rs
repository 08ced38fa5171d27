//! What the target `sip` does with octets.

use bytes::Bytes;
use sip::{
    Endpoint, EndpointConfig, Event, Flow, Framer, Message, MessageLimits, Response, Status, Transport,
};
use virtual_time::Instant;

/// Reads octets as a message, as a stream in two cuts, and as what a stranger sends to an endpoint, twice.
pub fn message(octets: &[u8]) {
    let limits = MessageLimits::default();
    if let Ok(message) = Message::parse(&Bytes::copy_from_slice(octets), &limits) {
        let encode = |message: &Message| match message {
            Message::Request(request) => request.encode(),
            Message::Response(response) => response.encode(),
        };
        let again = Message::parse(&encode(&message), &limits).expect("what was read can be written");
        assert_eq!(encode(&again), encode(&message));
    }
    assert_eq!(cut(octets, octets.len()), cut(octets, 1 + octets.len() / 3));
    to_an_endpoint(octets);
}

fn cut(octets: &[u8], size: usize) -> Vec<Result<Bytes, ()>> {
    let mut framer = Framer::new(MessageLimits::default());
    let mut found = Vec::new();
    for piece in octets.chunks(size.max(1)) {
        framer.push(piece);
        loop {
            match framer.next_message() {
                Ok(Some(message)) => found.push(Ok(message)),
                Ok(None) => break,
                Err(_) => {
                    found.push(Err(()));
                    return found;
                }
            }
        }
    }
    found
}

fn to_an_endpoint(octets: &[u8]) {
    let own = "192.0.2.2:5060".parse().expect("an address");
    let mut endpoint = Endpoint::new(EndpointConfig::new(vec![(Transport::UDP, own)]), [7; 32]);
    let from = Flow::new(Transport::UDP, "192.0.2.1:5060".parse().expect("an address"));
    let octets = Bytes::copy_from_slice(octets);
    for _ in 0..2 {
        endpoint.handle_packet(Instant::EPOCH, from, &octets);
        let sent: usize =
            core::iter::from_fn(|| endpoint.poll_transmit()).map(|sent| sent.octets.len()).sum();
        assert!(sent <= octets.len() + 256, "{} octets provoke {sent}", octets.len());
        while let Some(event) = endpoint.poll_event() {
            if let Event::Request { transaction, request, .. } = event {
                endpoint.respond(Instant::EPOCH, transaction, &Response::to(&request, Status::BUSY, "b"));
            }
        }
        while endpoint.poll_transmit().is_some() {}
    }
    endpoint.handle_timeout(Instant::EPOCH + core::time::Duration::from_secs(1_000));
    assert_eq!((endpoint.transactions(), endpoint.poll_timeout()), (0, None));
}
