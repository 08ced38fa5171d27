//! The certificates by which an agent believes a middlebox.

use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};

/// TLS 1.2 or 1.3 (RFC 8996): the authorities and the name that a middlebox' certificate must have. Who the agent is, its
/// key says, as without TLS.
#[derive(Clone, Debug)]
pub struct TlsTrust {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsTrust {
    /// Believes certificates for `name`, a host's name or address, that go back to one of the PEM certificates in
    /// `authorities`; a self-signed certificate is its own authority.
    ///
    /// # Errors
    ///
    /// See [`TlsTrustError`].
    pub fn new(authorities: &[u8], name: &str) -> Result<Self, TlsTrustError> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(authorities) {
            let refused = |because: String| TlsTrustError::Authority { because };
            let certificate = certificate.map_err(|error| refused(error.to_string()))?;
            roots.add(certificate).map_err(|error| refused(error.to_string()))?;
        }
        if roots.is_empty() {
            return Err(TlsTrustError::NoAuthority);
        }
        let name = ServerName::try_from(name.to_owned());
        let name = name.map_err(|_| TlsTrustError::Name)?;
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| TlsTrustError::Authority { because: error.to_string() })?;
        let config = Arc::new(builder.with_root_certificates(roots).with_no_client_auth());
        Ok(Self { config, name })
    }

    /// Makes TLS of a connection that was opened, if the other side has a certificate that is believed.
    ///
    /// # Errors
    ///
    /// Of the connection, or of TLS: the other side is not who it should be.
    pub async fn connect(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        TlsConnector::from(Arc::clone(&self.config)).connect(self.name.clone(), stream).await
    }
}

/// The reason why nobody would be believed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TlsTrustError {
    /// The file has no certificate in it.
    #[error("no certificate of an authority in it; a file in PEM with one at least is needed")]
    NoAuthority,
    /// The file has a certificate that is none.
    #[error("a certificate in it cannot be used: {because}")]
    Authority {
        /// The reason why it is none.
        because: String,
    },
    /// The name is neither that of a host nor an address.
    #[error("the name is neither a host's nor an address")]
    Name,
}
