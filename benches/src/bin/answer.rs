//! `answer`: how long a request takes whose answer is short or long, over our sockets and the kernel's TCP. The script
//! `benches/first-second` in the folder above runs it over emulated paths.
//!
//! * `answer serve ADDRESS`: answers at ports 5201 (TCP) and 5202 on (UDP, one for each of our configurations) until it is killed;
//! * `answer ask ADDRESS RUNS OCTETS...`: asks there, and prints a row of medians for each number of octets.

use std::error::Error;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use headway_benches::clock::median;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::TcpCongestion;
use sctp::{AssociationConfig, EndpointConfig, InitialWindow, Message, SctpPort, StreamId, blocking};

type Failure = Box<dyn Error + Send + Sync>;

const TCP_PORT: u16 = 5201;
/// Octets of a request, whose first eight say how long the answer is to be.
const REQUEST_OCTETS: usize = 100;
const PIECE_OCTETS: usize = 16_384;
/// Everything of a handshake is over by then.
const STANDING: Duration = Duration::from_millis(500);
const USAGE: &str = "usage: answer serve ADDRESS | answer ask ADDRESS RUNS OCTETS...";

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", address] => serve(address.parse()?),
        ["ask", address, runs, ref octets @ ..] => {
            octets.iter().try_for_each(|octets| ask(address.parse()?, runs.parse()?, octets.parse()?))
        }
        _ => Err(USAGE.into()),
    }
}

/// Our configurations, each with its port.
fn configurations() -> [(u16, AssociationConfig); 3] {
    let signalling = AssociationConfig::default();
    let mut ten = signalling.clone();
    ten.congestion.initial_window = InitialWindow::TenPackets;
    let mut as_tcp = ten.clone();
    as_tcp.buffers.grown_bytes = Some(6 << 20);
    as_tcp.path_mtu.bytes = 1500;
    [(5202, signalling), (5203, ten), (5204, as_tcp)]
}

fn sctp_port() -> Result<SctpPort, Failure> {
    Ok(SctpPort::try_from(5201)?)
}

fn serve(address: IpAddr) -> Result<(), Failure> {
    for (port, config) in configurations() {
        let settings = EndpointConfig::with_association(sctp_port()?, config);
        let endpoint = blocking::Endpoint::bind(settings, SocketAddr::new(address, port))?;
        thread::spawn(move || {
            while let Some(association) = endpoint.accept() {
                thread::spawn(move || answer_over_sctp(&association));
            }
        });
    }
    let listener = TcpListener::bind((address, TCP_PORT))?;
    // Not every kernel has it by default; connections have the control of what listens.
    setsockopt(&listener, TcpCongestion, &OsString::from("cubic"))?;
    for stream in listener.incoming() {
        let stream = stream?;
        thread::spawn(move || answer_over_tcp(stream));
    }
    Ok(())
}

fn answer_over_sctp(association: &blocking::Association) -> Result<(), Failure> {
    while let Some(request) = association.recv()? {
        let mut left = asked_for(&request.message.payload)?;
        while left > 0 {
            let length = left.min(PIECE_OCTETS);
            association.send(Message::ordered(StreamId::new(0), vec![7; length]))?;
            left -= length;
        }
    }
    Ok(())
}

fn answer_over_tcp(mut stream: TcpStream) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let mut request = [0; REQUEST_OCTETS];
    stream.read_exact(&mut request)?;
    let mut left = asked_for(&request)?;
    while left > 0 {
        let length = left.min(PIECE_OCTETS);
        stream.write_all(&vec![7; length])?;
        left -= length;
    }
    Ok(())
}

fn request(octets: usize) -> Vec<u8> {
    let mut request = vec![0; REQUEST_OCTETS];
    request[..8].copy_from_slice(&octets.to_be_bytes());
    request
}

fn asked_for(request: &[u8]) -> Result<usize, Failure> {
    let octets = request.get(..8).ok_or("a request without length")?;
    Ok(usize::from_be_bytes(octets.try_into()?))
}

/// Prints the row of so many octets: from asking to the last octet, with the handshake before and over what stands.
fn ask(address: IpAddr, runs: usize, octets: usize) -> Result<(), Failure> {
    let mut cells = Vec::new();
    for waits in [Duration::ZERO, STANDING] {
        let mut times = vec![Vec::new(); configurations().len() + 1];
        for _ in 0..runs {
            for (times, (port, config)) in times.iter_mut().zip(configurations()) {
                times.push(over_sctp(SocketAddr::new(address, port), config, octets, waits)?);
            }
            if let Some(times) = times.last_mut() {
                times.push(over_tcp(SocketAddr::new(address, TCP_PORT), octets, waits)?);
            }
        }
        cells.extend(times.into_iter().map(|times| format!("{} ms", median(times).as_millis())));
    }
    println!("| {octets} | {} |", cells.join(" | "));
    Ok(())
}

/// Asks over an association of its own, at once or after it has stood for a while.
fn over_sctp(
    to: SocketAddr,
    config: AssociationConfig,
    octets: usize,
    waits: Duration,
) -> Result<Duration, Failure> {
    let any = SocketAddr::new(IpAddr::from([0, 0, 0, 0]), 0);
    let endpoint = blocking::Endpoint::bind(EndpointConfig::with_association(sctp_port()?, config), any)?;
    let begun = Instant::now();
    let connecting = endpoint.connect_early(to, sctp_port()?)?;
    let begun = if waits.is_zero() { begun } else { after(waits) };
    let association = connecting.association();
    association.send(Message::ordered(StreamId::new(0), Bytes::from(request(octets))))?;
    let mut left = octets;
    while left > 0 {
        left -= association.recv()?.ok_or("the answer is too short")?.message.payload.len();
    }
    let taken = begun.elapsed();
    association.shutdown()?;
    Ok(taken)
}

/// Asks over a connection of its own, at once or after it has stood for a while.
fn over_tcp(to: SocketAddr, octets: usize, waits: Duration) -> Result<Duration, Failure> {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(to)?;
    stream.set_nodelay(true)?;
    let begun = if waits.is_zero() { begun } else { after(waits) };
    stream.write_all(&request(octets))?;
    let (mut left, mut piece) = (octets, vec![0; PIECE_OCTETS]);
    while left > 0 {
        left -= match stream.read(&mut piece)? {
            0 => return Err("the answer is too short".into()),
            read => read,
        };
    }
    Ok(begun.elapsed())
}

/// Waits so long, and gives the time then.
fn after(waits: Duration) -> Instant {
    thread::park_timeout(waits);
    Instant::now()
}
