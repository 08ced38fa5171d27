//! Certificate and key of a daemon.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{Error, ServerConfig};

use crate::config::{ConfigError, value};

/// The identity of the daemon over TLS 1.2 and 1.3 (RFC 8996).
#[derive(Clone, Debug)]
pub struct TlsIdentity(Arc<ServerConfig>);

impl TlsIdentity {
    /// Reads the chain of certificates and the key, both in PEM.
    ///
    /// # Errors
    ///
    /// [`ConfigError`], which names `tls.certificate` or `tls.key`.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, ConfigError> {
        let path = certificate;
        let refused = |because: String| value("tls.certificate", path.display(), &because);
        let chain = CertificateDer::pem_file_iter(path).map_err(|error| refused(error.to_string()))?;
        let chain: Vec<_> = chain.collect::<Result<_, _>>().map_err(|error| refused(error.to_string()))?;
        if chain.is_empty() {
            return Err(refused("no certificate in it; PEM is needed".to_owned()));
        }
        let path = key;
        let refused = |because: String| value("tls.key", path.display(), &because);
        let key = PrivateKeyDer::from_pem_file(path).map_err(|error| refused(error.to_string()))?;
        let config = || -> Result<ServerConfig, Error> {
            let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
            builder.with_safe_default_protocol_versions()?.with_no_client_auth().with_single_cert(chain, key)
        };
        Ok(Self(Arc::new(config().map_err(|error| refused(error.to_string()))?)))
    }

    /// Returns what makes TLS of a connection that was accepted.
    #[must_use]
    pub fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.0))
    }
}
