use super::*;

const MESSAGE: &[u8] = b"OPTIONS sip:b@x SIP/2.0\r\nA: b\r\nContent-Length: 4\r\n\r\nabcd";

fn all(framer: &mut Framer) -> Result<Vec<Bytes>, FramingError> {
    let mut messages = Vec::new();
    while let Some(message) = framer.next_message()? {
        messages.push(message);
    }
    Ok(messages)
}

#[test]
fn messages_are_found_however_the_stream_is_cut() {
    let stream = [b"\r\n\r\n".as_slice(), MESSAGE, b"\r\n", MESSAGE, MESSAGE].concat();
    for size in 1..stream.len() {
        let mut framer = Framer::new(MessageLimits::default());
        let mut found = Vec::new();
        for piece in stream.chunks(size) {
            framer.push(piece);
            found.extend(all(&mut framer).unwrap());
        }
        assert_eq!(found, [MESSAGE; 3], "pieces of {size}");
        assert_eq!(framer.held_bytes(), 0);
    }
}

#[test]
fn a_length_on_a_line_that_goes_on_is_the_one_that_the_message_has() {
    let stream = b"OPTIONS sip:b@x SIP/2.0\r\nContent-Length:\r\n 4\r\n\r\nabcd";
    let mut framer = Framer::new(MessageLimits::default());
    framer.push(stream);
    let message = framer.next_message().unwrap().unwrap();
    assert_eq!(message, stream.as_slice());
    let message = crate::Message::parse(&message, &MessageLimits::default()).unwrap();
    assert!(matches!(message, crate::Message::Request(request) if request.body == b"abcd".as_slice()));
    framer.push(b"OPTIONS sip:b@x SIP/2.0\r\nl: 1\r\n 2\r\n\r\na");
    assert!(matches!(framer.next_message(), Err(FramingError::Message(_))));
}

#[test]
fn a_stream_without_content_length_cannot_be_cut() {
    let mut framer = Framer::new(MessageLimits::default());
    framer.push(b"OPTIONS sip:b@x SIP/2.0\r\nA: b\r\n\r\n");
    assert_eq!(framer.next_message(), Err(FramingError::NoLength));
}

#[test]
fn lengths_beyond_the_limit_end_the_stream_before_the_body_is_there() {
    for length in ["32769", "4294967295", "99999999999999999999", "-1", "1\r\nl: 2"] {
        let mut framer = Framer::new(MessageLimits::default());
        framer.push(format!("OPTIONS sip:b@x SIP/2.0\r\nContent-Length: {length}\r\n\r\n").as_bytes());
        assert!(matches!(framer.next_message(), Err(FramingError::Message(_))), "{length}");
    }
}

#[test]
fn a_head_that_does_not_end_ends_the_stream() {
    let mut framer = Framer::new(MessageLimits::default());
    for _ in 0..16_383 {
        framer.push(b"x");
        assert_eq!(framer.next_message(), Ok(None));
    }
    framer.push(b"x");
    assert_eq!(framer.next_message(), Err(ParseError::NoEnd(16_384).into()));
}

#[test]
fn line_ends_for_ever_hold_no_memory() {
    let mut framer = Framer::new(MessageLimits::default());
    for _ in 0..10_000 {
        framer.push(b"\r\n\r\n");
        assert_eq!(framer.next_message(), Ok(None));
    }
    assert_eq!(framer.held_bytes(), 0);
}
