//! Sockets that agents connect to.

use std::net::SocketAddr;

use nft_filter::NftError;
use sctp::{BindError, Endpoint, EndpointConfig, SctpPort};
use simco::filter::FilterError;
use simco::middlebox::MiddleboxConfigError;
use tokio::net::TcpListener;

use crate::config::{Listen, SctpListen};

/// Bound sockets, before anybody is served.
#[derive(Debug)]
pub struct Listeners {
    pub(crate) tcp: Vec<TcpListener>,
    pub(crate) sctp: Option<Endpoint>,
    pub(crate) metrics: Option<TcpListener>,
}

impl Listeners {
    /// Binds everything that is configured.
    ///
    /// # Errors
    ///
    /// An address is taken or not ours, or rights are missing.
    pub async fn bind(listen: &Listen, metrics: Option<SocketAddr>) -> Result<Self, StartError> {
        let mut tcp = Vec::new();
        for address in &listen.tcp {
            tcp.push(bind_tcp("listen.tcp", *address).await?);
        }
        let sctp = match &listen.sctp {
            Some(sctp) => Some(bind_sctp(sctp).await?),
            None => None,
        };
        let metrics = match metrics {
            Some(address) => Some(bind_tcp("metrics.listen", address).await?),
            None => None,
        };
        Ok(Self { tcp, sctp, metrics })
    }

    /// Where TCP listens, with the ports that were found free for port 0.
    #[must_use]
    pub fn tcp_addresses(&self) -> Vec<SocketAddr> {
        self.tcp.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// Where SCTP listens: with encapsulation, its UDP address.
    #[must_use]
    pub fn sctp_address(&self) -> Option<SocketAddr> {
        self.sctp.as_ref().map(Endpoint::local_address)
    }

    /// All of it in a line, for people and for `systemctl status`: `tcp 127.0.0.1:7626, sctp 127.0.0.1:9899`.
    #[must_use]
    pub fn summary(&self) -> String {
        let tcp = self.tcp_addresses().into_iter().map(|address| format!("tcp {address}"));
        let sctp = self.sctp_address().map(|address| format!("sctp {address}"));
        let metrics = self.metrics_address().map(|address| format!("metrics {address}"));
        let all: Vec<String> = tcp.chain(sctp).chain(metrics).collect();
        all.join(", ")
    }

    /// Where metrics are served.
    #[must_use]
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().and_then(|listener| listener.local_addr().ok())
    }
}

async fn bind_tcp(key: &'static str, address: SocketAddr) -> Result<TcpListener, StartError> {
    let because = |error: std::io::Error| StartError::Listen { key, address, because: error.to_string() };
    TcpListener::bind(address).await.map_err(because)
}

async fn bind_sctp(listen: &SctpListen) -> Result<Endpoint, StartError> {
    let port = SctpPort::try_from(listen.port).map_err(|_| StartError::SctpPort { port: listen.port })?;
    let builder = Endpoint::builder(EndpointConfig::new(port));
    Ok(match listen.encapsulation_port {
        Some(port) => builder.bind_addresses(&listen.addresses, port).await?,
        None => builder.bind_ip(&listen.addresses).await?,
    })
}

/// Why the daemon does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A TCP address.
    #[error("{key} = \"{address}\": {because}; choose another address or port")]
    Listen {
        /// Which key of the configuration.
        key: &'static str,
        /// Which address.
        address: SocketAddr,
        /// What the system said.
        because: String,
    },
    /// An SCTP port.
    #[error("listen.sctp.port = {port}: at least 1 is needed")]
    SctpPort {
        /// Which.
        port: u16,
    },
    /// The SCTP endpoint.
    #[error("listen.sctp: {0}")]
    Sctp(#[from] BindError),
    /// The packet filter.
    #[error("filter: {0}")]
    Nftables(#[from] NftError),
    /// The rules of before.
    #[error("the rules of before cannot be taken over: {0}")]
    Restore(#[from] FilterError),
    /// The middlebox.
    #[error("service: {0}")]
    Middlebox(#[from] MiddleboxConfigError),
    /// A file of ours, or entropy.
    #[error("{what}: {because}")]
    System {
        /// What was to be had.
        what: String,
        /// What the system said.
        because: std::io::Error,
    },
}
