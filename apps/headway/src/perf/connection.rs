//! A connection of either kind, as far as both ends talk on it in JSON.

use bytes::Bytes;
use sctp::{Association, Endpoint, Message, StreamId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::{PerfError, broke_off};

/// An association or a TCP connection.
#[derive(Debug)]
pub(crate) enum Connection {
    Sctp(Association),
    Tcp(TcpStream),
}

/// A connection at the client, with the endpoint that must live as long.
#[derive(Debug)]
pub(crate) struct Dialled {
    pub(crate) connection: Connection,
    pub(crate) _endpoint: Option<Endpoint>,
}

impl Connection {
    /// Sends a value as one JSON text: one message on stream 0, or its length in four octets and then the text.
    pub(crate) async fn say(&mut self, value: &impl Serialize) -> Result<(), PerfError> {
        let text = serde_json::to_vec(value).map_err(broke_off)?;
        match self {
            Self::Sctp(association) => {
                association.send(Message::ordered(StreamId::new(0), text)).await.map_err(broke_off)
            }
            Self::Tcp(stream) => {
                let length = u32::try_from(text.len()).map_err(broke_off)?;
                let framed = [&length.to_be_bytes(), text.as_slice()].concat();
                stream.write_all(&framed).await.map_err(broke_off)
            }
        }
    }

    /// Returns the next value; `None` after the other end closed the connection.
    pub(crate) async fn hear<T: DeserializeOwned>(&mut self) -> Result<Option<T>, PerfError> {
        let text = match self {
            Self::Sctp(association) => match association.recv().await.map_err(broke_off)? {
                Some(received) => received.message.payload,
                None => return Ok(None),
            },
            Self::Tcp(stream) => match read_framed(stream).await? {
                Some(text) => text,
                None => return Ok(None),
            },
        };
        serde_json::from_slice(&text).map(Some).map_err(|_| not_understood())
    }

    /// Returns the next value, if it begins to arrive before the deadline. An end is an error: more is to come.
    pub(crate) async fn hear_by<T: DeserializeOwned>(
        &mut self,
        deadline: Instant,
    ) -> Result<Option<T>, PerfError> {
        let heard = match self {
            // Reading what is framed cannot be broken off, but waiting for it can.
            Self::Tcp(stream) => match timeout_at(deadline, stream.peek(&mut [0])).await {
                Err(_nothing) => return Ok(None),
                Ok(readable) => {
                    let _octets = readable.map_err(broke_off)?;
                    self.hear().await?
                }
            },
            Self::Sctp(_) => match timeout_at(deadline, self.hear()).await {
                Err(_nothing) => return Ok(None),
                Ok(heard) => heard?,
            },
        };
        heard.map(Some).ok_or_else(|| PerfError::BrokeOff("the other end went before the end".to_owned()))
    }

    /// Closes it once everything sent has arrived.
    pub(crate) async fn close(&mut self) -> Result<(), PerfError> {
        match self {
            Self::Sctp(association) => association.shutdown().await.map_err(broke_off),
            Self::Tcp(stream) => {
                stream.shutdown().await.map_err(broke_off)?;
                // The other end closes when it has read all.
                let mut rest = [0; 64];
                while stream.read(&mut rest).await.map_err(broke_off)? > 0 {}
                Ok(())
            }
        }
    }
}

async fn read_framed(stream: &mut TcpStream) -> Result<Option<Bytes>, PerfError> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length).await {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(broke_off(error)),
    }
    let length = usize::try_from(u32::from_be_bytes(length)).map_err(broke_off)?;
    if length > LONGEST_TEXT {
        return Err(not_understood());
    }
    let mut text = vec![0; length];
    stream.read_exact(&mut text).await.map_err(broke_off)?;
    Ok(Some(text.into()))
}

/// Returns the error for another end that speaks another protocol, or another version of this one.
fn not_understood() -> PerfError {
    PerfError::BrokeOff("the other end does not speak as `headway perf` of this version does".to_owned())
}

/// Far above any text said here.
const LONGEST_TEXT: usize = 64 << 10;
