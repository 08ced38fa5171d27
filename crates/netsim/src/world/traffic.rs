//! How packets travel: out of a host, onto a link, off the link, into a host.

use std::mem;
use std::net::IpAddr;

use netem::{Delivery, DropReason, FlippedBit, Verdict};

use super::topology::Lane;
use super::{FIRST_PACKETS, KeptPacket, KeptPackets, LinkState, World};
use crate::capture::CapturePoint;
use crate::frames::{Frame, FrameId};
use crate::host::{Host, Outgoing, Packet, Protocol};
use crate::id::{HostId, LaneId, Node};
use crate::trace::{Fate, digest};

impl<H: Host> World<H> {
    /// Takes out everything the host has to send now.
    pub(super) fn drain(&mut self, id: HostId) {
        loop {
            let payload = &mut self.frames.frame_mut(self.blank).payload;
            let Some(outgoing) = self.hosts[id.0].host.poll_transmit(self.now, payload) else { return };
            self.transmit(id, &outgoing);
        }
    }

    /// Sends what one `poll_transmit` wrote: one packet, or several of equal size.
    fn transmit(&mut self, id: HostId, outgoing: &Outgoing) {
        let route = self.route(id, outgoing);
        let frame = mem::replace(&mut self.blank, self.frames.claim());
        let written = &mut self.frames.frame_mut(frame).payload;
        written.truncate(outgoing.len);
        match outgoing.segment_bytes {
            Some(segment_bytes) if segment_bytes > 0 && segment_bytes < written.len() => {
                let whole = mem::take(written);
                for segment in whole.chunks(segment_bytes) {
                    let frame = self.frames.claim();
                    self.frames.frame_mut(frame).payload.extend_from_slice(segment);
                    self.send(frame, outgoing, route);
                }
                self.frames.frame_mut(frame).payload = whole;
                self.frames.release(frame);
            }
            Some(_) | None => self.send(frame, outgoing, route),
        }
    }

    /// Returns the link direction a packet takes and the source address it gets, if there are such.
    fn route(&self, id: HostId, outgoing: &Outgoing) -> Option<Route> {
        let slot = &self.hosts[id.0];
        let interface = match outgoing.source {
            Some(source) => slot.addresses.find(source)?,
            None => slot.neighbours.find(outgoing.destination)?,
        };
        let interface = &self.interfaces[interface.0];
        let is_same_family = |source: &IpAddr| source.is_ipv4() == outgoing.destination.is_ipv4();
        let source = match outgoing.source {
            Some(source) => Some(source).filter(is_same_family)?,
            None => interface.addresses.iter().copied().find(is_same_family)?,
        };
        Some(Route { lane: interface.lane?, source })
    }

    /// Completes the frame and offers it to its link.
    fn send(&mut self, id: FrameId, outgoing: &Outgoing, route: Option<Route>) {
        self.counters.sent += 1;
        let frame = self.frames.frame_mut(id);
        frame.destination = outgoing.destination;
        frame.protocol = outgoing.protocol;
        frame.digest = digest(&frame.payload);
        let wire_bytes = frame.wire_bytes();
        let Some(route) = route else {
            self.trace.record(self.now, None, Fate::Unroutable, wire_bytes, frame.digest);
            self.counters.count(Fate::Unroutable);
            self.frames.release(id);
            return;
        };
        frame.source = route.source;
        if self.kept.is_some() {
            self.keep_first(id);
        }
        let fate = if wire_bytes > MAX_WIRE_BYTES {
            Some(Fate::TooLong)
        } else if self.lanes[route.lane.0].state == LinkState::Down {
            Some(Fate::LinkDown)
        } else {
            self.offer(id, route.lane, wire_bytes)
        };
        if fate.is_some() || !self.captures.is_empty() {
            self.note_departure(id, route.lane, fate);
        }
    }

    /// Traces, counts and frees what did not get onto the link.
    pub(super) fn note_departure(&mut self, id: FrameId, lane: LaneId, fate: Option<Fate>) {
        if !self.captures.is_empty() {
            self.capture_frame(CapturePoint::Departure, lane, id, fate.unwrap_or(Fate::Delivered));
        }
        if let Some(fate) = fate {
            self.keep_lost(id, fate);
            let frame = self.frames.frame(id);
            self.trace.record(self.now, Some(lane), fate, frame.wire_bytes(), frame.digest);
            self.counters.count(fate);
            self.frames.release(id);
        }
    }

    /// Puts the frame on the link; the reason if the link drops it at once.
    pub(super) fn offer(&mut self, id: FrameId, lane_id: LaneId, wire_bytes: usize) -> Option<Fate> {
        let lane = &mut self.lanes[lane_id.0];
        let before = lane.link.in_flight();
        match lane.link.offer(self.now, wire_bytes, id) {
            Verdict::Queued { .. } => {}
            Verdict::Dropped { reason, .. } => return Some(fate_of(reason)),
        }
        self.frames.frame_mut(id).references += lane.link.in_flight() - before;
        if let Some(due) = lane.link.poll_timeout() {
            self.queue.arm(lane.seat, due);
        }
        None
    }

    /// Hands every packet that is due at the far end of a link to the host there, then lets that host answer.
    pub(super) fn unload(&mut self, id: LaneId) {
        let mut changed = None;
        let Lane { node, seat, .. } = self.lanes[id.0];
        while let Some(delivery) = self.lanes[id.0].link.poll_deliver(self.now) {
            self.counters.events += 1;
            match node {
                Node::Host(host) => {
                    if self.arrive(id, host, &delivery) == Fate::Delivered {
                        changed = Some(host);
                    }
                }
                Node::Router(router) => self.forward(id, router, &delivery),
            }
        }
        self.queue.rearm(seat, self.lanes[id.0].link.poll_timeout());
        if let Some(host) = changed {
            self.drain(host);
            self.arm_host(host);
        }
    }

    /// Hands a packet at the far end of a link to the host there.
    fn arrive(&mut self, lane_id: LaneId, host: HostId, delivery: &Delivery<FrameId>) -> Fate {
        let lane = &self.lanes[lane_id.0];
        let slot = &mut self.hosts[host.0];
        let frame = self.frames.frame(delivery.packet);
        let (payload, digest) = match delivery.flipped_bit {
            None => (frame.payload.as_slice(), frame.digest),
            Some(bit) => damage(&frame.payload, bit, &mut self.damaged),
        };
        let is_udp = matches!(frame.protocol, Protocol::Udp { .. });
        let fate = if lane.state == LinkState::Down {
            Fate::LinkDown
        } else if (delivery.flipped_bit.is_some() || frame.is_damaged) && is_udp {
            Fate::BadChecksum
        } else if slot.addresses.find(frame.destination).is_none() {
            Fate::NotForHost
        } else {
            Fate::Delivered
        };
        self.trace.record(self.now, Some(lane_id), fate, frame.wire_bytes(), digest);
        self.counters.count(fate);
        for capture in &mut self.captures {
            capture.record(CapturePoint::Arrival, self.now, lane_id, frame, payload, fate);
        }
        if fate == Fate::Delivered {
            let (source, destination) = (frame.source, frame.destination);
            let (interface, protocol) = (lane.interface, frame.protocol);
            slot.host.handle_packet(self.now, Packet { interface, source, destination, protocol, payload });
        }
        if fate != Fate::Delivered || delivery.flipped_bit.is_some() {
            self.keep_lost(delivery.packet, fate);
        }
        self.frames.release(delivery.packet);
        fate
    }

    /// Keeps the packet if it is one of the first. Apart from who calls it: nearly every world keeps none.
    #[cold]
    fn keep_first(&mut self, id: FrameId) {
        if let Some(kept) = self.kept.as_mut().filter(|kept| kept.first.len() < FIRST_PACKETS) {
            kept.first.push(KeptPacket::of(self.frames.frame(id)));
        }
    }

    /// Keeps the packet, if asked for, unless it only went on.
    #[cold]
    fn keep_lost(&mut self, id: FrameId, fate: Fate) {
        let Some(KeptPackets { lost, .. }) = self.kept.as_mut().filter(|_| fate != Fate::Forwarded) else {
            return;
        };
        lost.push(KeptPacket::of(self.frames.frame(id)));
    }

    #[cold]
    fn capture_frame(&mut self, point: CapturePoint, lane: LaneId, id: FrameId, fate: Fate) {
        let frame = self.frames.frame(id);
        for capture in &mut self.captures {
            capture.record(point, self.now, lane, frame, &frame.payload, fate);
        }
    }
}

/// Copies a packet and flips a bit of the copy; its octets and their digest. The packet itself may be shared with a copy that
/// is still under way.
#[cold]
fn damage<'a>(packet: &[u8], bit: FlippedBit, copy: &'a mut Vec<u8>) -> (&'a [u8], u64) {
    packet.clone_into(copy);
    bit.apply(copy);
    (copy, digest(copy))
}

const fn fate_of(reason: DropReason) -> Fate {
    match reason {
        DropReason::Listed => Fate::Listed,
        DropReason::Loss => Fate::Lost,
        DropReason::QueueFull => Fate::QueueFull,
    }
}

/// The way of a packet: the link direction it takes and the address it comes from.
#[derive(Clone, Copy, Debug)]
struct Route {
    lane: LaneId,
    source: IpAddr,
}

/// The longest IP packet: the length field of RFC 791 §3.1 includes the header; IPv6 without jumbograms is held to
/// the same, so that a packet does not depend on the family.
const MAX_WIRE_BYTES: usize = 65_535;

impl KeptPacket {
    fn of(frame: &Frame) -> Self {
        let Frame { source, destination, protocol, ref payload, .. } = *frame;
        Self { protocol, source, destination, payload: payload.clone() }
    }
}
