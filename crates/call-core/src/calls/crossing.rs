//! The middleboxes that media of a call cross, and how each of them sees who listens and who sends.

use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use sip::Status;
use virtual_time::Instant;

use super::Calls;
use super::admission::Denial;
use super::call::{Call, Side, Step};
use crate::media::{self, Stream};
use crate::pinhole::{Pinhole, is_inside, needed, needed_of_translator};

/// A listener on its way out, as the middleboxes that it is behind see it from inside, one after the other.
struct WayOut {
    seen: Vec<(usize, Stream)>,
    /// The place that the other side is told; `None` as long as a translator has not said which.
    told: Option<Stream>,
}

impl WayOut {
    fn seen_by(&self, middlebox: usize) -> Option<Stream> {
        self.seen.iter().find(|(at, _)| *at == middlebox).map(|(_, stream)| *stream)
    }

    /// Returns what a middlebox sees, whether the listener is behind it or not.
    fn in_front_of(&self, middlebox: usize) -> Option<Stream> {
        self.seen_by(middlebox).or(self.told)
    }
}

impl Calls {
    /// Opens what media towards one side need, which has said where it is, and returns whether the exchange has to wait. Through a
    /// translator media towards the other side need theirs now, too, for now it is known where they come from.
    pub(super) fn open_for_both(
        &mut self,
        now: Instant,
        call: &mut Call,
        number: u32,
        side: Side,
        streams: &[Stream],
        offered: Option<Vec<Stream>>,
    ) -> bool {
        let other = side.other();
        let offered = offered.unwrap_or_else(|| call.leg(other).streams.clone());
        let pinholes = self.needed(call, side, streams, &offered);
        if !self.settings.translators.is_empty() {
            let back = self.needed(call, other, &offered, streams);
            self.open(now, call, number, other, back);
        }
        self.open(now, call, number, side, pinholes)
    }

    /// Opens what could not be asked for before a translator had said an address; returns whether the exchange goes on waiting.
    pub(super) fn open_what_follows(&mut self, now: Instant, call: &mut Call, number: u32) -> bool {
        if self.settings.translators.is_empty() {
            return false;
        }
        let Some(exchange) = call.exchange(number) else { return false };
        let (from, offered) = (exchange.from, exchange.offered.clone());
        match exchange.step {
            Step::OpenForRequest | Step::OpenForAck(_) => {
                self.open_for_both(now, call, number, from, &offered.unwrap_or_default(), None)
            }
            Step::OpenForResponse(..) => {
                let side = from.other();
                let streams = call.leg(side).streams.clone();
                self.open_for_both(now, call, number, side, &streams, offered)
            }
            Step::Forwarded | Step::Accepted | Step::Done => false,
        }
    }

    /// Returns the pinholes for media towards streams of a side from those of the other, through every middlebox that they cross.
    pub(super) fn needed(
        &self,
        call: &Call,
        side: Side,
        streams: &[Stream],
        senders: &[Stream],
    ) -> Vec<Pinhole> {
        let of = |stream: &Stream| {
            // Media of a side come from where it listens, as far as its session description says.
            let sender = senders.iter().find(|sender| is_of_one_family(sender, stream));
            let sender = sender.map(|sender| self.way_out(call, side.other(), *sender));
            let listener = self.way_out(call, side, *stream);
            let all = 0..self.settings.internal.len();
            all.flat_map(|at| self.needed_at(at, &listener, sender.as_ref())).collect::<Vec<_>>()
        };
        streams.iter().flat_map(of).collect()
    }

    fn needed_at(&self, middlebox: usize, listener: &WayOut, sender: Option<&WayOut>) -> Vec<Pinhole> {
        let address = |stream: Stream| stream.address;
        if !self.settings.translators.contains(&middlebox) {
            let source = sender.map(|sender| sender.in_front_of(middlebox));
            // Somebody has an address that is not known yet.
            let (Some(towards), None | Some(Some(_))) = (listener.in_front_of(middlebox), source) else {
                return Vec::new();
            };
            let internal = &self.settings.internal[middlebox];
            return needed(middlebox, internal, towards, source.flatten().map(address));
        }
        let pinhole = match listener.seen_by(middlebox) {
            Some(towards) => {
                let source: Option<IpAddr> = sender.and_then(|sender| sender.told).map(address);
                needed_of_translator(middlebox, towards, true, source)
            }
            None => listener.told.and_then(|towards| {
                let source = sender.and_then(|sender| sender.seen_by(middlebox)).map(address);
                needed_of_translator(middlebox, towards, false, source)
            }),
        };
        pinhole.into_iter().collect()
    }

    /// Reads the answer to an offer. Where media cross a middlebox both sides have to listen at addresses of one family, for nobody
    /// translates one into the other.
    pub(super) fn read_answer(
        &self,
        call: &Call,
        side: Side,
        content_type: Option<&str>,
        body: &[u8],
        offered: &[Stream],
    ) -> Result<Vec<Stream>, Denial> {
        let streams = self.read_media(call, side, content_type, body)?;
        let is_reached = |stream: &Stream| offered.iter().any(|other| is_of_one_family(other, stream));
        let crosses = |internal: &Vec<_>| {
            let is_inside =
                |streams: &[Stream]| streams.iter().any(|stream| is_inside(internal, stream.address));
            is_inside(&streams) != is_inside(offered)
        };
        if offered.is_empty() || streams.iter().all(is_reached) || !self.settings.internal.iter().any(crosses)
        {
            return Ok(streams);
        }
        let reason = "Media Addresses of Two Families";
        tracing::info!(call = call.record.call_id, "{reason}: IPv4 and IPv6, with a middlebox between them");
        Err(Denial { status: Status::NOT_ACCEPTABLE, reason, retry_after: false })
    }

    /// Follows a listener through the middleboxes that it is behind.
    fn way_out(&self, call: &Call, side: Side, stream: Stream) -> WayOut {
        let peer = call.leg(side.other()).flow.remote.ip();
        let mut way = WayOut { seen: Vec::new(), told: Some(stream) };
        for (at, internal) in self.settings.internal.iter().enumerate() {
            let Some(seen) = way.told.filter(|seen| is_inside(internal, seen.address)) else { continue };
            let is_translated = self.settings.translators.contains(&at);
            if is_translated && is_inside(internal, peer) {
                continue;
            }
            way.seen.push((at, seen));
            if is_translated {
                let is_it = |pinhole: &Pinhole| pinhole.is_translation_of(at, seen);
                let held = call.pinholes.iter().filter(|held| is_it(&held.pinhole));
                let given: Option<SocketAddr> = held.filter_map(|held| held.outside).next();
                way.told = given.map(|at| Stream { address: at.ip(), port: at.port(), ports: seen.ports });
            }
        }
        way
    }

    /// Returns whether a call crosses a translator: one side speaks from inside, the other from outside.
    fn is_translated(&self, call: &Call) -> bool {
        let is_inside = |at: usize, side| {
            let internal = self.settings.internal.get(at);
            internal.is_some_and(|internal| is_inside(internal, call.leg(side).flow.remote.ip()))
        };
        self.settings.translators.iter().any(|at| is_inside(*at, Side::A) != is_inside(*at, Side::B))
    }

    /// Returns a session description of a side as the other one has to see it: with the addresses that translators have given out.
    pub(super) fn translated(&self, call: &Call, side: Side, body: &Bytes) -> Bytes {
        if body.is_empty() || !self.is_translated(call) {
            return body.clone();
        }
        media::translated(body, |stream| {
            let told = self.way_out(call, side, stream).told.filter(|told| *told != stream)?;
            Some(SocketAddr::new(told.address, told.port))
        })
        .map_or_else(|| body.clone(), Bytes::from)
    }
}

fn is_of_one_family(one: &Stream, other: &Stream) -> bool {
    one.address.is_ipv4() == other.address.is_ipv4()
}
