use proptest::prelude::*;

use super::*;
use crate::message::{Message, MessageNumber, SendTime};

fn wire(number: u64, octets: u32) -> Bytes {
    let size = MessageSize::new(octets).unwrap();
    Message { number: MessageNumber(number), sent: SendTime(number * 7), size }.encode()
}

fn drain(framer: &mut StreamFramer) -> Vec<Bytes> {
    std::iter::from_fn(|| framer.next_message().unwrap()).collect()
}

#[test]
fn half_a_message_waits_for_the_other_half() {
    let message = wire(1, 64);
    let mut framer = StreamFramer::default();
    framer.push(&message[..63]);
    assert_eq!(framer.next_message(), Ok(None));
    framer.push(&message[63..]);
    assert_eq!(framer.next_message(), Ok(Some(message)));
    assert_eq!(framer.buffered_bytes(), 0);
}

#[test]
fn a_message_above_the_limit_is_refused_at_its_length_field_and_for_good() {
    let mut framer = StreamFramer::new(MessageSize::new(100).unwrap());
    framer.push(&101u32.to_be_bytes());
    let error = FramingError::TooLong { octets: 101, limit: 100 };
    assert_eq!(framer.next_message(), Err(error));
    framer.push(&wire(1, 64));
    assert_eq!(framer.next_message(), Err(error));
    assert_eq!(framer.buffered_bytes(), 0, "nothing is kept after the error");
}

#[test]
fn a_length_below_the_header_is_refused() {
    let mut framer = StreamFramer::default();
    framer.push(b"\0\0\0\x13");
    assert_eq!(framer.next_message(), Err(FramingError::TooShort { octets: 19 }));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_split_of_the_stream_gives_the_same_messages(
        sizes in proptest::collection::vec(20u32..300, 1..20),
        cuts in proptest::collection::vec(1usize..400, 1..60),
    ) {
        let messages: Vec<Bytes> = (0u64..).zip(&sizes).map(|(number, size)| wire(number, *size)).collect();
        let mut stream = messages.concat();
        let mut framer = StreamFramer::default();
        let mut found = Vec::new();
        for cut in cuts.iter().cycle() {
            let piece: Vec<u8> = stream.drain(..stream.len().min(*cut)).collect();
            framer.push(&piece);
            found.extend(drain(&mut framer));
            if stream.is_empty() {
                break;
            }
        }
        prop_assert_eq!(found, messages);
        prop_assert_eq!(framer.buffered_bytes(), 0);
    }

    #[test]
    fn arbitrary_streams_never_panic_and_errors_stay(
        pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20),
    ) {
        let mut framer = StreamFramer::new(MessageSize::new(1000).unwrap());
        let mut failed = None;
        for piece in pieces {
            framer.push(&piece);
            loop {
                match framer.next_message() {
                    Ok(Some(message)) => prop_assert!(failed.is_none() && message.len() >= 20),
                    Ok(None) => break,
                    Err(error) => {
                        prop_assert_eq!(*failed.get_or_insert(error), error);
                        break;
                    }
                }
            }
        }
    }
}
