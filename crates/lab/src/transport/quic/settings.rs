//! How QUIC is set up: what quinn has by default, but for what bears on comparisons; a certificate that is always the same.

use std::sync::Arc;

use netem::derive_indexed_seed;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, ConnectionId, ConnectionIdGenerator, EndpointConfig, ServerConfig, TransportConfig,
};
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519, SerialNumber};
use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::version::TLS13;
use thiserror::Error;

/// The most streams of a connection.
pub(super) const MOST_STREAMS: u16 = u16::MAX;

/// The settings that decide how fast QUIC is, for the conditions of a result.
pub(super) const IN_WORDS: &str = "quinn-proto 0.11 with its defaults: CUBIC from 12,000 octets, a loss after 3 later packets or 9/8 RTT (RFC 9002 §6.1), \
     probe timeouts with an ACK delay of 25 ms at most, MTU 1200 and probed up to 1452, TLS 1.3 without 0-RTT; no idle timeout";

/// The name of the protocol in TLS (ALPN), and that of the server in its certificate.
pub(super) const PROTOCOL: &[u8] = b"headway";
pub(super) const SERVER_NAME: &str = "headway";

/// The reason why QUIC cannot be set up.
#[derive(Debug, Error)]
pub(super) enum SettingsError {
    /// The certificate could not be made.
    #[error("the certificate of QUIC: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The configuration of TLS does not work.
    #[error("the TLS of QUIC: {0}")]
    Tls(#[from] rustls::Error),
    /// The cipher suites.
    #[error("the TLS of QUIC: {0}")]
    Cipher(#[from] quinn_proto::crypto::rustls::NoInitialCipherSuite),
}

/// Returns the settings of an endpoint. With a seed its connection ids and choices are a function of it; keys
/// and nonces of TLS never are.
pub(super) fn endpoint(seed: Option<u64>) -> EndpointConfig {
    let mut config = EndpointConfig::default();
    // So that whoever looks at a capture knows QUIC by its fixed bit (RFC 9287).
    config.grease_quic_bit(false);
    if let Some(seed) = seed {
        let mut octets = [0; 32];
        octets[..8].copy_from_slice(&seed.to_le_bytes());
        config.rng_seed(Some(octets));
        config.cid_generator(move || Box::new(SeededIds { seed, drawn: 0 }));
    }
    config
}

/// Returns the settings of a client's connection.
pub(super) fn client(seed: Option<u64>) -> Result<ClientConfig, SettingsError> {
    let (certificate, _) = certificate()?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let tls = rustls::ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let tls = tls.with_protocol_versions(&[&TLS13])?.with_root_certificates(roots);
    let mut tls = tls.with_no_client_auth();
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport()));
    if let Some(seed) = seed {
        config.initial_dst_cid_provider(Arc::new(move || connection_id(seed, "first connection id", 0)));
    }
    Ok(config)
}

/// Returns the settings of a server.
pub(super) fn server() -> Result<ServerConfig, SettingsError> {
    let (certificate, key) = certificate()?;
    let tls = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let tls = tls.with_protocol_versions(&[&TLS13])?.with_no_client_auth();
    let mut tls = tls.with_single_cert(vec![certificate], key)?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    // Nobody comes back: tickets would be octets for nothing.
    tls.send_tls13_tickets = 0;
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport()));
    Ok(config)
}

fn transport() -> TransportConfig {
    let mut config = TransportConfig::default();
    config.max_concurrent_bidi_streams(u32::from(MOST_STREAMS).into());
    // A run has its own end; no other transport gives a silent connection up.
    config.max_idle_timeout(None);
    // One packet a datagram: each is delayed and lost by itself.
    config.enable_segmentation_offload(false);
    config
}

/// Returns the server's certificate and key. Everybody has the key: it authenticates nobody, and makes every
/// handshake as long as every other.
fn certificate() -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), SettingsError> {
    let pkcs8 = PrivatePkcs8KeyDer::from([ED25519_PKCS8.as_slice(), KNOWN_KEY].concat());
    let key = KeyPair::from_pkcs8_der_and_sign_algo(&pkcs8, &PKCS_ED25519)?;
    let mut params = CertificateParams::new(vec![SERVER_NAME.to_owned()])?;
    params.serial_number = Some(SerialNumber::from(1_u64));
    let certificate = params.self_signed(&key)?;
    Ok((certificate.der().clone(), PrivateKeyDer::Pkcs8(pkcs8)))
}

/// Connection ids that are a function of a seed.
struct SeededIds {
    seed: u64,
    drawn: u64,
}

impl ConnectionIdGenerator for SeededIds {
    fn generate_cid(&mut self) -> ConnectionId {
        self.drawn += 1;
        connection_id(self.seed, "connection id", self.drawn)
    }

    fn cid_len(&self) -> usize {
        8
    }

    fn cid_lifetime(&self) -> Option<::core::time::Duration> {
        None
    }
}

fn connection_id(seed: u64, purpose: &str, number: u64) -> ConnectionId {
    ConnectionId::new(&derive_indexed_seed(seed, purpose, number).to_be_bytes())
}

/// The octets before a private key of Ed25519 in PKCS #8 (RFC 8410 §7).
const ED25519_PKCS8: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
const KNOWN_KEY: &[u8; 32] = b"everybody knows it; trust it not";
