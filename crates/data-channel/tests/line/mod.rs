//! Two endpoints with channels, and the packets between them.

use std::collections::VecDeque;

use data_channel::{
    ChannelConfig, ChannelEvent, ChannelLimits, DataChannels, DtlsRole, OpenError, Payload, SendError,
};
use sctp_core::{
    AssociationConfig, AssociationId, Datagram, Destination, Endpoint, EndpointConfig, Message, Profile,
    SctpPort, StreamId,
};
use virtual_time::Instant;

/// An end by its role in DTLS.
pub(crate) type Side = DtlsRole;

/// One end: the endpoint, its channels, what they told, and what is on its way to it.
struct End {
    endpoint: Endpoint,
    channels: DataChannels,
    told: Vec<ChannelEvent>,
    arriving: VecDeque<Vec<u8>>,
    is_paused: bool,
    losing: usize,
}

/// Both ends.
pub(crate) struct Line {
    now: Instant,
    ends: [End; 2],
}

fn index(side: Side) -> usize {
    match side {
        DtlsRole::Client => 0,
        DtlsRole::Server => 1,
    }
}

impl Line {
    /// Creates two ends with an association by the profile `webrtc`.
    pub(crate) fn up() -> Self {
        Self::with(ChannelLimits::default(), |_, _| {})
    }

    /// Creates two ends with these limits, and with what is changed in their configurations.
    pub(crate) fn with(limits: ChannelLimits, change: impl Fn(Side, &mut AssociationConfig)) -> Self {
        let port = SctpPort::try_from(5000).unwrap();
        let now = Instant::EPOCH;
        // Both open the association, as the two ends of a WebRTC connection do.
        let ends = [DtlsRole::Client, DtlsRole::Server].map(|side| {
            let mut association = AssociationConfig::profile(Profile::WebRtc);
            change(side, &mut association);
            let config = EndpointConfig::with_association(port, association.clone());
            let entropy = [u8::try_from(index(side)).unwrap(); 32];
            let mut endpoint = Endpoint::new(config, entropy).unwrap();
            let id = endpoint.connect(now, &[Destination::channel(0)], port, association).unwrap();
            let channels = DataChannels::new(id, side, limits);
            let (told, arriving) = (Vec::new(), VecDeque::new());
            End { endpoint, channels, told, arriving, is_paused: false, losing: 0 }
        });
        let mut line = Self { now, ends };
        line.run();
        line
    }

    fn end(&mut self, side: Side) -> &mut End {
        &mut self.ends[index(side)]
    }

    pub(crate) fn channels(&self, side: Side) -> &DataChannels {
        &self.ends[index(side)].channels
    }

    /// Returns what the channels of an end told so far.
    pub(crate) fn told(&self, side: Side) -> &[ChannelEvent] {
        &self.ends[index(side)].told
    }

    pub(crate) fn try_open(&mut self, side: Side, config: ChannelConfig) -> Result<StreamId, OpenError> {
        let now = self.now;
        let end = self.end(side);
        end.channels.open(now, &mut end.endpoint, config)
    }

    pub(crate) fn open(&mut self, side: Side, config: ChannelConfig) -> StreamId {
        self.try_open(side, config).unwrap()
    }

    pub(crate) fn open_negotiated(
        &mut self,
        side: Side,
        stream: StreamId,
        config: ChannelConfig,
    ) -> Result<(), OpenError> {
        let end = self.end(side);
        end.channels.open_negotiated(&mut end.endpoint, stream, config)
    }

    pub(crate) fn send(
        &mut self,
        side: Side,
        channel: StreamId,
        payload: impl Into<Payload>,
    ) -> Result<(), SendError> {
        let now = self.now;
        let end = self.end(side);
        end.channels.send(now, &mut end.endpoint, channel, payload)
    }

    /// Sends what no channel would.
    pub(crate) fn send_raw(&mut self, side: Side, message: Message) {
        let now = self.now;
        let end = self.end(side);
        let id = end.channels.association();
        end.endpoint.send(now, id, message).unwrap();
    }

    pub(crate) fn close(&mut self, side: Side, channel: StreamId) {
        let now = self.now;
        let end = self.end(side);
        end.channels.close(now, &mut end.endpoint, channel).unwrap();
    }

    pub(crate) fn abort(&mut self, side: Side) {
        let now = self.now;
        let end = self.end(side);
        let id: AssociationId = end.channels.association();
        end.endpoint.abort(now, id, b"over").unwrap();
    }

    /// Replaces the channels of an end, which has none yet.
    pub(crate) fn set_limits(&mut self, side: Side, limits: ChannelLimits) {
        let end = self.end(side);
        end.channels = DataChannels::new(end.channels.association(), side, limits);
    }

    /// Loses the next packet that an end sends.
    pub(crate) fn lose_next(&mut self, side: Side) {
        self.end(side).losing += 1;
    }

    /// The application of an end polls for nothing any more.
    pub(crate) fn pause(&mut self, side: Side) {
        self.end(side).is_paused = true;
    }

    /// It polls again.
    pub(crate) fn resume(&mut self, side: Side) {
        self.end(side).is_paused = false;
    }

    /// Runs for two seconds: packets arrive at once, timers go off when they are due.
    pub(crate) fn run(&mut self) {
        let until = self.now + std::time::Duration::from_secs(2);
        loop {
            while self.step() {}
            let due = self.ends.iter().filter_map(|end| end.endpoint.poll_timeout()).min();
            match due.filter(|due| *due <= until) {
                Some(due) => self.now = due.max(self.now),
                None => break,
            }
            let now = self.now;
            self.ends.iter_mut().for_each(|end| end.endpoint.handle_timeout(now));
        }
        self.now = until;
    }

    /// Carries what there is to carry. Whether there was anything.
    fn step(&mut self) -> bool {
        let now = self.now;
        let mut is_idle = true;
        for at in 0..2 {
            self.ends[at].work(now);
            let mut packet = Vec::new();
            while self.ends[at].endpoint.poll_transmit(now, &mut packet).is_some() {
                is_idle = false;
                let packet = core::mem::take(&mut packet);
                if self.ends[at].losing > 0 {
                    self.ends[at].losing -= 1;
                } else {
                    self.ends[1 - at].arriving.push_back(packet);
                }
            }
        }
        !is_idle
    }
}

impl End {
    /// Takes what has arrived, and what follows.
    fn work(&mut self, now: Instant) {
        while let Some(payload) = self.arriving.pop_front() {
            let source = Destination::channel(0);
            let datagram = Datagram::new(source, &payload);
            self.endpoint.handle_packet(now, datagram);
        }
        while let Some((_, event)) = self.endpoint.poll_event() {
            self.channels.handle_event(now, &mut self.endpoint, &event);
        }
        if self.is_paused {
            return;
        }
        while let Some(event) = self.channels.poll_event(now, &mut self.endpoint) {
            self.told.push(event);
        }
    }
}
