//! One port, several endpoints: a server that uses more than one processor.

use std::net::SocketAddr;
use std::num::NonZeroU16;

use sctp_core::TagShare;
use sctp_io::UdpEncapsulation;

use super::{Endpoint, EndpointBuilder};
use crate::error::BindError;

/// One of several endpoints at the same address and SCTP port, bound and waiting for its runtime; see
/// [`EndpointBuilder::bind_shards`].
#[derive(Debug)]
pub struct Shard {
    builder: EndpointBuilder,
    io: UdpEncapsulation,
}

impl Shard {
    /// Starts driving the endpoint on the runtime this is called in.
    ///
    /// # Errors
    ///
    /// As [`Endpoint::bind`], but for the socket.
    pub async fn start(self) -> Result<Endpoint, BindError> {
        self.builder.bind_io(self.io).await
    }
}

impl EndpointBuilder {
    /// Binds `count` endpoints to the same UDP address and the same SCTP port. To peers they are one: the kernel hands
    /// each packet to the endpoint that has the association, by its verification tag. They share nothing, so that a thread
    /// with a runtime of its own for each uses as many processors. Nobody else gets the port, neither another endpoint nor
    /// other shards.
    ///
    /// What a peer opens stays with the endpoint it came to. A peer reached over several addresses must begin and end from
    /// the same one: an INIT it repeats from another address may reach another endpoint, and counts there as a new peer.
    ///
    /// ```
    /// use sctp::{Endpoint, EndpointConfig, SctpPort};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let config = EndpointConfig::new(SctpPort::try_from(3863)?);
    /// let shards = Endpoint::builder(config).bind_shards("127.0.0.1:0".parse()?, 2.try_into()?)?;
    /// let threads = shards.into_iter().map(|shard| {
    ///     std::thread::spawn(move || {
    ///         let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    ///         runtime.block_on(async {
    ///             let endpoint = shard.start().await.map_err(std::io::Error::other)?;
    ///             endpoint.close(); // a server would accept associations here
    ///             Ok::<_, std::io::Error>(endpoint.local_address())
    ///         })
    ///     })
    /// });
    /// let addresses: Vec<_> = threads.collect::<Vec<_>>().into_iter().map(|thread| thread.join()).collect();
    /// # for address in &addresses { assert!(matches!(address, Ok(Ok(address)) if address.port() > 0)); }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind).
    pub fn bind_shards(self, address: SocketAddr, count: NonZeroU16) -> Result<Vec<Shard>, BindError> {
        self.config.validate()?; // before a socket is bound in vain
        let sockets = UdpEncapsulation::bind_shards(address, count).map_err(BindError::of_socket(address))?;
        let shard = |(index, io)| {
            let mut builder = self.clone();
            builder.config.tag_share = Some(TagShare { index, of: count.get() });
            Shard { builder, io }
        };
        Ok((0..).zip(sockets).map(shard).collect())
    }
}
