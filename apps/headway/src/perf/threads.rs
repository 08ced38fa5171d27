//! The server's threads for SCTP: an endpoint on each, all at the same port.

use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use lab::Carrier;
use sctp::{BindError, Endpoint, EndpointBuilder, EndpointConfig, SctpPort, Shard};
use tokio::sync::{oneshot, watch};

use super::connection::Connection;
use super::host::Host;
use super::server::association;
use super::{MessageProtocol, PerfError};
use crate::arguments::{ANOTHER_ADDRESS, Place, bind_remedy};

/// Endpoints that serve, each on a thread with a runtime of its own.
pub(crate) struct Threads {
    pub(crate) encap_port: Option<u16>,
    ended: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

/// The socket that a thread makes its endpoint of.
enum Beginning {
    Shard(Box<Shard>),
    /// Several addresses, or IP itself: one socket.
    Whole(Box<EndpointBuilder>, Place, Carrier),
}

impl Threads {
    /// Starts a thread for each processor this process may use; one where the socket cannot be shared, or its
    /// packets are written down.
    pub(crate) async fn start(
        place: &Place,
        carrier: Carrier,
        pcap: Option<&Path>,
        host: &Arc<Host>,
    ) -> Result<Self, PerfError> {
        let first = place.first();
        let refused = |because: String, remedy| PerfError::Listen {
            address: first,
            protocol: MessageProtocol::Sctp.name(),
            because,
            remedy,
        };
        let not_bound = |error: BindError| refused(error.to_string(), bind_remedy(&error));
        let port = SctpPort::try_from(first.port());
        let port = port.map_err(|error| refused(error.to_string(), ANOTHER_ADDRESS))?;
        let config = EndpointConfig::with_association(port, association());
        let mut builder = Endpoint::builder(config);
        if let Some(path) = pcap {
            builder = builder.capture(path);
        }
        let beginnings: Vec<_> = match (carrier, place.addresses.as_slice()) {
            (Carrier::Udp(ports), [address]) if pcap.is_none() => {
                let address = SocketAddr::new(address.ip(), ports.local);
                let shards = builder.bind_shards(address, processors()).map_err(not_bound)?;
                shards.into_iter().map(|shard| Beginning::Shard(Box::new(shard))).collect()
            }
            _ => vec![Beginning::Whole(Box::new(builder), place.clone(), carrier)],
        };
        let (ended, _) = watch::channel(false);
        let mut started = Self { encap_port: None, ended, threads: Vec::new() };
        for beginning in beginnings {
            let address = started.add(beginning, Arc::clone(host)).await?.map_err(not_bound)?;
            started.encap_port = matches!(carrier, Carrier::Udp(_)).then(|| address.port());
        }
        Ok(started)
    }

    /// Adds a thread; where its endpoint is bound.
    async fn add(
        &mut self,
        beginning: Beginning,
        host: Arc<Host>,
    ) -> Result<Result<SocketAddr, BindError>, PerfError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (tell_address, address) = oneshot::channel();
        let ended = self.ended.subscribe();
        let serve = move || {
            runtime.block_on(async {
                match beginning.endpoint().await {
                    Ok(endpoint) => {
                        let _heard = tell_address.send(Ok(endpoint.local_address()));
                        accept(endpoint, &host, ended).await;
                    }
                    Err(error) => drop(tell_address.send(Err(error))),
                }
            });
        };
        let name = format!("perf {}", self.threads.len());
        self.threads.push(std::thread::Builder::new().name(name).spawn(serve)?);
        address.await.map_err(|_| PerfError::BrokeOff("a thread ended by itself".to_owned()))
    }

    /// Closes all endpoints and waits for them.
    pub(crate) fn end(self) {
        self.ended.send_replace(true);
        for thread in self.threads {
            let _unless_it_panicked = thread.join();
        }
    }
}

impl Beginning {
    async fn endpoint(self) -> Result<Endpoint, BindError> {
        match self {
            Self::Shard(shard) => shard.start().await,
            Self::Whole(builder, place, Carrier::Udp(ports)) => {
                builder.bind_addresses(&place.ips(), ports.local).await
            }
            Self::Whole(builder, place, Carrier::Ip) => builder.bind_ip(&place.ips()).await,
        }
    }
}

/// Serves every association until the end.
async fn accept(endpoint: Endpoint, host: &Arc<Host>, mut ended: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            association = endpoint.accept() => {
                let Some(association) = association else { break };
                let host = Arc::clone(host);
                tokio::spawn(async move { host.serve(Connection::Sctp(association)).await });
            }
            _either_way = ended.wait_for(|ended| *ended) => break,
        }
    }
    endpoint.close();
    // Clients that do not answer must not keep us.
    let _some_did_not = tokio::time::timeout(CLOSING_TIME, endpoint.wait_idle()).await;
}

fn processors() -> NonZeroU16 {
    let available = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u16::try_from(available).ok().and_then(NonZeroU16::new).unwrap_or(NonZeroU16::MIN)
}

const CLOSING_TIME: Duration = Duration::from_secs(1);
