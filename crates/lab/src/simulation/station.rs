//! A host of a scenario: one end for each flow that begins or ends there, told apart by its addresses.

use std::net::IpAddr;

use netsim::{Fragmenting, Host, Outgoing, Packet};
use virtual_time::Instant;

use crate::transport::End;

/// A station on top of IP, which cuts what its links do not carry.
pub(super) type SimulatedHost = Fragmenting<Station>;

/// A simulated host.
#[derive(Default)]
pub(super) struct Station {
    ends: Vec<Seat>,
    /// The end that sent last.
    sent_last: usize,
}

struct Seat {
    end: Box<dyn End>,
    addresses: Vec<IpAddr>,
    is_touched: bool,
}

impl Station {
    pub(super) fn seat(&mut self, end: Box<dyn End>, addresses: Vec<IpAddr>) {
        self.ends.push(Seat { end, addresses, is_touched: true });
    }

    pub(super) fn end(&self, index: usize) -> &dyn End {
        &*self.ends[index].end
    }

    pub(super) fn into_ends(self) -> Vec<Box<dyn End>> {
        self.ends.into_iter().map(|seat| seat.end).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }
}

impl Host for Station {
    fn handle_packet(&mut self, now: Instant, packet: Packet<'_>) {
        let addressed = |seat: &&mut Seat| seat.addresses.contains(&packet.destination);
        if let Some(seat) = self.ends.iter_mut().find(addressed) {
            seat.end.handle_packet(now, packet);
            seat.is_touched = true;
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        // Where there is only one, it is the one whose time has come.
        if let [seat] = &mut *self.ends {
            seat.end.handle_timeout(now);
            seat.is_touched = true;
            return;
        }
        for seat in &mut self.ends {
            if seat.end.poll_timeout().is_some_and(|due| due <= now) {
                seat.end.handle_timeout(now);
                seat.is_touched = true;
            }
        }
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Outgoing> {
        for (index, seat) in self.ends.iter_mut().enumerate().filter(|(_, seat)| seat.is_touched) {
            if let Some(mut outgoing) = seat.end.poll_transmit(now, buffer) {
                self.sent_last = index;
                if outgoing.source.is_none() {
                    outgoing.source = seat.addresses.first().copied();
                }
                return Some(outgoing);
            }
            seat.is_touched = false;
        }
        None
    }

    fn allows_fragments(&self) -> bool {
        self.ends.get(self.sent_last).is_none_or(|seat| seat.end.allows_fragments())
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.ends.iter().filter_map(|seat| seat.end.poll_timeout()).min()
    }
}
