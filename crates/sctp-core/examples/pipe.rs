//! The core without sockets and without a runtime: two threads that talk SCTP through a pipe of datagrams.
//!
//! `cargo run -p sctp-core --example pipe`
//!
//! [`Driver`] is all that a program needs to embed the core; for a pipe of its own (DTLS, shared memory, a radio link) it
//! replaces [`Pipe`].
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "its output is what an example is for")]
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "a program handles the events it knows: there may be more"
)]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "clocks and threads are the driver's"
)]

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use sctp_core::{
    AssociationConfig, AssociationId, Datagram, Destination, Endpoint, EndpointConfig, Event, Message,
    Profile, SctpPort, StreamId,
};
use virtual_time::Instant;

pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// One end of a pipe that carries datagrams and keeps their boundaries.
pub(crate) struct Pipe {
    to: Sender<Vec<u8>>,
    from: Receiver<Vec<u8>>,
}

impl Pipe {
    pub(crate) fn pair() -> (Self, Self) {
        let ((to_right, at_right), (to_left, at_left)) = (mpsc::channel(), mpsc::channel());
        (Self { to: to_right, from: at_left }, Self { to: to_left, from: at_right })
    }
}

/// Carries packets, time and events between a core and its surroundings.
pub(crate) struct Driver {
    pub(crate) core: Endpoint,
    pipe: Pipe,
    started: std::time::Instant,
    packet: Vec<u8>,
}

impl Driver {
    pub(crate) fn new(core: Endpoint, pipe: Pipe) -> Self {
        Self { core, pipe, started: std::time::Instant::now(), packet: Vec::new() }
    }

    /// Returns the time on the driver's clock, which never goes back.
    pub(crate) fn now(&self) -> Instant {
        Instant::EPOCH + self.started.elapsed()
    }

    /// Drives the core until its association is over. `user` hears every event, and may call the core.
    pub(crate) fn run(
        &mut self,
        mut user: impl FnMut(&mut Endpoint, Instant, AssociationId, Event),
    ) -> Outcome<()> {
        loop {
            // Events first: what the user answers at once travels with the SACK.
            let (mut end, now) = (None, self.now());
            while let Some((id, event)) = self.core.poll_event() {
                match event {
                    Event::ShutdownComplete => end = Some(Ok(())),
                    Event::CommunicationLost(error) | Event::CannotStart(error) => {
                        end = Some(Err(error.into()));
                    }
                    event => user(&mut self.core, now, id, event),
                }
            }
            // The end was told, and its last packet (SHUTDOWN COMPLETE, or ABORT) is still here: fetch it before leaving, or
            // the peer asks for it again and again.
            self.transmit();
            if let Some(end) = end {
                return end;
            }
            self.wait()?;
        }
    }

    fn transmit(&mut self) {
        while self.core.poll_transmit(self.now(), &mut self.packet).is_some() {
            // To an end that is gone a packet is lost, as on any network: the core's timers see to it.
            let _gone = self.pipe.to.send(std::mem::take(&mut self.packet));
        }
    }

    /// Waits for a packet, at most until the core wants to be called again.
    fn wait(&mut self) -> Outcome<()> {
        let left = self.core.poll_timeout().map_or(Duration::MAX, |due| due.since(self.now()));
        match self.pipe.from.recv_timeout(left) {
            Ok(payload) => {
                let datagram = Datagram::new(Destination::channel(0), &payload);
                self.core.handle_packet(self.now(), datagram);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err("nobody is at the other end of the pipe".into());
            }
        }
        if self.core.poll_timeout().is_some_and(|due| due <= self.now()) {
            self.core.handle_timeout(self.now());
        }
        Ok(())
    }
}

/// Returns a core for either end. A program takes the entropy from its operating system.
pub(crate) fn core(entropy: [u8; 32]) -> Outcome<Endpoint> {
    let webrtc = AssociationConfig::profile(Profile::WebRtc);
    let config = EndpointConfig::with_association(SctpPort::try_from(5000)?, webrtc);
    Ok(Endpoint::new(config, entropy)?)
}

/// Sends back whatever comes, on the stream it came on, until the peer shuts down.
pub(crate) fn echo(core: &mut Endpoint, now: Instant, id: AssociationId, event: Event) {
    if event == Event::MessageReady {
        while let Some(received) = core.receive(now, id) {
            // Fails once the peer shuts down: then nobody waits for it.
            let _unwanted = core.send(now, id, received.message.into());
        }
    }
}

/// Asks on several streams at once, and shuts down when everything is answered; returns the answers.
pub(crate) fn ask(client: &mut Driver, questions: &'static [&str]) -> Outcome<Vec<String>> {
    let (port, config) = (client.core.port(), client.core.accepted().clone());
    let id = client.core.connect(client.now(), &[Destination::channel(0)], port, config)?;
    for (stream, question) in (0..).zip(questions) {
        client.core.send(client.now(), id, Message::ordered(StreamId::new(stream), *question))?;
    }
    let mut answers = Vec::new();
    client.run(|core, now, id, event| {
        if event == Event::MessageReady {
            while let Some(received) = core.receive(now, id) {
                answers.push(String::from_utf8_lossy(&received.message.payload).into_owned());
            }
            if answers.len() == questions.len() {
                // Fails only for an association that is over.
                let _over = core.shutdown(now, id);
            }
        }
    })?;
    Ok(answers)
}

pub(crate) fn main() -> Outcome<()> {
    let (near, far) = Pipe::pair();
    let mut server = Driver::new(core([1; 32])?, far);
    let serving = thread::spawn(move || server.run(echo));
    let mut client = Driver::new(core([2; 32])?, near);
    for answer in ask(&mut client, &["INVITE", "OPTIONS", "BYE"])? {
        println!("{answer}");
    }
    serving.join().map_err(|_| "the server has panicked")??;
    println!("both ends are shut down");
    Ok(())
}
