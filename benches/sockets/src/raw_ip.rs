//! What raw IP sockets of protocol 132 carry without SCTP above them: the ceiling of SCTP directly over IP.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use headway_benches::raw_udp::pin;
use sctp::{PacketIo, RawIp, SctpPort};
use sctp_core::{Destination, Encapsulation};
use sctp_io::{Outgoing, ReceiveBatch};

/// Packets a second of `packet_bytes`, from processor 0 to 1, handed over in the runs and taken in the batches in which
/// the drivers do it.
///
/// # Panics
/// The system refuses sockets or threads.
#[must_use]
pub fn packets_per_s(packet_bytes: usize, time: Duration) -> f64 {
    let here = IpAddr::from(Ipv4Addr::LOCALHOST);
    let there = IpAddr::from(Ipv4Addr::new(127, 0, 0, 2));
    let [from, to] = [FROM, TO].map(|port| SctpPort::new(port).expect("not zero"));
    let sender = RawIp::bind(&[there], from).expect("the process may");
    let receiver = Arc::new(RawIp::bind(&[here], to).expect("the process may"));
    let over = Arc::new(AtomicBool::new(false));
    let received = Arc::new(AtomicU64::new(0));
    let counting = {
        let (receiver, over, received) = (Arc::clone(&receiver), Arc::clone(&over), Arc::clone(&received));
        thread::spawn(move || {
            pin(1);
            let mut batch = ReceiveBatch::new();
            while !over.load(Ordering::Relaxed) {
                if receiver.receive(&mut batch).is_ok() {
                    received.fetch_add(batch.datagrams().count() as u64, Ordering::Relaxed);
                }
                // Under SCHED_FIFO who measures would never have a turn.
                thread::yield_now();
            }
        })
    };
    let sending = {
        let over = Arc::clone(&over);
        thread::spawn(move || {
            pin(0);
            flood(
                &sender,
                Destination { address: here, encapsulation: Encapsulation::Ip },
                packet_bytes,
                &over,
            );
        })
    };
    thread::park_timeout(WARM_UP);
    let (before, begun) = (received.load(Ordering::Relaxed), Instant::now());
    thread::park_timeout(time);
    let packets = received.load(Ordering::Relaxed) - before;
    let seconds = begun.elapsed().as_secs_f64();
    over.store(true, Ordering::Relaxed);
    sending.join().expect("the sender does not panic");
    counting.join().expect("the receiver does not panic");
    packets as f64 / seconds
}

/// What the receiver has no room for is lost.
fn flood(sender: &RawIp, destination: Destination, packet_bytes: usize, over: &AtomicBool) {
    let mut packet = [FROM.to_be_bytes(), TO.to_be_bytes()].concat();
    packet.resize(packet_bytes, 7);
    let run = packet.repeat(RUN_PACKETS);
    while !over.load(Ordering::Relaxed) {
        let mut outgoing = Outgoing::single(destination, &run);
        outgoing.segment_bytes = Some(packet_bytes);
        // A full buffer is what a flood meets.
        let _ = sender.send(&mut outgoing);
        thread::yield_now();
    }
}

const FROM: u16 = 5003;
const TO: u16 = 5004;
/// As many as the drivers hand over at once.
const RUN_PACKETS: usize = 46;
const WARM_UP: Duration = Duration::from_millis(100);
