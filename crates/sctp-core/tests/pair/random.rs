//! Whatever the network does: nothing is lost, nothing comes twice, streams keep their order, contents stay
//! intact, and it ends within a bound of virtual time.

use core::time::Duration;
use std::collections::VecDeque;

use netem::{Impairments, Probability};
use sctp_core::{Delivery, Event, Message, PayloadProtocolId, Profile, ReceivedMessage, SendError, StreamId};

use crate::dice::Dice;
use crate::net::{End, Pair, Setup, Sniffing, ms};

/// One run, made of its seed.
#[derive(Debug)]
struct Case {
    seed: u64,
    profile: Profile,
    streams: u16,
    largest: usize,
    messages: usize,
    impairments: Impairments,
    buffer_bytes: usize,
}

impl Case {
    fn new(seed: u64, messages: usize) -> Self {
        let mut dice = Dice::new(seed);
        let percent = |dice: &mut Dice, most: u64| {
            Probability::new(f64::from(u32::try_from(dice.below(most + 1)).unwrap()) / 100.0).unwrap()
        };
        let delay = ms(1 + dice.below(50));
        let impairments = Impairments {
            delay,
            jitter: delay * u32::try_from(dice.below(4)).unwrap() / 4,
            loss: format!("{}%", dice.below(21)).parse().unwrap(),
            reorder: percent(&mut dice, 10),
            duplicate: percent(&mut dice, 10),
            corrupt: percent(&mut dice, 5),
            ..Impairments::default()
        };
        Self {
            seed,
            profile: Profile::ALL[dice.index(2)],
            streams: u16::try_from(1 + dice.below(64)).unwrap(),
            largest: [40, 400, 1500, 20_000][dice.index(4)],
            messages,
            impairments,
            buffer_bytes: [20_000, 100_000, 1 << 20][dice.index(3)],
        }
    }

    fn pair(&self) -> Pair {
        let mut setup = Setup::new(self.profile).configure(|config| {
            config.streams.outbound = self.streams;
            config.buffers.receive_bytes = self.buffer_bytes;
            config.buffers.send_bytes = 2 * self.buffer_bytes;
            config.buffers.message_bytes = 20_000;
            // At a fifth of loss in each direction ten losses in a row do happen.
            config.attempts.association = 100;
            config.attempts.init = 100;
            config.rto.max = ms(5000);
        });
        setup.seed = self.seed;
        setup.request = self.impairments.clone();
        setup.response = self.impairments.clone();
        setup.build()
    }

    /// Runs to the end and gives the hash of everything that happened on the network.
    fn run(&self) -> u64 {
        let mut pair = self.pair();
        pair.with(End::Left, |side, _| side.sniffing = Sniffing::Off);
        pair.with(End::Right, |side, _| side.sniffing = Sniffing::Off);
        pair.connect();
        let mut feeds = [End::Left, End::Right].map(|end| Feed::new(self, end));
        let mut checks = [End::Right, End::Left].map(|_| Check::new(self.streams));
        let (mut progress, mut since) = (0, pair.now());
        while checks.iter().any(|check| check.seen < self.messages) {
            let seen = checks.iter().map(|check| check.seen).sum();
            if seen > progress {
                (progress, since) = (seen, pair.now());
            }
            assert!(pair.now().since(since) < PROGRESS_WITHIN, "stalled: {self:?} {checks:?}");
            for (feed, end) in feeds.iter_mut().zip([End::Left, End::Right]) {
                feed.feed(&mut pair, end);
            }
            pair.run_ms(20);
            for (check, end) in checks.iter_mut().zip([End::Right, End::Left]) {
                check.read(&mut pair, end, self);
            }
        }
        pair.shutdown(End::Left);
        pair.run_ms(400_000);
        assert!(pair.endings(End::Left).len() == 1 && pair.endings(End::Right).len() == 1, "{self:?}");
        for (check, end) in checks.iter_mut().zip([End::Right, End::Left]) {
            check.read(&mut pair, end, self);
            assert_eq!(check.seen, self.messages, "{self:?}");
        }
        pair.world.trace_hash()
    }
}

/// Virtual time in which at least one message arrives: a message of 15 packets, a fifth of which is lost at each
/// attempt, with timeouts of up to 5 s.
const PROGRESS_WITHIN: Duration = Duration::from_secs(300);

/// The messages of one direction. Each says in its first octets which it is; the rest follows from that.
struct Feed {
    dice: Dice,
    left: usize,
    refused: Option<Message>,
    next: Vec<[u32; 2]>,
    largest: usize,
}

impl Feed {
    fn new(case: &Case, end: End) -> Self {
        let dice = Dice::new(case.seed ^ if end == End::Left { 0x11 } else { 0x22 });
        let next = vec![[0; 2]; usize::from(case.streams)];
        Self { dice, left: case.messages, refused: None, next, largest: case.largest }
    }

    fn feed(&mut self, pair: &mut Pair, end: End) {
        if pair.side(end).id.is_none() {
            return;
        }
        pair.with(end, |side, now| {
            let id = side.id.unwrap();
            while let Some(message) = self.refused.take().or_else(|| self.message()) {
                match side.endpoint.send(now, id, message) {
                    Ok(()) => {}
                    Err(SendError::BufferFull(message)) => {
                        self.refused = Some(message);
                        return;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        });
    }

    fn message(&mut self) -> Option<Message> {
        self.left = self.left.checked_sub(1)?;
        let stream = self.dice.index(self.next.len());
        let is_unordered = self.dice.below(4) == 0;
        let number = &mut self.next[stream][usize::from(is_unordered)];
        let len = 1 + self.dice.index(self.largest);
        let message = expected(stream, is_unordered, *number, len.max(5));
        *number += 1;
        Some(message)
    }
}

/// The message with this number of its stream and kind.
fn expected(stream: usize, is_unordered: bool, number: u32, len: usize) -> Message {
    let mut payload = number.to_be_bytes().to_vec();
    let step = usize::try_from(number).unwrap() + stream;
    payload.extend((4..len).map(|index| (index * 7 + step).to_le_bytes()[0]));
    let stream = StreamId::new(u16::try_from(stream).unwrap());
    let delivery = if is_unordered { Delivery::Unordered } else { Delivery::Ordered };
    Message::new(stream, delivery, payload).with_ppid(PayloadProtocolId::new(number ^ 0x5a5a))
}

/// What arrived in one direction.
#[derive(Debug)]
struct Check {
    seen: usize,
    next_ordered: Vec<u32>,
    unordered: Vec<VecDeque<bool>>,
}

impl Check {
    fn new(streams: u16) -> Self {
        let streams = usize::from(streams);
        Self { seen: 0, next_ordered: vec![0; streams], unordered: vec![VecDeque::new(); streams] }
    }

    fn read(&mut self, pair: &mut Pair, end: End, case: &Case) {
        let failures = pair.count(end, |event| matches!(event, Event::SendFailed { .. }));
        assert_eq!(failures, 0, "{case:?}");
        for (_, received) in pair.with(end, |side, _| std::mem::take(&mut side.received)) {
            self.seen += 1;
            self.check(&received.message, case);
        }
    }

    fn check(&mut self, message: &ReceivedMessage, case: &Case) {
        let number = u32::from_be_bytes(message.payload[..4].try_into().unwrap());
        let stream = usize::from(message.stream.get());
        let is_unordered = message.delivery == Delivery::Unordered;
        assert!(*message == expected(stream, is_unordered, number, message.payload.len()), "{case:?}");
        if is_unordered {
            let seen = &mut self.unordered[stream];
            let index = usize::try_from(number).unwrap();
            seen.resize(seen.len().max(index + 1), false);
            assert!(!std::mem::replace(&mut seen[index], true), "twice: {case:?}");
        } else {
            assert_eq!(number, self.next_ordered[stream], "order: {case:?}");
            self.next_ordered[stream] += 1;
        }
    }
}

/// Messages in all; both directions count.
fn soak_messages() -> usize {
    let text = std::env::var("HEADWAY_SOAK_MESSAGES").unwrap_or_else(|_| "50000".to_owned());
    text.parse().unwrap_or_else(|_| panic!("HEADWAY_SOAK_MESSAGES is `{text}`; it must be a number"))
}

#[test]
fn every_message_arrives_once_intact_and_in_order_whatever_the_network_does() {
    let cases: usize = 50;
    let each = soak_messages().div_ceil(2 * cases);
    for seed in 0..50 {
        Case::new(seed, each).run();
    }
}

#[test]
fn equal_seeds_give_equal_runs() {
    for seed in 1000..1003 {
        let case = Case::new(seed, 100);
        assert_eq!(case.run(), case.run(), "{case:?}");
    }
}
