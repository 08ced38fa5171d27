//! One end of an association on dcsctp, the SCTP of WebRTC, in UDP: takes the options of `peer` as far as it can, and
//! prints its lines.
//!
//! ```text
//! peer-dcsctp serve [--port N] [--from N] [--udp N] [--mode echo|verify|both] [--end wait|shutdown|abort] …
//! peer-dcsctp send --to A [--encap N] [--messages N] [--bytes N] [--streams N] [--unordered] [--no-answers] …
//! ```
//!
//! The stack has one association and knows both ports beforehand: `--from` is the client's.
#![forbid(unsafe_code)]

mod content;
mod conversation;
mod options;

use std::io;
use std::net::{Ipv6Addr, SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use dcsctp::api::{DcSctpSocket, SocketEvent, SocketTime};

use self::conversation::Conversation;
use self::options::Options;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(what) => {
            eprintln!("peer-dcsctp: {what}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(Some(true)) => ExitCode::SUCCESS,
        Ok(Some(false)) => ExitCode::FAILURE,
        Ok(None) => {
            println!("{{\"event\":\"timeout\"}}");
            ExitCode::from(3)
        }
        Err(error) => {
            println!("{{\"event\":\"error\",\"call\":\"socket\",\"message\":\"{error}\"}}");
            ExitCode::FAILURE
        }
    }
}

/// Drives the stack until its association has ended: whether all was as expected, `None` if time is over.
fn run(options: &Options) -> io::Result<Option<bool>> {
    let udp = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, options.udp))?;
    let started = Instant::now();
    let mut stack = dcsctp::new_socket("peer", &options.stack());
    let mut conversation = Conversation::new(options);
    let mut there = options.to.map(|address| SocketAddr::new(address, options.encap));
    let mut buffer = vec![0; 65_536];
    if options.is_server {
        println!("{{\"event\":\"listening\",\"port\":{}}}", options.port);
    } else {
        stack.connect();
    }
    while started.elapsed() < options.time {
        stack.advance_time(SocketTime::zero() + started.elapsed());
        while let Some(event) = stack.poll_event() {
            match (event, there) {
                (SocketEvent::SendPacket(packet), Some(there)) => drop(udp.send_to(&packet, there)?),
                (event, _) => conversation.note(event),
            }
        }
        conversation.step(stack.as_mut());
        if let Some(is_good) = conversation.outcome() {
            flush(stack.as_mut(), &udp, there)?;
            return Ok(Some(is_good));
        }
        udp.set_read_timeout(Some(patience(stack.as_ref(), started)))?;
        match udp.recv_from(&mut buffer) {
            Ok((length, from)) => {
                there = Some(from);
                stack.advance_time(SocketTime::zero() + started.elapsed());
                stack.handle_input(buffer.get(..length).unwrap_or_default());
            }
            Err(error) if is_empty(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Sends what is left.
fn flush(stack: &mut dyn DcSctpSocket, udp: &UdpSocket, there: Option<SocketAddr>) -> io::Result<()> {
    while let Some(event) = stack.poll_event() {
        if let (SocketEvent::SendPacket(packet), Some(there)) = (event, there) {
            udp.send_to(&packet, there)?;
        }
    }
    Ok(())
}

/// Returns how long to wait for a packet: until the next timer, a moment at least.
fn patience(stack: &dyn DcSctpSocket, started: Instant) -> Duration {
    let due = stack.poll_timeout() - SocketTime::zero();
    due.saturating_sub(started.elapsed()).clamp(Duration::from_micros(100), Duration::from_millis(20))
}

fn is_empty(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::ConnectionRefused)
}
