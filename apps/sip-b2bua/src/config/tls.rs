//! The certificates for TLS under SIP: who this agent is, and whom it believes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use daemon::TlsIdentity;
use daemon::config::value;
use simco_agent::{TlsTrust, TlsTrustError};

use super::ConfigError;
use super::file::{RouteTable, SipTransport, TlsTable};

/// TLS 1.2 and 1.3 (RFC 8996) over TCP, one certificate for all listeners (RFC 3261 §26.3.1).
#[derive(Clone, Debug)]
pub struct TlsSettings {
    identity: TlsIdentity,
    /// The authorities, in PEM; `None`: nobody is believed, and no route goes over TLS.
    authorities: Option<Arc<[u8]>>,
    /// The names that next hops must prove, by their addresses.
    names: BTreeMap<SocketAddr, String>,
}

impl TlsSettings {
    /// Reads the files of the table, and the names that routes want proved.
    pub(super) fn read(table: &TlsTable, routes: &[RouteTable], folder: &Path) -> Result<Self, ConfigError> {
        let identity = TlsIdentity::read(&folder.join(&table.certificate), &folder.join(&table.key))?;
        let authorities =
            table.authorities.as_ref().map(|file| authorities(&folder.join(file))).transpose()?;
        let mut names = BTreeMap::new();
        for (at, route) in
            routes.iter().enumerate().filter(|(_, route)| route.transport == Some(SipTransport::Tls))
        {
            let Some(pem) = &authorities else {
                let bound =
                    "is needed where a route goes over TLS: the certificates of those who are believed";
                return Err(value("tls.authorities", "nothing", bound));
            };
            let Ok(to) = route.to.parse::<SocketAddr>() else { continue };
            let name = route.tls_name.clone().unwrap_or_else(|| to.ip().to_string());
            if let Err(error) = TlsTrust::new(pem, &name) {
                return Err(value(&format!("routes[{at}].tls_name"), name, &error.to_string()));
            }
            if let Some(other) = names.insert(to, name.clone()).filter(|other| *other != name) {
                let bound = format!("another route has {other} for the same address");
                return Err(value(&format!("routes[{at}].tls_name"), name, &bound));
            }
        }
        Ok(Self { identity, authorities, names })
    }

    /// Returns who this agent is.
    pub(crate) const fn identity(&self) -> &TlsIdentity {
        &self.identity
    }

    /// Returns by which certificates the host at `remote` is believed: those for the name that a route gives, for the one that was looked
    /// up, or for the address.
    pub(crate) fn trust(&self, remote: SocketAddr, looked_up: Option<&str>) -> Option<TlsTrust> {
        let address = remote.ip().to_string();
        let name = self.names.get(&remote).map(String::as_str).or(looked_up).unwrap_or(&address);
        TlsTrust::new(self.authorities.as_ref()?, name).ok()
    }
}

fn authorities(path: &Path) -> Result<Arc<[u8]>, ConfigError> {
    let refused = |because: String| value("tls.authorities", path.display(), &because);
    let pem = std::fs::read(path).map_err(|error| refused(error.to_string()))?;
    match TlsTrust::new(&pem, "localhost") {
        Ok(_) => Ok(pem.into()),
        Err(error @ (TlsTrustError::NoAuthority | TlsTrustError::Authority { .. } | TlsTrustError::Name)) => {
            Err(refused(error.to_string()))
        }
    }
}
