use std::net::UdpSocket;
use std::os::unix::net::{UnixDatagram, UnixStream};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::*;

fn pair() -> (DatagramChannel, UnixDatagram) {
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    (DatagramChannel::new(ours).unwrap(), theirs)
}

#[test]
fn a_run_of_packets_leaves_as_datagrams_of_its_segments() {
    let (channel, other_end) = pair();
    let mut packets =
        Outgoing { segment_bytes: Some(4), ..Outgoing::single(DatagramChannel::PEER, b"aaaabbbbcc") };
    channel.send(&mut packets).unwrap();
    let mut buffer = [0; 16];
    let datagrams: Vec<_> = (0..3)
        .map(|_| {
            let len = other_end.recv(&mut buffer).unwrap();
            buffer[..len].to_vec()
        })
        .collect();
    assert_eq!(datagrams, [&b"aaaa"[..], b"bbbb", b"cc"]);
    assert_eq!(channel.statistics().packets_sent, 3);
}

#[test]
fn datagrams_arrive_as_packets_of_the_one_peer() {
    let (channel, other_end) = pair();
    other_end.send(b"one").unwrap();
    other_end.send(b"two").unwrap();
    let mut batch = ReceiveBatch::new();
    channel.receive(&mut batch).unwrap();
    let arrived: Vec<_> =
        batch.datagrams().map(|datagram| (datagram.source, datagram.payload.to_vec())).collect();
    assert_eq!(arrived, [(DatagramChannel::PEER, b"one".to_vec()), (DatagramChannel::PEER, b"two".to_vec())]);
    assert_eq!(channel.receive(&mut batch).unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn full_channel_keeps_what_it_did_not_take() {
    let (channel, _other_end) = pair();
    let contents = vec![0; 1_000];
    let mut left = Outgoing::single(DatagramChannel::PEER, &contents);
    let error = loop {
        if let Err(error) = channel.send(&mut left) {
            break error;
        }
        left.contents = &contents;
    };
    assert_eq!((error.kind(), left.contents.len()), (io::ErrorKind::WouldBlock, 1_000));
}

#[test]
fn udp_peer_that_is_not_there_yet_is_counted_and_no_failure() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    // A port that is given to nobody who asks for any.
    socket.connect("127.0.0.1:9").unwrap();
    let channel = DatagramChannel::new(socket).unwrap();
    channel.send(&mut Outgoing::single(DatagramChannel::PEER, b"early")).unwrap();
    // The kernel's answer takes its time on a busy machine.
    let timeout = Timespec { tv_sec: 5, tv_nsec: 0 };
    assert_eq!(
        poll(&mut [PollFd::new(&channel, PollFlags::ERR)], Some(&timeout)).unwrap(),
        1,
        "nothing came"
    );
    let mut batch = ReceiveBatch::new();
    let _nothing_or_would_block = channel.receive(&mut batch);
    assert_eq!(batch.datagrams().count(), 0);
    assert_eq!(channel.statistics().reported_unreachable, 1);
}

#[test]
fn stream_sockets_and_other_peers_are_refused() {
    let (stream, _) = UnixStream::pair().unwrap();
    assert_eq!(DatagramChannel::new(stream).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    let (channel, _other_end) = pair();
    assert_eq!(channel.check(Destination::channel(1)).unwrap_err().kind(), io::ErrorKind::Unsupported);
}
