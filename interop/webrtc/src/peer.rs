//! One end of a WebRTC connection, without IO: ICE, DTLS, SCTP and data channels, one on top of the other.
//!
//! ```text
//!             Scenario (scenario.rs)
//!                 │ ▲ ChannelEvent
//!            DataChannels ── data_channel
//!                 │ ▲
//!              Endpoint ──── sctp_core, packets as the caller's datagrams (RFC 8261)
//!                 │ ▲
//!               Dtls ─────── dimpl, DTLS 1.2 or 1.3
//!                 │ ▲
//!       IceAgent ─┤ │ ────── is; STUN and DTLS share the socket (RFC 7983)
//!                 ▼ │
//!               datagrams
//! ```

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use data_channel::{ChannelEvent, ChannelLimits, DataChannels, DtlsRole};
use dimpl::{Config, Dtls, DtlsCertificate, Output};
use is::stun::{StunMessage, StunPacket};
use is::{Candidate, IceAgent, IceAgentEvent, IceCreds, Protocol};
use sctp_core::{
    AssociationConfig, AssociationId, Datagram, Destination, Endpoint, EndpointConfig, Event, Profile,
    SctpPort,
};
use sha2::{Digest, Sha256};

use crate::capture::{Capture, Direction};
use crate::description::Description;

/// Any reason for which a connection ends too early.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Something that happened to the connection.
#[derive(Debug)]
pub(crate) enum PeerEvent {
    /// DTLS is up, and the browser has the certificate that its description named.
    Secured,
    /// Something happened to the association.
    Association(Event),
    /// Something happened to a data channel.
    Channel(ChannelEvent),
    /// The browser has closed DTLS.
    Gone,
}

/// One end of a connection.
pub(crate) struct Peer {
    started: Instant,
    local: SocketAddr,
    ice: IceAgent,
    /// The address at which ICE has found the browser.
    remote: Option<SocketAddr>,
    dtls: Dtls,
    dtls_due: Option<Instant>,
    /// The SHA-256 that the browser's certificate must have.
    fingerprint: Vec<u8>,
    pub(crate) sctp: Endpoint,
    association: Option<AssociationId>,
    pub(crate) channels: Option<DataChannels>,
    role: DtlsRole,
    limits: ChannelLimits,
    pub(crate) capture: Option<Capture>,
    transmits: VecDeque<(SocketAddr, Vec<u8>)>,
    events: VecDeque<PeerEvent>,
}

impl Peer {
    /// Creates the answering end at this socket, and the description to answer with.
    pub(crate) fn answer(
        offer: &Description,
        role: DtlsRole,
        local: SocketAddr,
        entropy: [u8; 32],
    ) -> Result<(Self, Description), Failure> {
        let started = Instant::now();
        let credentials = IceCreds::new();
        let mut ice = IceAgent::new(credentials.clone());
        // The offering end controls (RFC 8445 §6.1.1).
        ice.set_controlling(false);
        ice.set_remote_credentials(offer.credentials.clone());
        let candidate = Candidate::host(local, Protocol::Udp)?;
        ice.add_local_candidate(candidate.clone());
        for theirs in &offer.candidates {
            ice.add_remote_candidate(theirs.clone());
        }
        let certificate = own_certificate()?;
        let answer = Description {
            credentials,
            fingerprint: Sha256::digest(&certificate.certificate).to_vec(),
            candidates: vec![candidate],
            message_bytes: AssociationConfig::profile(Profile::WebRtc).buffers.message_bytes,
            sctp_port: SCTP_PORT,
        };
        let config = Config::builder().mtu(DTLS_MTU).build()?;
        let mut dtls = Dtls::new_auto(Arc::new(config), certificate, started);
        dtls.set_active(role == DtlsRole::Client);
        let port = SctpPort::try_from(SCTP_PORT)?;
        let association = AssociationConfig::profile(Profile::WebRtc);
        let peer = Self {
            started,
            local,
            ice,
            remote: None,
            dtls,
            dtls_due: None,
            fingerprint: offer.fingerprint.clone(),
            sctp: Endpoint::new(EndpointConfig::with_association(port, association), entropy)?,
            association: None,
            channels: None,
            role,
            limits: ChannelLimits { peer_message_bytes: offer.message_bytes, ..ChannelLimits::default() },
            capture: None,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
        };
        Ok((peer, answer))
    }

    /// Returns the time as SCTP knows it.
    pub(crate) fn now(&self, now: Instant) -> virtual_time::Instant {
        let nanos = u64::try_from(now.duration_since(self.started).as_nanos()).unwrap_or(u64::MAX);
        virtual_time::Instant::from_nanos(nanos)
    }

    /// Takes a datagram from the socket: STUN or DTLS, told apart by the first octet (RFC 7983 §7).
    pub(crate) fn handle_datagram(
        &mut self,
        now: Instant,
        source: SocketAddr,
        octets: &[u8],
    ) -> Result<(), Failure> {
        match octets.first() {
            Some(0..=3) => {
                if let Ok(message) = StunMessage::parse(octets) {
                    let packet =
                        StunPacket { proto: Protocol::Udp, source, destination: self.local, message };
                    self.ice.handle_packet(now, packet);
                }
            }
            Some(20..=63) => {
                self.dtls.handle_timeout(now)?;
                self.dtls.handle_packet(octets)?;
                self.drain_dtls(now)?;
            }
            Some(_) | None => {}
        }
        Ok(())
    }

    /// Takes note of the time, and moves what can be moved between the layers.
    pub(crate) fn progress(&mut self, now: Instant) -> Result<(), Failure> {
        self.ice.handle_timeout(now);
        while let Some(event) = self.ice.poll_event() {
            if let IceAgentEvent::NominatedSend { destination, .. } = event {
                self.remote = Some(destination);
            }
        }
        while let Some(transmit) = self.ice.poll_transmit() {
            self.transmits.push_back((transmit.destination, transmit.contents.to_vec()));
        }
        if self.remote.is_some() {
            self.dtls.handle_timeout(now)?;
            self.drain_dtls(now)?;
        }
        self.sctp.handle_timeout(self.now(now));
        self.drain_sctp(now)
    }

    /// Returns the next thing that happened.
    pub(crate) fn poll_event(&mut self) -> Option<PeerEvent> {
        self.events.pop_front()
    }

    /// Returns the next datagram to send, and where.
    pub(crate) fn poll_transmit(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.transmits.pop_front()
    }

    /// Returns when [`progress`](Self::progress) is to be called next.
    pub(crate) fn poll_timeout(&mut self) -> Option<Instant> {
        let nanos = self.sctp.poll_timeout().map(virtual_time::Instant::as_nanos);
        let sctp = nanos.and_then(|nanos| self.started.checked_add(std::time::Duration::from_nanos(nanos)));
        [self.ice.poll_timeout(), self.dtls_due, sctp].into_iter().flatten().min()
    }

    /// Ends the association: all that was sent arrives first.
    pub(crate) fn shut_down(&mut self, now: Instant) -> Result<(), Failure> {
        let Some(association) = self.association else { return Ok(()) };
        Ok(self.sctp.shutdown(self.now(now), association)?)
    }

    /// Closes DTLS, which tells the browser that the connection is over: SHUTDOWN alone does not.
    pub(crate) fn close(&mut self, now: Instant) -> Result<(), Failure> {
        self.drain_sctp(now)?;
        self.dtls.close()?;
        self.drain_dtls(now)
    }

    /// Returns the association, while it is there.
    pub(crate) fn association(&self) -> Option<&sctp_core::Association> {
        self.sctp.association(self.association?)
    }

    /// Returns the version of DTLS.
    pub(crate) fn dtls_version(&self) -> String {
        self.dtls.protocol_version().map_or_else(String::new, |version| format!("{version:?}"))
    }

    /// Takes what DTLS has: datagrams for the browser, packets for SCTP.
    fn drain_dtls(&mut self, now: Instant) -> Result<(), Failure> {
        let mut buffer = [0; RECORDS_AT_MOST];
        loop {
            match self.dtls.poll_output(&mut buffer) {
                Output::Packet(octets) => {
                    // Nothing is said before ICE knows to whom; DTLS repeats it.
                    if let Some(remote) = self.remote {
                        self.transmits.push_back((remote, octets.to_vec()));
                    }
                }
                Output::BufferTooSmall { needed } => {
                    return Err(format!("DTLS has {needed} octets at once").into());
                }
                Output::PeerCert(certificate) => self.check_certificate(certificate)?,
                Output::Connected => {
                    self.events.push_back(PeerEvent::Secured);
                    self.connect(now)?;
                }
                Output::ApplicationData(payload) => {
                    write_down(&mut self.capture, Direction::FromBrowser, payload)?;
                    let source = Destination::channel(0);
                    let packet = Datagram::new(source, payload);
                    self.sctp.handle_packet(self.now(now), packet);
                }
                Output::CloseNotify => self.events.push_back(PeerEvent::Gone),
                Output::Timeout(due) => {
                    self.dtls_due = Some(due);
                    return Ok(());
                }
                _ => {}
            }
        }
    }

    /// Compares a certificate with the fingerprint of the offer: that is all that says who the browser is (RFC 8827 §6.5).
    fn check_certificate(&self, certificate: &[u8]) -> Result<(), Failure> {
        if Sha256::digest(certificate)[..] == self.fingerprint[..] {
            return Ok(());
        }
        Err("the browser's certificate is not the one of its offer".into())
    }

    /// Opens the association, as the other end does, too, so that their INITs meet (RFC 8841 §9.3, RFC 9260 §5.2.1).
    fn connect(&mut self, now: Instant) -> Result<(), Failure> {
        let (now, port) = (self.now(now), SctpPort::try_from(SCTP_PORT)?);
        let config = AssociationConfig::profile(Profile::WebRtc);
        let id = self.sctp.connect(now, &[Destination::channel(0)], port, config)?;
        self.association = Some(id);
        self.channels = Some(DataChannels::new(id, self.role, self.limits));
        Ok(())
    }

    /// Takes what SCTP has: events, messages of channels, packets for DTLS.
    pub(crate) fn drain_sctp(&mut self, now: Instant) -> Result<(), Failure> {
        let at = self.now(now);
        while let Some((_, event)) = self.sctp.poll_event() {
            if let Some(channels) = &mut self.channels {
                channels.handle_event(at, &mut self.sctp, &event);
            }
            self.events.push_back(PeerEvent::Association(event));
        }
        if let Some(channels) = &mut self.channels {
            while let Some(event) = channels.poll_event(at, &mut self.sctp) {
                self.events.push_back(PeerEvent::Channel(event));
            }
        }
        let mut packet = Vec::new();
        while self.sctp.poll_transmit(at, &mut packet).is_some() {
            write_down(&mut self.capture, Direction::ToBrowser, &packet)?;
            self.dtls.send_application_data(&packet)?;
            packet.clear();
            self.drain_dtls(now)?;
        }
        Ok(())
    }
}

/// Adds a packet to a capture, if there is one.
fn write_down(capture: &mut Option<Capture>, direction: Direction, packet: &[u8]) -> Result<(), Failure> {
    if let Some(capture) = capture {
        capture.add(SystemTime::now().duration_since(UNIX_EPOCH)?, direction, packet)?;
    }
    Ok(())
}

/// Makes a certificate of a moment's life: it is known by its fingerprint, and nobody signs it (RFC 8827 §6.5).
fn own_certificate() -> Result<DtlsCertificate, Failure> {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
    let certificate = rcgen::CertificateParams::new(vec!["headway".to_owned()])?.self_signed(&key)?;
    Ok(DtlsCertificate { certificate: certificate.der().to_vec(), private_key: key.serialize_der() })
}

/// The SCTP port of both ends, as browsers have it.
const SCTP_PORT: u16 = 5000;
/// The room that IPv6 packets of 1280 octets leave below IP and UDP.
const DTLS_MTU: usize = 1232;
/// The most octets that DTLS has at once: a datagram to send, or a record received, which is no longer than its datagram.
const RECORDS_AT_MOST: usize = 65_536;
