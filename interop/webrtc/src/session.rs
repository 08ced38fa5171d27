//! A connection on a socket: from the offer to the end, with what it found.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use data_channel::DtlsRole;
use sctp_core::{AssociationError, Event};

use crate::agreed::Agreed;
use crate::judgement::Checks;
use crate::peer::{Failure, Peer, PeerEvent};
use crate::scenario::Scenario;

/// The findings of a connection.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) checks: Checks,
    pub(crate) agreed: Agreed,
}

/// Drives a connection until its end.
pub(crate) fn run(
    mut peer: Peer,
    socket: &UdpSocket,
    role: DtlsRole,
    patience: Duration,
) -> Result<Report, Failure> {
    let mut session = Session { scenario: Scenario::new(), agreed: Agreed::default(), end: None };
    let deadline = Instant::now() + patience;
    let mut buffer = vec![0; 65_536];
    loop {
        let now = Instant::now();
        if now >= deadline {
            return Err(format!("no end after {patience:?}; so far: {session:?}").into());
        }
        peer.progress(now)?;
        session.work(now, &mut peer, role)?;
        if matches!(session.end, Some(End::ShutDown)) {
            peer.close(now)?;
        }
        while let Some((to, datagram)) = peer.poll_transmit() {
            socket.send_to(&datagram, to)?;
        }
        if session.end.is_some() {
            return Ok(session.report());
        }
        let due = peer.poll_timeout().map_or(deadline, |due| due.min(deadline));
        receive(&mut peer, socket, due, &mut buffer)?;
    }
}

/// Waits for datagrams until then, and hands over as many as there are, some at most.
fn receive(peer: &mut Peer, socket: &UdpSocket, due: Instant, buffer: &mut [u8]) -> Result<(), Failure> {
    let wait = due.saturating_duration_since(Instant::now()).max(Duration::from_micros(100));
    socket.set_read_timeout(Some(wait))?;
    let mut received = socket.recv_from(buffer);
    socket.set_nonblocking(true)?;
    for _ in 0..BATCH {
        let Ok((length, source)) = received else { break };
        peer.handle_datagram(Instant::now(), source, buffer.get(..length).unwrap_or_default())?;
        received = socket.recv_from(buffer);
    }
    Ok(socket.set_nonblocking(false)?)
}

/// Datagrams taken at once, before anything is sent.
const BATCH: usize = 32;

/// Everything that a connection has seen so far.
struct Session {
    scenario: Scenario,
    agreed: Agreed,
    /// The end that it came to.
    end: Option<End>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {:?}", self.agreed, self.scenario.checks)
    }
}

/// The ways in which a connection ends.
#[derive(Clone, Debug)]
enum End {
    /// The browser closed DTLS.
    Closed,
    /// The association ended gracefully.
    ShutDown,
    /// The association ended otherwise.
    Lost(AssociationError),
}

impl Session {
    /// Handles all events there are, and sends what can be sent.
    fn work(&mut self, now: Instant, peer: &mut Peer, role: DtlsRole) -> Result<(), Failure> {
        loop {
            let mut is_idle = true;
            while let Some(event) = peer.poll_event() {
                is_idle = false;
                self.handle(now, peer, event)?;
            }
            if self.end.is_some() {
                break;
            }
            self.scenario.pump(now, peer)?;
            if self.scenario.is_late {
                self.agreed = Agreed::of(peer, role).unwrap_or_default();
            }
            if std::mem::take(&mut self.scenario.is_ending) {
                peer.shut_down(now)?;
            }
            peer.drain_sctp(now)?;
            if is_idle {
                break;
            }
        }
        Ok(())
    }

    fn handle(&mut self, now: Instant, peer: &mut Peer, event: PeerEvent) -> Result<(), Failure> {
        match event {
            PeerEvent::Secured => self.scenario.begin(peer)?,
            PeerEvent::Channel(event) => self.scenario.handle(now, peer, event)?,
            PeerEvent::Gone => self.end = self.end.take().or(Some(End::Closed)),
            PeerEvent::Association(Event::ShutdownComplete) => self.end = Some(End::ShutDown),
            PeerEvent::Association(Event::CommunicationLost(why) | Event::CannotStart(why)) => {
                self.end = Some(End::Lost(why));
            }
            PeerEvent::Association(_) => {}
        }
        Ok(())
    }

    fn report(mut self) -> Report {
        let said = format!("{:?}", self.end);
        match self.end {
            Some(End::ShutDown) => self.scenario.checks.note("the association is shut down", true, &said),
            Some(End::Closed | End::Lost(AssociationError::AbortedByPeer(_))) => {
                self.scenario.checks.note("the page ends the connection", true, &said);
            }
            Some(End::Lost(_)) | None => self.scenario.checks.note("a regular end", false, &said),
        }
        Report { checks: self.scenario.checks, agreed: self.agreed }
    }
}

/// Binds a socket for a connection.
pub(crate) fn socket(address: std::net::IpAddr) -> Result<UdpSocket, Failure> {
    Ok(UdpSocket::bind(SocketAddr::new(address, 0))?)
}
