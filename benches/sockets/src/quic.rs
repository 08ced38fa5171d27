//! quinn: QUIC, a stream of octets over UDP with segmentation offload, and encrypted.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    ClientConfig, Connection, Endpoint, EndpointConfig, MtuDiscoveryConfig, ServerConfig, TransportConfig,
    VarInt,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

use crate::product::in_task;
use crate::tally::{RoundTrips, Tally};
use crate::task::{AT_ONCE, End, Task};

/// On a runtime of one thread, in a task of it.
///
/// # Panics
/// If anything fails.
pub fn run(task: &Task) -> ! {
    in_task(as_task(task.clone()))
}

async fn as_task(task: Task) -> Infallible {
    let endpoint = endpoint(&task);
    let connection: Connection = match task.end.opens() {
        true => endpoint.connect(task.address, NAME).expect("it works").await.expect("the receiver is there"),
        false => endpoint.accept().await.expect("it is open").await.expect("the sender means it"),
    };
    let (mut out, mut arriving) = match task.end.opens() {
        true => connection.open_bi().await.expect("it is up"),
        false => connection.accept_bi().await.expect("it is up"),
    };
    let payload = task.payload();
    let mut tally = Tally::new(&task);
    let mut round_trips = RoundTrips::begin(&task);
    let mut buffer = vec![0; task.octets];
    loop {
        match task.end {
            End::Send => {
                for _ in 0..AT_ONCE {
                    out.write_all(&payload).await.expect("it is up");
                }
            }
            End::Receive => {
                let chunk = arriving.read_chunk(usize::MAX, true).await.expect("it is up");
                tally.add_octets(chunk.expect("it has no end").bytes.len());
                tally.look();
            }
            End::Echo => {
                arriving.read_exact(&mut buffer).await.expect("it is up");
                out.write_all(&buffer).await.expect("it is up");
            }
            End::Ping => {
                out.write_all(&payload).await.expect("it is up");
                arriving.read_exact(&mut buffer).await.expect("it is up");
                round_trips.next();
            }
        }
    }
}

fn endpoint(task: &Task) -> Endpoint {
    let any = SocketAddr::new(task.address.ip(), 0);
    let socket =
        std::net::UdpSocket::bind(if task.end.opens() { any } else { task.address }).expect("it is free");
    nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::RcvBufForce, &BUFFER_BYTES)
        .expect("it may");
    nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::SndBufForce, &BUFFER_BYTES)
        .expect("it may");
    let (server, client) = configurations(task);
    let runtime = quinn::default_runtime().expect("this is one");
    let server = (!task.end.opens()).then_some(server);
    let mut endpoint = Endpoint::new(EndpointConfig::default(), server, socket, runtime).expect("it works");
    endpoint.set_default_client_config(client);
    endpoint
}

/// With a certificate that is known to nobody and taken by all.
fn configurations(task: &Task) -> (ServerConfig, ClientConfig) {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let made = rcgen::generate_simple_self_signed(vec![NAME.to_owned()]).expect("a name");
    let certificate = CertificateDer::from(made.cert);
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let versions = &[&rustls::version::TLS13];
    let server = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .expect("TLS 1.3 is there")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())
        .expect("key and certificate match");
    let client = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .expect("TLS 1.3 is there")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(anybody::Anybody(provider)))
        .with_no_client_auth();
    let transport = transport(task);
    let mut server =
        ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(server).expect("it works")));
    server.transport_config(Arc::clone(&transport));
    let mut client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(client).expect("it works")));
    client.transport_config(transport);
    (server, client)
}

fn transport(task: &Task) -> Arc<TransportConfig> {
    let packet_bytes = u16::try_from(task.packet_bytes).expect("packets are short");
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(packet_bytes);
    let mut transport = TransportConfig::default();
    let window = VarInt::from_u32(4 << 20);
    transport.stream_receive_window(window).receive_window(window).send_window(4 << 20);
    transport.initial_mtu(packet_bytes).mtu_discovery_config(Some(discovery));
    Arc::new(transport)
}

/// A client that lets everybody in.
mod anybody {
    use std::sync::Arc;

    use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
    use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
    use rustls::{DigitallySignedStruct, Error, SignatureScheme};

    #[derive(Debug)]
    pub(super) struct Anybody(pub(super) Arc<CryptoProvider>);

    impl ServerCertVerifier for Anybody {
        fn verify_server_cert(
            &self,
            _certificate: &CertificateDer<'_>,
            _intermediates: &[CertificateDer<'_>],
            _name: &ServerName<'_>,
            _ocsp: &[u8],
            _now: UnixTime,
        ) -> Result<ServerCertVerified, Error> {
            Ok(ServerCertVerified::assertion())
        }

        fn verify_tls12_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.0.signature_verification_algorithms.supported_schemes()
        }
    }
}

const NAME: &str = "localhost";
const BUFFER_BYTES: usize = 4 << 20;
