//! A packet train of the peer, by which it measures what the path to an address of this host carries, as it is seen from here: packets
//! with padding of one size, within the second in which a path has one train at most (see `congestion::train`).

use core::net::IpAddr;

use virtual_time::Instant;

use super::congestion::train::{REST, packets_of};

/// The packets that have come of a train.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerTrain {
    local: IpAddr,
    padding_bytes: usize,
    packets: u32,
    began: Instant,
}

impl PeerTrain {
    /// Takes in a packet with padding that came to an address: one more of the train, or the first one of the next. Returns whether
    /// the train is complete with it, but perhaps for one packet.
    pub(super) fn take_in(
        train: &mut Option<Self>,
        now: Instant,
        local: IpAddr,
        padding_bytes: usize,
    ) -> bool {
        let is_next = |train: &Self| {
            train.local == local && train.padding_bytes == padding_bytes && now.since(train.began) < REST
        };
        let first = Self { local, padding_bytes, packets: 0, began: now };
        let before = train.filter(is_next).unwrap_or(first);
        let packets = before.packets.saturating_add(1);
        *train = Some(Self { packets, ..before });
        packets == packets_of(padding_bytes + MOST_BESIDE_PADDING)
    }
}

/// The octets of a packet beside its padding at most: the common header, a HEARTBEAT and an AUTH chunk. Whoever has less of them may
/// send one packet more.
const MOST_BESIDE_PADDING: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 1));
    const THERE: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 1, 1));
    /// That of a packet of 1,452 octets beside a HEARTBEAT: IPv4 and UDP over Ethernet.
    const PADDING: usize = 1412;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// The numbers of the packets with which a train is complete.
    fn complete(packets: impl IntoIterator<Item = (u64, IpAddr, usize)>) -> Vec<usize> {
        let mut train = None;
        let mut found = Vec::new();
        for ((now, local, padding), number) in packets.into_iter().zip(1..) {
            if PeerTrain::take_in(&mut train, at(now), local, padding) {
                found.push(number);
            }
        }
        found
    }

    #[test]
    fn packets_of_one_size_within_a_second_are_a_train_and_are_told_once() {
        let train = |padding| (0..12).map(move |number| (1000 + number, HERE, padding));
        assert_eq!(complete(train(1300)), [10]);
        // It may have been sent with less beside its padding than there could be, so that one more comes behind it.
        assert_eq!(complete(train(PADDING)), [9]);
        // Larger packets are fewer: a train has 14,600 octets at most (RFC 6928 §2).
        assert_eq!(complete(train(8900)), [2]);
    }

    #[test]
    fn packets_of_other_sizes_times_or_addresses_are_no_train() {
        let sizes = (0..30).map(|number| (1000, HERE, PADDING + number % 2));
        assert!(complete(sizes).is_empty(), "probes of the path MTU");
        let slow = (0..30).map(|number| (1000 + 130 * number, HERE, PADDING));
        assert!(complete(slow).is_empty());
        let addresses = (0..30).map(|number| (1000, if number % 2 == 0 { HERE } else { THERE }, PADDING));
        assert!(complete(addresses).is_empty());
    }

    #[test]
    fn a_train_that_lost_packets_is_not_completed_by_the_next() {
        let train = |from: u64, packets: usize| (0..packets).map(move |_| (from, HERE, PADDING));
        assert_eq!(at(1000) + REST, at(2000));
        assert_eq!(complete(train(1000, 7).chain(train(2000, 10))), [16]);
    }
}
