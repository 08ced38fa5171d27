//! Associations set up in memory, both ends in one thread and nothing between them: INIT to COOKIE ACK.
//!
//! Ours and rtc-sctp's stand in one endpoint for each side, those of dcsctp are sockets of their own. All of them are kept
//! until the time is taken. Ours signs its cookies and offers its extensions, authentication among them, as it does by default.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use dcsctp::api::{DcSctpSocket, Options, SocketEvent};
use headway_benches::clock::timed;
use headway_benches::pair::{Framing, config, connect, hosts};
use rtc_sctp::{
    Association, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, Event, Payload,
    ServerConfig, TransportConfig,
};
use rtc_shared::TransportProtocol;

/// Associations a second of processor time, when so many are set up one after the other.
#[must_use]
pub fn headway(count: u16) -> f64 {
    let config = config(Framing::Data, 64);
    let (mut left, mut right) = hosts(&config);
    let mut now = virtual_time::Instant::from_millis(1000);
    rate(count, |number| {
        connect(&mut left, &mut right, &mut now, &config, number);
    })
}

/// The same for dcsctp.
///
/// # Panics
/// If an association does not come up; so for all.
#[must_use]
pub fn dcsctp(count: u16) -> f64 {
    let options = Options::default();
    let mut ends = Vec::with_capacity(2 * usize::from(count));
    rate(count, |_number| {
        let mut pair = [(); 2].map(|()| dcsctp::new_socket("", &options));
        let mut is_up = [false; 2];
        pair[0].connect();
        for turn in [0, 1, 0, 1, 0] {
            is_up[turn] |= pass(&mut pair, turn);
        }
        assert!(is_up == [true; 2], "both are connected");
        ends.extend(pair);
    })
}

/// Hands to the other end what this one has to send; whether it has come up.
fn pass(pair: &mut [Box<dyn DcSctpSocket>; 2], from: usize) -> bool {
    let mut is_up = false;
    while let Some(event) = pair[from].poll_event() {
        match event {
            SocketEvent::SendPacket(packet) => pair[1 - from].handle_input(&packet),
            SocketEvent::OnConnected() => is_up = true,
            _ => {}
        }
    }
    is_up
}

/// The same for rtc-sctp.
///
/// # Panics
/// See [`dcsctp`].
#[must_use]
pub fn rtc_sctp(count: u16) -> f64 {
    let now = Instant::now();
    let [mut left, mut right] = [1, 2].map(|side| {
        let server = Some(Arc::new(ServerConfig::new(TransportConfig::default())));
        Endpoint::new(address(side, 0), TransportProtocol::UDP, Arc::new(EndpointConfig::new()), server)
    });
    let mut ends = Vec::with_capacity(2 * usize::from(count));
    rate(count, |number| {
        let (near, far) = (address(1, number), address(2, number));
        let client = ClientConfig::new(TransportConfig::default());
        let mut near_end = Some(left.connect(now, client, far).expect("the configuration works"));
        let mut far_end = None;
        for _ in 0..2 {
            carry(now, &mut near_end, near, (&mut right, &mut far_end));
            carry(now, &mut far_end, far, (&mut left, &mut near_end));
        }
        let mut pair = [near_end, far_end].map(|end| end.expect("it is there").1);
        let is_up = |end: &mut Association| {
            std::iter::from_fn(|| end.poll()).any(|event| matches!(event, Event::Connected))
        };
        assert!(pair.iter_mut().all(is_up), "both are connected");
        ends.extend(pair);
    })
}

type RtcEnd = Option<(AssociationHandle, Association)>;

/// Hands what an association has to send to the endpoint of the other one, and that one what the endpoint makes of it.
fn carry(now: Instant, from: &mut RtcEnd, source: SocketAddr, (endpoint, to): (&mut Endpoint, &mut RtcEnd)) {
    let Some((_, from)) = from else { return };
    while let Some(transmit) = from.poll_transmit(now) {
        let Payload::RawEncode(packets) = transmit.message else { continue };
        for packet in packets {
            match endpoint.handle(now, source, None, packet) {
                Some((_, DatagramEvent::AssociationEvent(event))) => {
                    to.as_mut().expect("the endpoint knows it").1.handle_event(event);
                }
                Some((handle, DatagramEvent::NewAssociation(association))) => {
                    *to = Some((handle, association));
                }
                Some(_) | None => {}
            }
        }
    }
}

fn address(side: u8, number: u16) -> SocketAddr {
    let [high, low] = number.to_be_bytes();
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, side, high, low)), 9899)
}

fn rate(count: u16, mut set_up: impl FnMut(u16)) -> f64 {
    let (time, ()) = timed(|| (0..count).for_each(&mut set_up));
    f64::from(count) / time.as_secs_f64()
}
