//! Tasks that share an association: readers, writers and those who wait for its end.

use std::pin::Pin;

use sctp_core::{Message, StreamId};
use sctp_io::DatagramChannel;
use shuttle::future::{block_on, spawn};
use tokio::io::AsyncWrite;

use super::model::{Bells, Network};
use super::{config, endpoint, in_many_orders};
use crate::{Association, Endpoint};

/// Two endpoints with an association between them.
pub(super) struct Ends {
    pub(super) left: Endpoint,
    pub(super) right: Endpoint,
    pub(super) here: Association,
    pub(super) there: Association,
}

impl Ends {
    pub(super) async fn open(send_bytes: usize) -> Self {
        let (left, right) = Network::begin(Bells::Sound);
        let mut small = config(1);
        small.association.buffers.send_bytes = send_bytes;
        small.association.buffers.message_bytes = send_bytes / 2;
        let (left, right) = (endpoint(small.clone(), left), endpoint(config(2), right));
        let calling = left.clone();
        let port = right.port();
        let opening = spawn(async move { calling.connect(DatagramChannel::PEER, port).await.unwrap() });
        let there = right.accept().await.unwrap();
        Self { left, right, here: opening.await.unwrap(), there }
    }

    /// Ends the association by agreement, and both drivers.
    pub(super) async fn close(self) {
        let there = spawn(async move { self.there.closed().await.unwrap() });
        self.here.shutdown().await.unwrap();
        there.await.unwrap();
        self.left.close();
        self.right.close();
        self.left.wait_idle().await;
        self.right.wait_idle().await;
    }
}

#[test]
fn a_reader_hears_every_message_that_two_senders_hand_in() {
    in_many_orders(|| {
        block_on(async {
            let ends = Ends::open(1 << 20).await;
            for stream in 0..2 {
                let here = ends.here.clone();
                spawn(async move {
                    for number in 0..3_u8 {
                        here.send(Message::ordered(StreamId::new(stream), vec![number])).await.unwrap();
                    }
                });
            }
            let mut next = [0_u8; 2];
            for _ in 0..6 {
                let message = ends.there.recv().await.unwrap().unwrap().message;
                let next = &mut next[usize::from(message.stream.get())];
                assert_eq!(message.payload[..], [*next]);
                *next += 1;
            }
            ends.close().await;
        });
    });
}

#[test]
fn readers_of_streams_and_of_the_rest_hear_what_is_theirs() {
    in_many_orders(|| {
        block_on(async {
            let ends = Ends::open(1 << 20).await;
            let mut handle = ends.there.stream(StreamId::new(1)).unwrap();
            let of_stream = spawn(async move { (handle.recv().await.unwrap().unwrap().message, handle) });
            let (rest, accepting) = (ends.there.clone(), ends.there.clone());
            let of_rest = spawn(async move { rest.recv().await.unwrap().unwrap().message });
            let sender = ends.here.clone();
            spawn(async move {
                for stream in 0..3 {
                    sender.send(Message::ordered(StreamId::new(stream), "theirs")).await.unwrap();
                }
            });
            // Of the streams that nobody has taken, 0 and 2, one is accepted and the other read, whichever comes first.
            let mut accepted = accepting.accept_stream().await.unwrap().unwrap();
            let by_accepted = accepted.recv().await.unwrap().unwrap().message.stream;
            let by_rest = of_rest.await.unwrap().stream;
            let (message, handle) = of_stream.await.unwrap();
            assert_eq!(message.stream, StreamId::new(1));
            assert_eq!(by_accepted.get() + by_rest.get(), 2);
            drop((accepted, handle, accepting));
            ends.close().await;
        });
    });
}

#[test]
fn writers_of_all_kinds_find_room_when_the_peer_reads() {
    in_many_orders(|| {
        block_on(async {
            let ends = Ends::open(2_000).await;
            let mut writing = Vec::new();
            for stream in 0..2 {
                let (_reader, mut writer) = ends.here.stream(StreamId::new(stream)).unwrap().split();
                writing.push(spawn(async move {
                    for _ in 0..3 {
                        let octets = [0; 900];
                        std::future::poll_fn(|context| Pin::new(&mut writer).poll_write(context, &octets))
                            .await
                            .unwrap();
                    }
                }));
            }
            let whole = ends.here.clone();
            writing.push(spawn(async move {
                for _ in 0..3 {
                    whole.send(Message::ordered(StreamId::new(2), vec![0; 900])).await.unwrap();
                }
            }));
            for _ in 0..9 {
                ends.there.recv().await.unwrap().unwrap();
            }
            for writer in writing {
                writer.await.unwrap();
            }
            ends.here.drained_to(0).await.unwrap();
            ends.close().await;
        });
    });
}

#[test]
fn whoever_waits_is_told_of_the_end() {
    in_many_orders(|| {
        block_on(async {
            let ends = Ends::open(1 << 20).await;
            let mut waiting = Vec::new();
            let mut handle = ends.there.stream(StreamId::new(1)).unwrap();
            waiting.push(spawn(async move { assert!(handle.recv().await.unwrap().is_none()) }));
            let (reading, accepting, ending) = (ends.there.clone(), ends.there.clone(), ends.there.clone());
            waiting.push(spawn(async move { assert!(reading.recv().await.unwrap().is_none()) }));
            waiting.push(spawn(async move { assert!(accepting.accept_stream().await.unwrap().is_none()) }));
            waiting.push(spawn(async move { while ending.next_event().await.is_some() {} }));
            let server = ends.right.clone();
            waiting.push(spawn(async move { assert!(server.accept().await.is_none()) }));
            ends.close().await;
            for waiter in waiting {
                waiter.await.unwrap();
            }
        });
    });
}
