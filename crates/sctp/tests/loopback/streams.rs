//! Streams as handles: each with a queue of its own, each ended with the reason.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use sctp::{
    Association, AssociationConfig, AssociationError, CommunicationLost, Delivery, Offer, SendError, Stream,
    StreamId, StreamReadError, TakeStreamError,
};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio_util::codec::{Framed, LinesCodec};

use crate::{Pair, number_of, numbered, within_a_minute};

mod endings;

const BUFFER_BYTES: usize = 65_536;

/// Windows so small that who does not read is soon noticed; streams can be reset.
fn small() -> AssociationConfig {
    let mut config = AssociationConfig::default();
    config.buffers.send_bytes = BUFFER_BYTES;
    config.buffers.receive_bytes = BUFFER_BYTES;
    config.buffers.message_bytes = BUFFER_BYTES / 2;
    config.extensions.reconfiguration = Offer::On;
    config
}

async fn pair() -> Pair {
    Pair::with("127.0.0.1:0", small()).await
}

fn take(association: &Association, stream: u16) -> Stream {
    association.stream(StreamId::new(stream)).unwrap()
}

async fn send(association: &Association, stream: u16, number: u32, bytes: usize) {
    association.send(numbered(stream, number, bytes, Delivery::Ordered)).await.unwrap();
}

async fn next_number(stream: &mut Stream) -> u32 {
    number_of(&stream.recv().await.unwrap().unwrap().message)
}

#[tokio::test]
async fn a_stream_that_is_not_read_holds_up_no_other() {
    within_a_minute(async {
        let pair = pair().await;
        let (mut slow, mut fast) = (take(&pair.there, 1), take(&pair.there, 2));
        for number in 0..20 {
            send(&pair.here, 1, number, 1_000).await;
        }
        // Twenty windows pass the twenty messages that wait.
        for number in 0..1_300 {
            send(&pair.here, 2, number, 1_000).await;
            assert_eq!(next_number(&mut fast).await, number);
        }
        for number in 0..20 {
            assert_eq!(next_number(&mut slow).await, number);
        }
        assert!(slow.reader().try_recv().is_none() && pair.there.try_recv().is_none());
    })
    .await;
}

#[tokio::test]
async fn what_is_unread_on_a_stream_keeps_the_window_closed() {
    within_a_minute(async {
        let pair = pair().await;
        let mut unread = take(&pair.there, 1);
        let mut sent = 0;
        for _ in 0..2_000 {
            while pair.here.try_send(numbered(1, sent, 1_024, Delivery::Ordered)).is_ok() {
                sent += 1;
            }
            tokio::task::yield_now().await;
        }
        let both_buffers = u32::try_from(2 * BUFFER_BYTES / 1_024).unwrap();
        // A receiver may take a packet or two beyond its window rather than drop them.
        assert!(sent <= both_buffers + 4, "{sent} messages");
        for number in 0..sent {
            assert_eq!(next_number(&mut unread).await, number);
        }
    })
    .await;
}

#[tokio::test]
async fn two_tasks_on_two_streams_do_not_steal_and_keep_their_order() {
    within_a_minute(async {
        let pair = pair().await;
        let readers: Vec<_> = [1, 2]
            .map(|id| {
                let mut stream = take(&pair.there, id);
                tokio::spawn(async move {
                    for number in 0..1_000 {
                        let received = stream.recv().await.unwrap().unwrap();
                        assert_eq!(
                            (received.message.stream, number_of(&received.message)),
                            (stream.id(), number)
                        );
                    }
                })
            })
            .into();
        for number in 0..1_000 {
            for stream in [1, 2, 3] {
                send(&pair.here, stream, number, 300).await;
            }
            // The third stream is nobody's.
            assert_eq!(number_of(&pair.there.recv().await.unwrap().unwrap().message), number);
        }
        for reader in readers {
            reader.await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn streams_are_accepted_in_the_order_in_which_they_are_used() {
    within_a_minute(async {
        let pair = pair().await;
        for (number, stream) in (0_u32..).zip([5, 3, 5, 7]) {
            send(&pair.here, stream, number, 10).await;
        }
        let mut accepted = Vec::new();
        for first in [0, 1, 3] {
            let mut stream = pair.there.accept_stream().await.unwrap().unwrap();
            assert_eq!(next_number(&mut stream).await, first);
            accepted.push(stream);
        }
        assert_eq!(accepted.iter().map(|stream| stream.id().get()).collect::<Vec<_>>(), [5, 3, 7]);
        let taken = pair.there.stream(StreamId::new(3)).map(drop);
        assert_eq!(taken, Err(TakeStreamError::Taken(StreamId::new(3))));

        // Dropped with a message unread, the stream is accepted again.
        accepted.remove(0);
        let mut again = pair.there.accept_stream().await.unwrap().unwrap();
        assert_eq!((again.id().get(), next_number(&mut again).await), (5, 2));
    })
    .await;
}

#[tokio::test]
async fn a_reader_too_far_behind_is_cut_off_and_others_are_not() {
    within_a_minute(async {
        let pair = pair().await;
        let (mut behind, mut other) = (take(&pair.there, 1), take(&pair.there, 2));
        behind.reader().limit_unread(Some(10_000));
        for number in 0..200 {
            send(&pair.here, 1, number, 1_000).await;
        }
        send(&pair.here, 2, 7, 10).await;
        assert_eq!(next_number(&mut other).await, 7);
        for number in 0..10 {
            assert_eq!(next_number(&mut behind).await, number);
        }
        let error = behind.recv().await.unwrap_err();
        assert_eq!(error, StreamReadError::Overrun { limit: 10_000 });
        drop(behind);
        let mut anew = take(&pair.there, 1);
        send(&pair.here, 1, 200, 10).await;
        assert_eq!(next_number(&mut anew).await, 200);
    })
    .await;
}

#[tokio::test]
async fn a_discarded_stream_never_fills_the_window() {
    within_a_minute(async {
        let pair = pair().await;
        let (unwanted, _writer) = take(&pair.there, 1).split();
        unwanted.discard();
        for number in 0..500 {
            send(&pair.here, 1, number, 1_000).await;
        }
        send(&pair.here, 2, 0, 10).await;
        assert_eq!(pair.there.recv().await.unwrap().unwrap().message.stream, StreamId::new(2));
    })
    .await;
}

#[tokio::test]
async fn every_writer_of_a_stream_goes_on_when_there_is_room() {
    within_a_minute(async {
        let pair = pair().await;
        // Whoever gives the reading half back keeps the writing one, beside that of the next taker.
        let writers = [(); 2].map(|()| take(&pair.here, 1).split().1);
        for _ in 0..2_000 {
            while pair.here.try_send(numbered(2, 0, 1_024, Delivery::Ordered)).is_ok() {}
            tokio::task::yield_now().await;
        }
        let waiting = writers
            .map(|mut writer| tokio::spawn(async move { writer.write_all(&[0; 1_024]).await.unwrap() }));
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert!(waiting.iter().all(|task| !task.is_finished()), "there is room");
        let mut written = 0;
        while written < waiting.len() {
            let received = pair.there.recv().await.unwrap().unwrap();
            written += usize::from(received.message.stream == StreamId::new(1));
        }
        for task in waiting {
            task.await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn looking_for_a_message_wakes_no_less_those_who_wait_for_it() {
    within_a_minute(async {
        let pair = pair().await;
        let mut stream = take(&pair.there, 1);
        let waiting = tokio::spawn(poll_fn(move |context| {
            let polled = stream.reader().poll_recv(context);
            assert!(polled.is_ready() || stream.reader().try_recv().is_none());
            polled.map(|found| number_of(&found.unwrap().unwrap().message))
        }));
        tokio::task::yield_now().await;
        send(&pair.here, 1, 7, 10).await;
        assert_eq!(waiting.await.unwrap(), 7);
    })
    .await;
}

#[tokio::test]
async fn octets_and_lines_cross_a_stream() {
    within_a_minute(async {
        let pair = pair().await;
        let (mut here, mut there) = (take(&pair.here, 1), take(&pair.there, 1));
        here.write_all(b"first line\nother ").await.unwrap();
        here.write_all(b"line\nrest").await.unwrap();
        let mut line = String::new();
        for expected in ["first line\n", "other line\n"] {
            line.clear();
            there.read_line(&mut line).await.unwrap();
            assert_eq!(line, expected);
        }
        let mut rest = [0; 4];
        there.read_exact(&mut rest).await.unwrap();
        assert_eq!(&rest, b"rest");

        let (mut here, mut there) =
            (Framed::new(here, LinesCodec::new()), Framed::new(there, LinesCodec::new()));
        here.send("framed").await.unwrap();
        assert_eq!(there.next().await.unwrap().unwrap(), "framed");
    })
    .await;
}

/// Both directions at once, and many windows of it: what a writer waits for is told.
#[tokio::test]
async fn a_long_copy_arrives_as_it_was() {
    within_a_minute(async {
        let pair = pair().await;
        let (here, there) = (take(&pair.here, 1), take(&pair.there, 1));
        let (mut reader, mut writer) = there.split();
        tokio::spawn(async move { tokio::io::copy(&mut reader, &mut writer).await });
        let sent: Vec<u8> = (0_u8..=255).cycle().take(1_000_000).collect();
        let (mut reader, mut writer) = here.split();
        let mut received = vec![0; sent.len()];
        let (wrote, read) = tokio::join!(writer.write_all(&sent), reader.read_exact(&mut received));
        wrote.unwrap();
        read.unwrap();
        assert_eq!(received, sent);
    })
    .await;
}

#[tokio::test]
async fn payloads_go_into_a_sink_and_messages_come_out_of_a_stream() {
    within_a_minute(async {
        let pair = pair().await;
        let (here, there) = (take(&pair.here, 1), take(&pair.there, 1));
        let sending = async {
            let payloads = (0_u8..200).map(|number| Ok::<_, SendError>(Bytes::from(vec![number; 2_000])));
            futures_util::stream::iter(payloads).forward(here).await.unwrap();
        };
        let reading =
            StreamExt::take(there, 200).map(|received| received.unwrap().message.payload[1_999]).collect();
        let ((), numbers): ((), Vec<u8>) = tokio::join!(sending, reading);
        assert_eq!(numbers, (0..200).collect::<Vec<_>>());
    })
    .await;
}

/// Whether nothing is there to read, and the reader waits.
async fn is_pending(stream: &mut Stream) -> bool {
    poll_fn(|context| Poll::Ready(stream.reader().poll_recv(context).is_pending())).await
}

fn kind(error: impl Into<io::Error>) -> io::ErrorKind {
    error.into().kind()
}

fn aborted_locally() -> CommunicationLost {
    CommunicationLost::Association(AssociationError::AbortedLocally)
}
