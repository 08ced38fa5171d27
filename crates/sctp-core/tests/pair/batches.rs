//! Packets and messages by the batch: the same octets as one by one, with less work.

use sctp_core::{
    AssociationConfig, AssociationId, Datagram, Delivery, Destination, Endpoint, EndpointConfig, Event,
    Message, Profile, StreamId, Transmit,
};
use virtual_time::Instant;

use crate::net::{LEFT, LEFT_PORT, RIGHT, RIGHT_PORT, by_ip, port};

/// Two endpoints, and how they are called.
struct Ends {
    left: Endpoint,
    right: Endpoint,
    id: AssociationId,
    now: Instant,
    by: By,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    One,
    Batch,
}

impl Ends {
    fn new(by: By, profile: Profile) -> Self {
        let endpoint = |number, seed| {
            let mut config = EndpointConfig::new(port(number));
            config.association = AssociationConfig::profile(profile);
            Endpoint::new(config, [seed; 32]).unwrap()
        };
        let (mut left, right) = (endpoint(LEFT_PORT, 1), endpoint(RIGHT_PORT, 2));
        let now = Instant::from_millis(1000);
        let config = AssociationConfig::profile(profile);
        let id = left.connect(now, &[by_ip(RIGHT)], port(RIGHT_PORT), config).unwrap();
        Self { left, right, id, now, by }
    }

    /// Both directions once, 10 ms apart; gives every octet sent.
    fn trip(&mut self) -> Vec<u8> {
        let (mut there, sent) = transmit(&mut self.left, self.now, self.by);
        self.now += core::time::Duration::from_millis(10);
        take(&mut self.right, self.now, self.by, by_ip(LEFT), &there, &sent);
        let (back, sent) = transmit(&mut self.right, self.now, self.by);
        self.now += core::time::Duration::from_millis(10);
        take(&mut self.left, self.now, self.by, by_ip(RIGHT), &back, &sent);
        for end in [&mut self.left, &mut self.right] {
            if end.poll_timeout().is_some_and(|due| due <= self.now) {
                end.handle_timeout(self.now);
            }
        }
        there.extend(back);
        there
    }
}

fn transmit(end: &mut Endpoint, now: Instant, by: By) -> (Vec<u8>, Vec<Transmit>) {
    let (mut octets, mut sent) = (Vec::new(), Vec::new());
    match by {
        By::One => sent.extend(core::iter::from_fn(|| end.poll_transmit(now, &mut octets))),
        By::Batch => {
            while {
                let before = sent.len();
                end.transmit_many(now, 7, &mut octets, &mut sent);
                sent.len() == before + 7
            } {}
        }
    }
    (octets, sent)
}

fn take(end: &mut Endpoint, now: Instant, by: By, source: Destination, octets: &[u8], sent: &[Transmit]) {
    let mut rest = octets;
    let datagrams = sent.iter().map(|transmit| {
        let (payload, others) = rest.split_at(transmit.len);
        rest = others;
        Datagram::new(source, payload)
    });
    match by {
        By::One => datagrams.for_each(|datagram| end.handle_packet(now, datagram)),
        By::Batch => end.handle_packets(now, datagrams),
    }
}

/// Messages of many lengths, ordered and not.
fn messages() -> impl Iterator<Item = Message> {
    (0..300_u16).map(|number| {
        let delivery = if number % 5 == 0 { Delivery::Unordered } else { Delivery::Ordered };
        let bytes = 1 + usize::from(number) * usize::from(number) % 4001;
        Message::new(StreamId::new(number % 7), delivery, vec![number.to_be_bytes()[1]; bytes])
    })
}

/// What the right end has read, and every octet that went either way.
fn transfer(by: By, profile: Profile) -> (Vec<(StreamId, usize)>, Vec<Vec<u8>>) {
    let mut ends = Ends::new(by, profile);
    let mut trips = vec![ends.trip(), ends.trip()];
    let (now, id) = (ends.now, ends.id);
    match by {
        By::One => messages().for_each(|message| ends.left.send(now, id, message).unwrap()),
        By::Batch => assert_eq!(ends.left.send_many(now, id, messages()).unwrap(), (300, None)),
    }
    let mut read = Vec::new();
    for _ in 0..200 {
        trips.push(ends.trip());
        let ups = core::iter::from_fn(|| ends.right.poll_event());
        let Some(id) = ups.filter(|(_, event)| *event == Event::MessageReady).map(|(id, _)| id).last() else {
            continue;
        };
        let mut received = Vec::new();
        match by {
            By::One => received.extend(core::iter::from_fn(|| ends.right.receive(ends.now, id))),
            By::Batch => while ends.right.receive_many(ends.now, id, 7, &mut received) == 7 {},
        }
        read.extend(received.iter().map(|one| (one.message.stream, one.message.payload.len())));
    }
    (read, trips)
}

#[test]
fn batches_carry_the_same_octets_as_single_calls() {
    for profile in [Profile::Rfc9260, Profile::Signalling] {
        let (read, octets) = transfer(By::One, profile);
        assert_eq!(read.len(), 300);
        let (read_at_once, octets_at_once) = transfer(By::Batch, profile);
        assert_eq!(read, read_at_once);
        assert_eq!(octets.iter().map(Vec::len).sum::<usize>(), octets_at_once.iter().map(Vec::len).sum());
    }
}

#[test]
fn first_message_that_is_refused_comes_back_and_the_rest_is_not_asked_for() {
    let mut ends = Ends::new(By::Batch, Profile::Signalling);
    ends.trip();
    ends.trip();
    let mut asked = 0;
    let endless = core::iter::from_fn(|| {
        asked += 1;
        Some(Message::ordered(StreamId::new(0), vec![7; 1000]))
    });
    let (taken, refused) = ends.left.send_many(ends.now, ends.id, endless).unwrap();
    assert_eq!(asked, taken + 1);
    assert!(
        matches!(refused, Some(sctp_core::SendError::BufferFull(message)) if message.payload.len() == 1000)
    );
}
