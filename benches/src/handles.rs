//! What `sctp` costs above the engine, with handles of streams and without: two endpoints of one thread, joined by a pair of Unix
//! sockets.
//!
//! System calls are not counted, being the kernel's, and each message is answered or acknowledged before the next one leaves, so
//! that the count does not depend on who is woken up first.

use std::error::Error;

use bytes::Bytes;
use sctp::{
    Association, AssociationConfig, DatagramChannel, Endpoint, EndpointConfig, Message, Profile, SctpPort,
    Stream, StreamId,
};
use tokio::net::UnixDatagram;
use tokio::runtime::{Builder, Runtime};

use crate::counting::counted;

/// How both sides read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handles {
    /// `Association::send` and `recv`; no stream has a handle.
    Unused,
    /// A handle of the stream, whose queue it has to itself.
    Used,
}

/// The share by which handles may cost more than messages without them.
pub const MOST: f64 = 0.05;

/// Messages that are sent before the counting begins.
const WARM_UP: u64 = 100;

struct Ends {
    here: End,
    there: End,
    _endpoints: [Endpoint; 2],
}

enum End {
    Association(Association),
    Stream(Stream),
}

impl End {
    fn of(association: Association, handles: Handles) -> Result<Self, Box<dyn Error>> {
        Ok(match handles {
            Handles::Unused => Self::Association(association),
            Handles::Used => Self::Stream(association.stream(StreamId::new(0))?),
        })
    }

    async fn send(&mut self, payload: Bytes) -> Result<(), Box<dyn Error>> {
        match self {
            Self::Association(association) => {
                association.send(Message::ordered(StreamId::new(0), payload)).await?;
            }
            Self::Stream(stream) => stream.send(payload).await?,
        }
        Ok(())
    }

    async fn recv(&mut self) -> Result<Bytes, Box<dyn Error>> {
        let received = match self {
            Self::Association(association) => association.recv().await?,
            Self::Stream(stream) => stream.recv().await?,
        };
        Ok(received.ok_or("the association is over")?.message.payload)
    }
}

async fn open(handles: Handles) -> Result<Ends, Box<dyn Error>> {
    let port = SctpPort::try_from(5000)?;
    let association = AssociationConfig::profile(Profile::Signalling);
    let config = EndpointConfig::with_association(port, association);
    let (near, far) = UnixDatagram::pair()?;
    let near = Endpoint::builder(config.clone()).bind_channel(near.into_std()?).await?;
    let far = Endpoint::builder(config).bind_channel(far.into_std()?).await?;
    let (opened, accepted) = tokio::join!(near.connect(DatagramChannel::PEER, port), far.accept());
    let (here, there) = (End::of(opened?, handles)?, End::of(accepted.ok_or("closed")?, handles)?);
    Ok(Ends { here, there, _endpoints: [near, far] })
}

/// Counts round trips of 64 octets; gives messages.
///
/// # Errors
/// The system has no sockets left.
pub fn round_trips(handles: Handles, count: u64) -> Result<u64, Box<dyn Error>> {
    converse(handles, count, async |ends, payload| {
        ends.here.send(payload).await?;
        let question = ends.there.recv().await?;
        ends.there.send(question).await?;
        ends.here.recv().await?;
        Ok(())
    })?;
    Ok(2 * count)
}

/// Counts messages of 64 octets one way, in bursts of 32; gives messages.
///
/// # Errors
/// The system has no sockets left.
pub fn bursts(handles: Handles, count: u64) -> Result<u64, Box<dyn Error>> {
    converse(handles, count, async |ends, payload| {
        for _ in 0..BURST {
            ends.here.send(payload.clone()).await?;
        }
        for _ in 0..BURST {
            ends.there.recv().await?;
        }
        Ok(())
    })?;
    Ok(BURST * count)
}

const BURST: u64 = 32;

fn converse(
    handles: Handles,
    count: u64,
    turn: impl AsyncFn(&mut Ends, Bytes) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let runtime: Runtime = Builder::new_current_thread().enable_all().build()?;
    let payload = Bytes::from(vec![0xa5; 64]);
    let mut ends = runtime.block_on(open(handles))?;
    let mut turns = |count| {
        runtime.block_on(async {
            for _ in 0..count {
                turn(&mut ends, payload.clone()).await?;
            }
            Ok::<(), Box<dyn Error>>(())
        })
    };
    turns(WARM_UP)?;
    let mut outcome = Ok(());
    counted(&mut || outcome = turns(count));
    outcome
}
