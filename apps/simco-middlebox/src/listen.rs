//! Sockets that agents connect to.

use std::fs::File;
use std::net::SocketAddr;
use std::time::Duration;

use nft_filter::NftError;
use sctp::{BindError, Endpoint, EndpointConfig, SctpPort};
use simco::middlebox::MiddleboxConfigError;
use tokio::net::TcpListener;

use crate::audit;
use crate::config::{Listen, SctpListen, Settings};
use crate::control::Socket;

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

    /// Returns where TCP listens, with the ports that were found free for port 0.
    #[must_use]
    pub fn tcp_addresses(&self) -> Vec<SocketAddr> {
        self.tcp.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// Returns where SCTP listens: with encapsulation, its UDP address.
    #[must_use]
    pub fn sctp_address(&self) -> Option<SocketAddr> {
        self.sctp.as_ref().map(Endpoint::local_address)
    }

    /// Returns all of it in a line, for people and for `systemctl status`: `tcp 127.0.0.1:7626, sctp
    /// 127.0.0.1:9899`.
    #[must_use]
    pub fn summary(&self) -> String {
        let tcp = self.tcp_addresses().into_iter().map(|address| format!("tcp {address}"));
        let sctp = self.sctp_address().map(|address| format!("sctp {address}"));
        let metrics = self.metrics_address().map(|address| format!("metrics {address}"));
        let all: Vec<String> = tcp.chain(sctp).chain(metrics).collect();
        all.join(", ")
    }

    /// Returns where metrics are served.
    #[must_use]
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().and_then(|listener| listener.local_addr().ok())
    }
}

/// All that a server needs beside its packet filter: sockets and the audit log.
#[derive(Debug)]
pub struct Opened {
    pub(crate) listeners: Listeners,
    pub(crate) audit: Option<File>,
    pub(crate) control: Option<Socket>,
}

impl Opened {
    /// Opens all of it, or nothing.
    ///
    /// # Errors
    ///
    /// An address is taken or not ours, a file cannot be written, or rights are missing.
    pub async fn once(settings: &Settings) -> Result<Self, StartError> {
        let failed = |what: &str| {
            let what = what.to_owned();
            move |because| StartError::System { what, because }
        };
        let audit = audit::open(settings.audit.as_deref()).map_err(failed("audit.file"))?;
        let control = settings.control.as_deref().map(Socket::bind).transpose();
        let control = control.map_err(failed("control.socket"))?;
        Ok(Self { listeners: Listeners::bind(&settings.listen, settings.metrics).await?, audit, control })
    }

    /// Opens it as soon as that can be done, trying once a second. `tell` hears each failure that is another than the one
    /// before.
    pub async fn patiently(settings: &Settings, mut tell: impl FnMut(&StartError)) -> Self {
        let mut told = String::new();
        loop {
            match Self::once(settings).await {
                Ok(opened) => return opened,
                Err(error) => {
                    if error.to_string() != told {
                        tell(&error);
                        told = error.to_string();
                    }
                }
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Returns the sockets that listen.
    #[must_use]
    pub const fn listeners(&self) -> &Listeners {
        &self.listeners
    }
}

const RETRY: Duration = Duration::from_secs(1);

async fn bind_tcp(key: &'static str, address: SocketAddr) -> Result<TcpListener, StartError> {
    let because = |error: std::io::Error| StartError::Listen { key, address, because: error.to_string() };
    TcpListener::bind(address).await.map_err(because)
}

async fn bind_sctp(listen: &SctpListen) -> Result<Endpoint, StartError> {
    let port = SctpPort::try_from(listen.port).map_err(|_| StartError::SctpPort { port: listen.port })?;
    let mut builder = Endpoint::builder(EndpointConfig::new(port));
    if let Some(path) = &listen.capture {
        builder = builder.capture(path);
    }
    Ok(match listen.encapsulation_port {
        Some(port) => builder.bind_addresses(&listen.addresses, port).await?,
        None => builder.bind_ip(&listen.addresses).await?,
    })
}

/// The reason why the daemon does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A TCP address could not be listened at.
    #[error("{key} = \"{address}\": {because}; choose another address or port")]
    Listen {
        /// The key of the configuration.
        key: &'static str,
        /// The address that was configured.
        address: SocketAddr,
        /// The reason that the system gave.
        because: String,
    },
    /// An SCTP port cannot be used.
    #[error("listen.sctp.port = {port}: at least 1 is needed")]
    SctpPort {
        /// The port that was configured.
        port: u16,
    },
    /// The SCTP endpoint could not be bound.
    #[error("listen.sctp: {0}")]
    Sctp(#[from] BindError),
    /// The packet filter could not be opened.
    #[error("filter: {0}")]
    Nftables(#[from] NftError),
    /// An interface that is not there.
    #[error(
        "filter.inside = \"{name}\": there is no such interface; with inside_may_come_later = true it may come later"
    )]
    NoSuchInterface {
        /// The name of the interface.
        name: String,
    },
    /// The middlebox does not take its configuration.
    #[error("service: {0}")]
    Middlebox(#[from] MiddleboxConfigError),
    /// A file of ours, or entropy.
    #[error("{what}: {because}")]
    System {
        /// The name of what was to be had.
        what: String,
        /// The error that the system returned.
        because: std::io::Error,
    },
}
