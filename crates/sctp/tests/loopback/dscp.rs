//! The code point of the IP header as it arrives, seen by a relay between the two ends (RFC 2474 §3).
#![cfg(target_os = "linux")]

use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
use sctp::{Association, AssociationConfig, Dscp, Message, PathId, PathSetting, Setting, StreamId};

use crate::{CLIENT, SERVER, bind, echo, port, within_a_minute};

/// Passes packets on between whoever sends first and a server, and keeps what it saw of the first one's.
struct Relay {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    is_over: Arc<AtomicBool>,
}

/// A packet's octet of code point and ECN, and what it carried.
type Seen = (u8, Vec<u8>);

impl Relay {
    fn begin(server: SocketAddr) -> Self {
        let socket = UdpSocket::bind((server.ip(), 0)).unwrap();
        socket.set_read_timeout(Some(std::time::Duration::from_millis(100))).unwrap();
        let options = socket2::SockRef::from(&socket);
        match server {
            SocketAddr::V4(_) => options.set_recv_tos_v4(true).unwrap(),
            SocketAddr::V6(_) => options.set_recv_tclass_v6(true).unwrap(),
        }
        let (seen, is_over) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let relay = Self { address: socket.local_addr().unwrap(), seen, is_over };
        let (seen, is_over) = (Arc::clone(&relay.seen), Arc::clone(&relay.is_over));
        std::thread::spawn(move || {
            let mut client = None;
            while !is_over.load(Ordering::Relaxed) {
                let Some((from, class, octets)) = receive(&socket) else { continue };
                if from == server {
                    socket.send_to(&octets, client.unwrap()).unwrap();
                    continue;
                }
                client = Some(from);
                socket.send_to(&octets, server).unwrap();
                seen.lock().unwrap().push((class, octets));
            }
        });
        relay
    }

    /// The code point of the packet that carried this text.
    fn dscp_of(&self, text: &str) -> Option<u8> {
        let seen = self.seen.lock().unwrap();
        let mut packets = seen.iter();
        let has_text = |octets: &[u8]| octets.windows(text.len()).any(|part| part == text.as_bytes());
        packets.find(|(_, octets)| has_text(octets)).map(|(class, _)| class >> 2)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// A packet with its sender and traffic class; `None` if there was none for a while.
fn receive(socket: &UdpSocket) -> Option<(SocketAddr, u8, Vec<u8>)> {
    let (mut octets, mut space) = (vec![0; 2_000], nix::cmsg_space!(i32));
    let mut slices = [IoSliceMut::new(&mut octets)];
    let (fd, flags) = (socket.as_raw_fd(), MsgFlags::empty());
    let received = match recvmsg::<SockaddrStorage>(fd, &mut slices, Some(&mut space), flags) {
        Ok(received) => received,
        Err(Errno::EAGAIN | Errno::EINTR) => return None,
        Err(error) => panic!("{error}"),
    };
    let class = received.cmsgs().unwrap().find_map(class);
    let from = received.address.unwrap();
    let v4 = from.as_sockaddr_in().map(|address| SocketAddr::V4((*address).into()));
    let from = v4.or_else(|| from.as_sockaddr_in6().map(|address| SocketAddr::V6((*address).into())));
    let len = received.bytes;
    octets.truncate(len);
    Some((from.unwrap(), class.unwrap(), octets))
}

/// The traffic class octet, over either kind of IP.
fn class(message: ControlMessageOwned) -> Option<u8> {
    if let ControlMessageOwned::Ipv4Tos(octet) = message {
        return Some(octet);
    }
    let ControlMessageOwned::Ipv6TClass(class) = message else { return None };
    u8::try_from(class).ok()
}

async fn echoed(association: &Association, text: &'static str) {
    association.send(Message::ordered(StreamId::new(0), text)).await.unwrap();
    assert_eq!(association.recv().await.unwrap().unwrap().message.payload, text);
}

/// RFC 6458 §8.1.12: as configured, as the association is told, and as its path is, over both kinds of IP.
#[tokio::test]
async fn packets_arrive_with_the_code_point_of_their_configuration_association_and_path() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let mut config = AssociationConfig::default();
        let server = bind(address, SERVER, config.clone()).await;
        config.transmission.dscp = Dscp::AF21;
        let client = bind(address, CLIENT, config).await;
        let relay = Relay::begin(server.local_address());
        within_a_minute(async {
            let connected = client.connect(relay.address, port(SERVER));
            let (here, there) = tokio::join!(connected, server.accept());
            let here = here.unwrap();
            tokio::spawn(echo(there.unwrap()));
            echoed(&here, "as configured").await;
            here.set(Setting::Dscp(Dscp::CS5)).unwrap();
            echoed(&here, "as the association").await;
            here.set_path(PathId::FIRST, PathSetting::Dscp(Some(Dscp::EF))).unwrap();
            echoed(&here, "as its path").await;
            here.set_path(PathId::FIRST, PathSetting::Dscp(None)).unwrap();
            echoed(&here, "back again").await;
            here.shutdown().await.unwrap();
        })
        .await;
        let texts = ["as configured", "as the association", "as its path", "back again"];
        let expected = [Dscp::AF21, Dscp::CS5, Dscp::EF, Dscp::CS5].map(|dscp| Some(dscp.get()));
        assert_eq!(texts.map(|text| relay.dscp_of(text)), expected, "{address}");
    }
}
