//! A send buffer of the kernel that is full again and again delays packets and loses none.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sctp::{AssociationConfig, Delivery, Destination, Endpoint, EndpointConfig, IoStatistics, PacketIo};
use sctp_io::{NetworkError, Outgoing, ReceiveBatch, UdpEncapsulation};

use crate::{CLIENT, SERVER, bind, drain, number_of, numbered, port, within_a_minute};

/// A socket that is full on every third call: of several packets it takes the first, a single one it refuses.
#[derive(Debug)]
struct OftenFull {
    socket: UdpEncapsulation,
    calls: AtomicU32,
    was_full: Arc<AtomicU32>,
}

impl PacketIo for OftenFull {
    fn send(&self, packets: &mut Outgoing<'_>) -> io::Result<()> {
        if self.calls.fetch_add(1, Ordering::Relaxed) % 3 != 2 {
            return self.socket.send(packets);
        }
        if let Some(segment) = packets.segment_bytes {
            let (first, rest) = packets.contents.split_at(segment.min(packets.contents.len()));
            self.socket.send(&mut Outgoing { contents: first, ..*packets })?;
            packets.contents = rest;
        }
        self.was_full.fetch_add(1, Ordering::Relaxed);
        Err(io::ErrorKind::WouldBlock.into())
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

impl AsFd for OftenFull {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[tokio::test]
async fn what_a_full_socket_leaves_is_sent_when_it_is_writable() {
    within_a_minute(async {
        let server = bind("127.0.0.1:0", SERVER, AssociationConfig::default()).await;
        let socket = UdpEncapsulation::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let was_full = Arc::new(AtomicU32::new(0));
        let often_full = OftenFull { socket, calls: AtomicU32::new(0), was_full: Arc::clone(&was_full) };
        let builder = Endpoint::builder(EndpointConfig::new(port(CLIENT)));
        let client = builder.bind_io(often_full).await.unwrap();
        let destination = [sctp::udp(server.local_address())];
        let (here, there) = tokio::join!(client.connect(&destination, port(SERVER)), server.accept());
        let (here, there) = (here.unwrap(), there.unwrap());
        let sending = async {
            for number in 0..500 {
                here.send(numbered(0, number, 5_000, Delivery::Ordered)).await.unwrap();
            }
            here.shutdown().await.unwrap();
        };
        let ((), messages) = tokio::join!(sending, drain(&there));
        assert_eq!(messages.iter().map(number_of).collect::<Vec<_>>(), (0..500).collect::<Vec<_>>());
        assert!(was_full.load(Ordering::Relaxed) > 10, "hardly ever full: this test shows nothing");
    })
    .await;
}
