//! What UDP sockets alone carry: the ceiling, measured in the same run as what stands below it.

use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};

/// Confines the calling thread, and what it starts, to one processor.
///
/// # Panics
/// There is no such processor.
pub fn pin(processor: usize) {
    let mut set = CpuSet::new();
    set.set(processor).expect("processors are few");
    sched_setaffinity(Pid::from_raw(0), &set).expect("the processor is there");
}

/// Goodput in 10⁶ octets a second of packets of `packet_bytes`, `segments` with each system call: sent from processor 0,
/// counted on processor 1.
///
/// # Panics
/// The system refuses sockets or threads.
#[must_use]
pub fn throughput(packet_bytes: usize, segments: usize, time: Duration) -> f64 {
    let (receiver, sender) = (socket(), socket());
    let to = receiver.local_addr().expect("a bound socket has an address");
    let received = Arc::new(AtomicU64::new(0));
    let over = Arc::new(AtomicBool::new(false));
    let counting = count(receiver, Arc::clone(&received), Arc::clone(&over));
    let sending = flood(sender, to, packet_bytes, segments, Arc::clone(&over));
    thread::park_timeout(WARM_UP);
    let (before, begun) = (received.load(Ordering::Relaxed), Instant::now());
    thread::park_timeout(time);
    let octets = received.load(Ordering::Relaxed) - before;
    let seconds = begun.elapsed().as_secs_f64();
    over.store(true, Ordering::Relaxed);
    sending.join().expect("the sender does not panic");
    counting.join().expect("the receiver does not panic");
    octets as f64 / seconds / 1e6
}

/// Median round-trip time of `message_bytes` in microseconds, both ends on processor 0 with blocking calls.
///
/// # Panics
/// The system refuses sockets or threads.
#[must_use]
pub fn round_trip_us(message_bytes: usize, rounds: usize) -> f64 {
    let (near, far) = (blocking(), blocking());
    near.connect(far.local_addr().expect("bound")).expect("loopback is there");
    far.connect(near.local_addr().expect("bound")).expect("loopback is there");
    let echoing = thread::spawn(move || {
        pin(0);
        let mut buffer = vec![0; message_bytes];
        for _ in 0..rounds {
            let len = far.recv(&mut buffer).expect("nothing is lost on an idle loopback");
            far.send(&buffer[..len]).expect("loopback is there");
        }
    });
    let pinging = thread::spawn(move || {
        pin(0);
        let mut buffer = vec![0; message_bytes];
        let mut times = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let begun = Instant::now();
            near.send(&buffer).expect("loopback is there");
            near.recv(&mut buffer).expect("nothing is lost on an idle loopback");
            times.push(begun.elapsed().as_secs_f64() * 1e6);
        }
        times
    });
    let times = pinging.join().expect("the sender does not panic");
    echoing.join().expect("the echo does not panic");
    crate::median(times)
}

fn blocking() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").expect("loopback is there")
}

/// Buffers of 4 MiB where the system allows, as the stacks ask for.
fn socket() -> UdpSocket {
    let socket = blocking();
    let option = nix::sys::socket::sockopt::RcvBufForce;
    // Refused without privilege: then it is what the system's limit allows.
    let _ = nix::sys::socket::setsockopt(&socket, option, &BUFFER_BYTES);
    socket.set_nonblocking(true).expect("sockets can be made non-blocking");
    socket
}

fn count(socket: UdpSocket, received: Arc<AtomicU64>, over: Arc<AtomicBool>) -> JoinHandle<()> {
    thread::spawn(move || {
        pin(1);
        let state = UdpSocketState::new((&socket).into()).expect("a UDP socket");
        let mut storage = vec![0; BATCH_SIZE * 65_536];
        while !over.load(Ordering::Relaxed) {
            let mut slots: Vec<_> = storage.chunks_mut(65_536).map(IoSliceMut::new).collect();
            let mut metas = [RecvMeta::default(); BATCH_SIZE];
            if let Ok(messages) = state.recv((&socket).into(), &mut slots, &mut metas) {
                let octets: usize = metas.iter().take(messages).map(|meta| meta.len).sum();
                received.fetch_add(octets as u64, Ordering::Relaxed);
            }
            // Under SCHED_FIFO who measures would never have a turn.
            thread::yield_now();
        }
    })
}

fn flood(
    socket: UdpSocket,
    destination: SocketAddr,
    packet_bytes: usize,
    segments: usize,
    over: Arc<AtomicBool>,
) -> JoinHandle<()> {
    thread::spawn(move || {
        pin(0);
        let state = UdpSocketState::new((&socket).into()).expect("a UDP socket");
        let contents = vec![7; packet_bytes * segments];
        let segment_size = (segments > 1).then_some(packet_bytes);
        let transmit = Transmit { destination, ecn: None, contents: &contents, segment_size, src_ip: None };
        while !over.load(Ordering::Relaxed) {
            for _ in 0..CALLS_BETWEEN_TURNS {
                // What the receiver has no room for is lost, as it is with UDP.
                let _ = state.try_send((&socket).into(), &transmit);
            }
            thread::yield_now();
        }
    })
}

/// As who receives gives way, but seldom enough that it does not show.
const CALLS_BETWEEN_TURNS: usize = 64;
const BUFFER_BYTES: usize = 4 << 20;
const WARM_UP: Duration = Duration::from_millis(100);
