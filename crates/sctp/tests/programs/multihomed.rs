//! The multihomed client, whose first path is cut between two requests.

#[path = "../../examples/multihomed.rs"]
#[allow(dead_code, reason = "`main` talks to a server of its user's")]
mod program;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use sctp::{
    AssociationConfig, Destination, Endpoint, EndpointConfig, IoStatistics, NetworkError, Outgoing, PacketIo,
    PathId, PathState, ReceiveBatch, SctpPort, UdpEncapsulation,
};

use crate::within_two_minutes;

const SERVER: [IpAddr; 2] = [v4([127, 15, 0, 1]), v4([127, 15, 0, 2])];
const CLIENT: [IpAddr; 2] = [v4([127, 15, 0, 3]), v4([127, 15, 0, 4])];

const fn v4([a, b, c, d]: [u8; 4]) -> IpAddr {
    IpAddr::V4(std::net::Ipv4Addr::new(a, b, c, d))
}

/// The cable between the first addresses of both sides.
#[derive(Debug, Default)]
struct Cable {
    is_cut: AtomicBool,
    swallowed: AtomicU32,
}

/// A socket whose packets to the peer's first address go through the cable.
#[derive(Debug)]
struct Plugged {
    socket: UdpEncapsulation,
    far_end: IpAddr,
    cable: Arc<Cable>,
}

impl PacketIo for Plugged {
    fn send(&self, packets: &mut Outgoing<'_>) -> io::Result<()> {
        if packets.destination.address == self.far_end && self.cable.is_cut.load(Ordering::SeqCst) {
            self.cable.swallowed.fetch_add(1, Ordering::SeqCst);
            packets.contents = &[];
            return Ok(());
        }
        self.socket.send(packets)
    }

    fn check(&self, destination: Destination) -> io::Result<()> {
        self.socket.check(destination)
    }

    fn receive(&self, batch: &mut ReceiveBatch) -> io::Result<()> {
        self.socket.receive(batch)
    }

    fn receive_error(&self) -> io::Result<Option<NetworkError>> {
        self.socket.receive_error()
    }

    fn local_address(&self) -> SocketAddr {
        self.socket.local_address()
    }

    fn statistics(&self) -> IoStatistics {
        self.socket.statistics()
    }
}

impl AsFd for Plugged {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Binds an endpoint at both of its addresses.
async fn bind(port: u16, addresses: [IpAddr; 2], far_end: IpAddr, cable: &Arc<Cable>) -> Endpoint {
    let association = AssociationConfig::default();
    let mut config = EndpointConfig::with_association(SctpPort::try_from(port).unwrap(), association);
    config.local_addresses = addresses.to_vec();
    let socket = UdpEncapsulation::bind_addresses(&addresses, 0).unwrap();
    Endpoint::builder(config).bind_io(Plugged { socket, far_end, cable: Arc::clone(cable) }).await.unwrap()
}

/// Answers whoever comes.
async fn serve(endpoint: Endpoint) {
    while let Some(association) = endpoint.accept().await {
        while let Ok(Some(received)) = association.recv().await {
            association.send(received.message).await.unwrap();
        }
    }
}

/// Packets sent by this path so far.
fn packets(association: &sctp::Association, path: usize) -> u64 {
    association.statistics().paths[path].counters.packets_sent
}

#[tokio::test]
async fn requests_are_answered_by_the_other_path_once_the_first_is_cut() {
    within_two_minutes(async {
        let cable = Arc::new(Cable::default());
        let server = bind(7, SERVER, CLIENT[0], &cable).await;
        let client = bind(50_000, CLIENT, SERVER[0], &cable).await;
        let port = server.local_address().port();
        tokio::spawn(serve(server));
        let servers = SERVER.map(|address| Destination::from(SocketAddr::new(address, port)));
        let association = program::connect(&client, servers).await.unwrap();
        // The second path carries data once a HEARTBEAT has confirmed its address.
        let mut number = 0;
        while association.statistics().paths.get(1).is_none_or(|path| path.state != PathState::Active) {
            program::request(&association, number).await.unwrap();
            number += 1;
        }
        assert_eq!(association.status().unwrap().path.path, PathId::FIRST);

        cable.is_cut.store(true, Ordering::SeqCst);
        let before = packets(&association, 1);
        for number in 0..50 {
            program::request(&association, number).await.unwrap();
        }
        assert!(cable.swallowed.load(Ordering::SeqCst) > 0, "the first path was in use");
        assert!(packets(&association, 1) >= before + 50, "requests went by the second path");
        let paths = association.statistics().paths;
        assert_ne!((paths[0].address, paths[0].state), (SERVER[0], PathState::Active));
        assert_eq!(association.status().unwrap().path.address, SERVER[1]);
        association.shutdown().await.unwrap();
    })
    .await;
}
