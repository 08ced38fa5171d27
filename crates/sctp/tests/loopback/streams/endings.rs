//! Every handle of a stream learns how its stream ended, after what had arrived before.

use super::*;

#[tokio::test]
async fn a_shutdown_ends_every_handle_by_agreement() {
    within_a_minute(async {
        let pair = pair().await;
        let (mut first, mut second) = (take(&pair.there, 1), take(&pair.there, 2));
        assert!(is_pending(&mut second).await);
        send(&pair.here, 1, 0, 1_000).await;
        pair.here.shutdown().await.unwrap();
        assert_eq!(next_number(&mut first).await, 0);
        for stream in [&mut first, &mut second] {
            assert!(stream.recv().await.unwrap().is_none());
            assert!(!stream.reader().is_reset());
            assert_eq!(stream.read(&mut [0; 9]).await.unwrap(), 0);
        }
        assert!(pair.there.accept_stream().await.unwrap().is_none());
        assert_eq!(kind(first.send("late").await.unwrap_err()), io::ErrorKind::BrokenPipe);
    })
    .await;
}

#[tokio::test]
async fn an_abort_wakes_who_waits_to_read_and_to_write_with_the_reason() {
    within_a_minute(async {
        let pair = pair().await;
        let (mut reader, _) = take(&pair.here, 1).split();
        let (_, mut writer) = take(&pair.here, 2).split();
        let waiting = tokio::spawn(async move { reader.recv().await });
        let writing = tokio::spawn(async move { writer.write_all(&vec![1; 10 * BUFFER_BYTES]).await });
        // Both buffers fill, for nobody reads over there.
        while pair.here.try_send(numbered(3, 0, 1_000, Delivery::Ordered)).is_ok() {
            tokio::task::yield_now().await;
        }
        pair.here.abort(b"enough");
        assert_eq!(waiting.await.unwrap().unwrap_err(), StreamReadError::Lost(aborted_locally()));
        assert_eq!(writing.await.unwrap().unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
        let mut there = take(&pair.there, 2);
        while let Ok(Some(_)) = there.recv().await {}
        let Err(StreamReadError::Lost(CommunicationLost::Association(AssociationError::AbortedByPeer(
            error,
        )))) = there.recv().await
        else {
            panic!("expected an abort")
        };
        assert!(error.text.contains("enough"), "{error}");
    })
    .await;
}

/// RFC 6525 §5.1.2: the peer has finished with the stream; what it sends after that is something new.
#[tokio::test]
async fn a_reset_ends_the_reader_behind_the_last_message_and_no_other() {
    within_a_minute(async {
        let pair = pair().await;
        let (mut reset, mut other) = (take(&pair.there, 1), take(&pair.there, 2));
        let mut here = take(&pair.here, 1);
        here.write_all(b"the last words").await.unwrap();
        here.shutdown().await.unwrap();
        assert_eq!(kind(here.write(b"more").await.unwrap_err()), io::ErrorKind::BrokenPipe);
        let mut text = String::new();
        reset.read_to_string(&mut text).await.unwrap();
        assert_eq!((text.as_str(), reset.reader().is_reset()), ("the last words", true));

        drop(here);
        send(&pair.here, 1, 9, 100).await;
        send(&pair.here, 2, 8, 100).await;
        assert_eq!(next_number(&mut other).await, 8);
        assert!(reset.recv().await.unwrap().is_none(), "it stays at its end");
        let mut anew = pair.there.accept_stream().await.unwrap().unwrap();
        assert_eq!((anew.id().get(), next_number(&mut anew).await), (1, 9));
    })
    .await;
}

#[tokio::test]
async fn dropping_every_handle_shuts_down_whatever_is_unread() {
    within_a_minute(async {
        let Pair { client, server, here, there } = pair().await;
        let unread = take(&there, 1);
        drop(there);
        for number in 0..40 {
            send(&here, 1, number, 1_000).await;
            send(&here, 2, number, 500).await;
        }
        drop(unread);
        while here.send(numbered(1, 0, 1_000, Delivery::Ordered)).await.is_ok() {}
        here.closed().await.unwrap();
        drop(here);
        tokio::join!(client.wait_idle(), server.wait_idle());
    })
    .await;
}

#[test]
fn shutting_the_runtime_down_ends_every_handle() {
    let build = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (driving, waiting) = (build(), build());
    let pair = driving.block_on(pair());
    let mut stream = take(&pair.there, 1);
    driving.shutdown_background();
    let lost = waiting.block_on(stream.recv()).unwrap_err();
    assert_eq!(lost, StreamReadError::Lost(CommunicationLost::DriverStopped));
}
