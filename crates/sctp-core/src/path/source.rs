//! The local address that the packets of a path leave from: when it moves, and when it stays.
//!
//! Moving costs the congestion window, since from another address the way to the peer may be another one (RFC 9260
//! §7.2.5.2). So what a peer sends to a second address once, a HEARTBEAT or a chunk that it repeats, moves nothing.

use core::net::IpAddr;
use core::time::Duration;

use virtual_time::Instant;

use super::peer_train::PeerTrain;
use crate::transmit::Encapsulation;

/// The source address of a path.
#[derive(Debug)]
pub(crate) struct Source {
    /// `None` leaves it to the routing table.
    address: Option<IpAddr>,
    /// Whether the address is gone and no other fits: the path cannot be used.
    is_stranded: bool,
    /// When the last packet came to `address`.
    heard_at: Instant,
    /// The other addresses there is something to say of; boxed, for most paths know none.
    others: Option<Box<Others>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Others {
    /// The address that was left because it was gone; the path returns to it when the peer is heard there.
    left: Option<IpAddr>,
    /// How the last packet came, if not to the address in use, or not from the port in use.
    elsewhere: Option<Way>,
    /// The train of the peer that is coming to another address.
    train: Option<PeerTrain>,
}

/// How a packet of the peer came to this host, and an answer goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// `None` where the caller does not know.
    pub(crate) local: Option<IpAddr>,
    /// The port at the other end where there is UDP: a NAT may have one for each address of this host.
    pub(crate) encapsulation: Encapsulation,
}

/// What speaks for another address than ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    /// A packet came there, of whatever kind; so many transmissions in a row have not been answered.
    Packet { unanswered: u32 },
    /// User data came there; without a packet to the address in use for this long, the peer sends there no more.
    Data { patience: Duration },
    /// The peer does as it was asked, and sends there.
    Asked,
}

/// What a path does when something speaks for another source address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follow {
    Stays,
    /// It had none.
    Begins,
    /// It had another.
    Moves,
}

impl Source {
    pub(crate) const UNKNOWN: Self =
        Self { address: None, is_stranded: false, heard_at: Instant::EPOCH, others: None };

    #[inline]
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.address
    }

    #[inline]
    pub(crate) fn is_stranded(&self) -> bool {
        self.is_stranded
    }

    /// Returns the way that an answer to the packet being looked at has to take, where it did not come as the path's own go.
    #[inline]
    pub(crate) fn way_of_answer(&self) -> Option<Way> {
        self.others.as_ref()?.elsewhere
    }

    /// Takes another address, for what is wanted.
    pub(crate) fn assign(&mut self, address: Option<IpAddr>, is_needed: bool) {
        *self = Self { address, is_stranded: address.is_none() && is_needed, ..Self::UNKNOWN };
    }

    /// Takes another address because the one in use is gone.
    pub(crate) fn replace_lost(&mut self, address: Option<IpAddr>, is_needed: bool) {
        let left = self.left().or(self.address);
        self.assign(address, is_needed);
        self.others = Some(Box::new(Others { left, elsewhere: None, train: None }));
    }

    /// A packet came this way to a path whose packets travel like `used`; returns the local address it came to, if that is not
    /// the one in use.
    #[inline]
    pub(crate) fn hears(&mut self, now: Instant, way: Way, used: Encapsulation) -> Option<IpAddr> {
        let other = way.local.filter(|local| self.address != Some(*local));
        if other.is_none() {
            self.heard_at = now;
        }
        if other.is_some() || way.encapsulation != used {
            self.others.get_or_insert_default().elsewhere = Some(way);
        } else if let Some(others) = &mut self.others {
            others.elsewhere = None;
        }
        other
    }

    /// The packet being looked at was filled up with so much padding; returns the address it came to, if that is not the one in use
    /// and a train of the peer is complete with it.
    pub(crate) fn on_padding(&mut self, now: Instant, padding_bytes: usize) -> Option<IpAddr> {
        let Others { elsewhere, train, .. } = self.others.as_deref_mut()?;
        let local = (*elsewhere)?.local.filter(|local| self.address != Some(*local))?;
        PeerTrain::take_in(train, now, local, padding_bytes).then_some(local)
    }

    fn left(&self) -> Option<IpAddr> {
        self.others.as_ref()?.left
    }

    /// Something speaks for another address, which may be sent from: does the path move there?
    pub(crate) fn follow(&mut self, now: Instant, local: IpAddr, hint: Hint) -> Follow {
        let moves = self.address.is_none()
            || self.left() == Some(local)
            || match hint {
                Hint::Packet { unanswered } => unanswered > 0,
                Hint::Data { patience } => now.since(self.heard_at) > patience,
                Hint::Asked => true,
            };
        if !moves {
            return Follow::Stays;
        }
        let had_one = self.address.is_some();
        *self = Self { address: Some(local), heard_at: now, ..Self::UNKNOWN };
        if had_one { Follow::Moves } else { Follow::Begins }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 1));
    const SECOND: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 1, 1));
    const ANSWERED: Hint = Hint::Packet { unanswered: 0 };

    fn at(millis: u64) -> Instant {
        Instant::EPOCH + Duration::from_millis(millis)
    }

    fn data() -> Hint {
        Hint::Data { patience: Duration::from_millis(200) }
    }

    fn to(local: IpAddr) -> Way {
        Way { local: Some(local), encapsulation: Encapsulation::Ip }
    }

    /// A packet comes to this address over IP; returns whether that is the one in use.
    fn hears(source: &mut Source, now: Instant, local: IpAddr) -> bool {
        source.hears(now, to(local), Encapsulation::Ip).is_none()
    }

    /// A source at the first address, heard there at this time.
    fn first(heard_ms: u64) -> Source {
        let mut source = Source::UNKNOWN;
        assert_eq!(source.follow(at(0), FIRST, ANSWERED), Follow::Begins);
        assert!(hears(&mut source, at(heard_ms), FIRST));
        source
    }

    #[test]
    fn packets_move_it_while_nothing_is_answered_and_data_when_the_old_address_is_silent() {
        for (hint, now, follow) in [
            (ANSWERED, 10_000, Follow::Stays),
            (Hint::Packet { unanswered: 1 }, 101, Follow::Moves),
            (data(), 300, Follow::Stays),
            (data(), 301, Follow::Moves),
            (Hint::Asked, 100, Follow::Moves),
        ] {
            let mut source = first(100);
            assert!(!hears(&mut source, at(now), SECOND));
            assert_eq!(source.follow(at(now), SECOND, hint), follow, "{hint:?} at {now} ms");
            let stays = follow == Follow::Stays;
            assert_eq!(source.address(), Some(if stays { FIRST } else { SECOND }));
            assert_eq!(source.way_of_answer(), stays.then_some(to(SECOND)));
        }
    }

    #[test]
    fn packet_from_another_port_is_answered_there_and_is_no_reason_to_move() {
        let mut source = first(100);
        let way = Way { local: Some(FIRST), encapsulation: Encapsulation::Udp { port: 4001 } };
        assert_eq!(source.hears(at(200), way, Encapsulation::Ip), None);
        assert_eq!((source.address(), source.way_of_answer()), (Some(FIRST), Some(way)));
        assert!(hears(&mut source, at(201), FIRST));
        assert_eq!(source.way_of_answer(), None);
    }

    #[test]
    fn what_was_lost_is_returned_to_and_what_was_given_up_is_not() {
        let mut lost = first(100);
        lost.replace_lost(Some(SECOND), true);
        assert_eq!(lost.follow(at(101), FIRST, ANSWERED), Follow::Moves);
        let mut given_up = first(100);
        given_up.assign(Some(SECOND), true);
        assert_eq!(given_up.follow(at(101), FIRST, ANSWERED), Follow::Stays);
    }

    #[test]
    fn path_without_an_address_is_stranded_where_one_is_needed() {
        for is_needed in [false, true] {
            let mut source = first(100);
            source.replace_lost(None, is_needed);
            assert_eq!((source.address(), source.is_stranded()), (None, is_needed));
            assert_eq!(source.follow(at(101), SECOND, ANSWERED), Follow::Begins);
            assert_eq!((source.address(), source.is_stranded()), (Some(SECOND), false));
        }
    }
}
