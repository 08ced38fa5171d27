//! What stands in a signature of this crate can be named from it: a program needs no second crate to write a function's type.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use sctp::{
    AnnouncedPrimary, AssociationConfig, Bytes, Datagram, Destination, DualStackRawIp, Ecn, Fragmentation,
    Instant, IoStatistics, NetworkError, NetworkErrorKind, Notice, Outgoing, PacketIo, Piece, ReceiveBatch,
    Received, RequestError, UdpEncapsulation, trace,
};

/// A socket of a program's own, which marks every packet as able to bear ECN.
#[derive(Debug)]
struct Marking(UdpEncapsulation);

impl AsFd for Marking {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl PacketIo for Marking {
    fn check(&self, destination: Destination) -> io::Result<()> {
        self.0.check(destination)
    }

    fn send(&self, packets: &mut Outgoing<'_>) -> io::Result<()> {
        packets.ecn = Ecn::Ect0;
        packets.fragmentation = Fragmentation::Allowed;
        self.0.send(packets)
    }

    fn receive(&self, batch: &mut ReceiveBatch) -> io::Result<()> {
        self.0.receive(batch)
    }

    fn receive_error(&self) -> io::Result<Option<NetworkError>> {
        let error = self.0.receive_error()?;
        Ok(error.filter(|error| error.kind != NetworkErrorKind::Other(0)))
    }

    fn local_address(&self) -> SocketAddr {
        self.0.local_address()
    }

    fn statistics(&self) -> IoStatistics {
        self.0.statistics()
    }
}

fn payload(received: Received) -> (Bytes, Instant, Option<Piece>) {
    (received.message.payload, received.complete_at, received.piece)
}

fn first<'a>(batch: &'a ReceiveBatch) -> Option<Datagram<'a>> {
    batch.datagrams().next()
}

fn is_bound(_io: &DualStackRawIp, _notice: Notice) {}

#[test]
fn each_type_in_a_signature_has_a_name_here() {
    let marking = Marking(UdpEncapsulation::bind("127.0.0.1:0".parse().unwrap()).unwrap());
    let to = sctp::udp(marking.local_address());
    marking.send(&mut Outgoing::single(to, b"itself")).unwrap();
    let mut batch = ReceiveBatch::new();
    while marking.receive(&mut batch).is_err() {}
    assert_eq!(first(&batch).map(|datagram| datagram.payload), Some(&b"itself"[..]));
    let announced: AnnouncedPrimary = AssociationConfig::default().paths.announced_primary;
    assert_eq!((announced, trace::TARGET), (AnnouncedPrimary::Nothing, "sctp"));
    assert!(RequestError::NoDestination.to_string().contains("no destination"));
    let _named: fn(&DualStackRawIp, Notice) = is_bound;
    let _named: fn(Received) -> _ = payload;
}
