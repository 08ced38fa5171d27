//! Receivers that say what is not so, to be sent more than their share (RFC 3708 §5).

use core::time::Duration;
use std::collections::{BTreeSet, VecDeque};

use sctp_wire::{Chunk, GapAckBlock};
use virtual_time::Instant;

use crate::by_hand::Hand;
use crate::dice::Dice;
use crate::net::{End, LEFT_PORT, Pair, Setup, ordered};

/// What a receiver reports as duplicate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reporting {
    WhatCameTwice,
    EveryRetransmission,
}

/// A receiver behind a path of 10 ms each way that loses packets; no packet is late, and none comes twice.
struct Far {
    pair: Pair,
    hand: Hand,
    dice: Dice,
    /// One of so many packets is lost.
    loses_one_of: u64,
    reporting: Reporting,
    /// Chunks by their number, from 1.
    cumulative: u32,
    above: BTreeSet<u32>,
    sent_before: BTreeSet<u32>,
    arriving: VecDeque<(Instant, Vec<(u32, bool)>)>,
    returning: VecDeque<(Instant, u32, Vec<GapAckBlock>, Vec<u32>)>,
}

const ONE_WAY: Duration = Duration::from_millis(10);

impl Far {
    fn new(seed: u64, loses_one_of: u64, reporting: Reporting) -> Self {
        let mut pair = Setup::signalling().build();
        let mut hand = Hand::new(LEFT_PORT, 9);
        hand.a_rwnd = 1 << 24;
        // The cookie's way there and back is the first round trip.
        hand.init(&mut pair);
        pair.run_ms(20);
        hand.echo(&mut pair);
        let dice = Dice::new(seed);
        let (above, sent_before) = (BTreeSet::new(), BTreeSet::new());
        let (arriving, returning) = (VecDeque::new(), VecDeque::new());
        Self {
            pair,
            hand,
            dice,
            loses_one_of,
            reporting,
            cumulative: 0,
            above,
            sent_before,
            arriving,
            returning,
        }
    }

    /// A millisecond of bulk.
    fn step(&mut self) {
        self.pair.with(End::Right, |side, now| {
            let id = side.id.unwrap();
            while side.endpoint.association(id).unwrap().buffered_bytes() < 900_000 {
                side.endpoint.send(now, id, ordered(0, 1, 1352)).unwrap();
            }
        });
        let sent = self.pair.with(End::Right, |side, _| core::mem::take(&mut side.sent));
        for packet in &sent {
            let before = self.hand.peer_tsn.previous();
            let number =
                |chunk| if let Chunk::Data(data) = chunk { Some(before.distance(data.tsn)) } else { None };
            let octets = packet.packet();
            let chunks = octets.chunks().filter_map(|chunk| number(chunk.unwrap()));
            let chunks: Vec<_> = chunks.map(|chunk| (chunk, !self.sent_before.insert(chunk))).collect();
            if !chunks.is_empty() && self.dice.below(self.loses_one_of) > 0 {
                self.arriving.push_back((packet.at + ONE_WAY, chunks));
            }
        }
        self.pair.run_ms(1);
        let now = self.pair.now();
        while let Some((_, chunks)) = self.arriving.pop_front_if(|(at, _)| *at <= now) {
            let sack = self.receive(now, &chunks);
            self.returning.push_back(sack);
        }
        while let Some((_, count, gaps, duplicates)) = self.returning.pop_front_if(|(at, ..)| *at <= now) {
            let before = self.hand.peer_tsn.previous();
            let duplicates = duplicates.iter().map(|chunk| before.advance(*chunk));
            self.hand.tell(&mut self.pair, |writer| {
                writer.sack(before.advance(count), 1 << 24, gaps, duplicates).unwrap();
            });
        }
    }

    fn receive(
        &mut self,
        now: Instant,
        chunks: &[(u32, bool)],
    ) -> (Instant, u32, Vec<GapAckBlock>, Vec<u32>) {
        let mut duplicates = Vec::new();
        for &(chunk, is_again) in chunks {
            let is_new = chunk > self.cumulative && self.above.insert(chunk);
            let is_reported = match self.reporting {
                Reporting::WhatCameTwice => !is_new,
                Reporting::EveryRetransmission => is_again,
            };
            if is_reported {
                duplicates.push(chunk);
            }
        }
        while self.above.remove(&(self.cumulative + 1)) {
            self.cumulative += 1;
        }
        let mut gaps: Vec<GapAckBlock> = Vec::new();
        for chunk in &self.above {
            let offset = u16::try_from(chunk - self.cumulative).unwrap();
            match gaps.last_mut() {
                Some(last) if last.end + 1 == offset => last.end = offset,
                Some(_) | None => gaps.push(GapAckBlock { start: offset, end: offset }),
            }
        }
        (now + ONE_WAY, self.cumulative, gaps, duplicates)
    }

    /// Chunks received in a minute; recoveries, and how many of them were undone.
    fn minute(mut self) -> (u32, u64, u64) {
        (0..60_000).for_each(|_| self.step());
        let counters = self.pair.statistics(End::Right).paths[0].counters;
        (self.cumulative, counters.recoveries, counters.recoveries_undone)
    }
}

#[test]
fn robustness_36_who_reports_every_retransmission_as_duplicate_gets_no_more_than_who_is_honest() {
    for loses_one_of in [50, 100, 300] {
        let [honest, liar] = [Reporting::WhatCameTwice, Reporting::EveryRetransmission].map(|reporting| {
            let minutes = (0..2).map(|seed| Far::new(seed, loses_one_of, reporting).minute());
            minutes.reduce(|a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2)).unwrap()
        });
        assert_eq!(honest.2, 0);
        let ratio = f64::from(liar.0) / f64::from(honest.0);
        assert!(ratio <= 1.2, "1 of {loses_one_of}: {ratio:.2}, {honest:?} and {liar:?}");
    }
}
