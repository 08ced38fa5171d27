//! The wire in virtual time: the core alone, whose packets take no time.

use core::time::Duration;
use std::collections::VecDeque;
use std::net::IpAddr;

use sctp_core::{
    AssociationId, Datagram, Destination, Encapsulation, Endpoint, EndpointConfig, Event, Fragmentation,
    SctpPort,
};
use virtual_time::Instant;

use crate::script::{PEER_PORT, STACK_PORT};
use crate::stack;
use crate::wire::{Arrival, Call, Settings, Wire, WireError};

/// An endpoint, and what it has sent that nobody has heard yet.
pub struct VirtualWire {
    endpoint: Endpoint,
    config: EndpointConfig,
    now: Instant,
    id: Option<AssociationId>,
    echoes: bool,
    sent: VecDeque<Arrival>,
    told: Vec<Event>,
}

impl VirtualWire {
    /// Creates an endpoint that nobody has spoken with.
    ///
    /// # Errors
    /// The configuration is refused.
    pub fn new(settings: Settings) -> Result<Self, WireError> {
        let config = stack::config(settings, stack::Clock::Virtual)?;
        let endpoint = Endpoint::new(config.clone(), [7; 32])?;
        let (now, sent, told) = (Instant::EPOCH, VecDeque::new(), Vec::new());
        Ok(Self { endpoint, config, now, id: None, echoes: false, sent, told })
    }

    /// Takes out what the endpoint has to say, to the peer and to its user.
    fn drain(&mut self) {
        let mut octets = Vec::new();
        loop {
            while let Some(transmit) = self.endpoint.poll_transmit(self.now, &mut octets) {
                let address = transmit.destination.address;
                let to = ADDRESSES.iter().position(|each| *each == address).unwrap_or(ADDRESSES.len());
                let may_be_fragmented = transmit.fragmentation == Fragmentation::Allowed;
                self.sent.push_back(Arrival { to, octets: core::mem::take(&mut octets), may_be_fragmented });
            }
            let Some((id, event)) = self.endpoint.poll_event() else { return };
            self.id = Some(id);
            if event == Event::MessageReady {
                self.echo();
            }
            self.told.push(event);
        }
    }

    fn echo(&mut self) {
        let Some(id) = self.id.filter(|_| self.echoes) else { return };
        while let Some(received) = self.endpoint.receive(self.now, id) {
            // What cannot be sent any more is not: the script hears nothing, which is what it checks.
            let _refused = self.endpoint.send(self.now, id, received.message.into());
        }
    }

    fn connect(&mut self, call: Call, count: usize) -> Result<(), WireError> {
        let reason = |error: &dyn core::fmt::Display| WireError::Call { call, reason: error.to_string() };
        let port = SctpPort::try_from(PEER_PORT).map_err(|error| reason(&error))?;
        let destinations: Vec<_> = ADDRESSES.iter().take(count).map(|&address| by_ip(address)).collect();
        let config = self.config.association.clone();
        let connected = self.endpoint.connect(self.now, &destinations, port, config);
        self.id = Some(connected.map_err(|error| reason(&error))?);
        Ok(())
    }
}

impl Wire for VirtualWire {
    fn send(&mut self, from: usize, packet: &[u8]) -> Result<(), WireError> {
        let source = by_ip(ADDRESSES.get(from).copied().unwrap_or(GROUP));
        let datagram = Datagram::new(source, packet);
        self.endpoint.handle_packet(self.now, datagram);
        self.drain();
        Ok(())
    }

    fn receive(&mut self, within: Duration) -> Option<Arrival> {
        let until = self.now + within;
        loop {
            if let Some(arrival) = self.sent.pop_front() {
                return Some(arrival);
            }
            let Some(due) = self.endpoint.poll_timeout().filter(|due| *due <= until) else {
                self.now = until;
                return None;
            };
            self.now = due.max(self.now);
            self.endpoint.handle_timeout(self.now);
            self.drain();
        }
    }

    fn overhear(&mut self, during: Duration) -> Option<Arrival> {
        self.receive(during)
    }

    fn call(&mut self, call: Call) -> Result<(), WireError> {
        let refused = |reason: String| WireError::Call { call, reason };
        if matches!(call, Call::Connect | Call::ConnectToBoth) {
            self.connect(call, if call == Call::Connect { 1 } else { 2 })?;
        } else if call == Call::Echo {
            self.echoes = true;
            self.echo();
        } else {
            let id = self.id.ok_or_else(|| refused("there is no association".to_owned()))?;
            let (endpoint, now) = (&mut self.endpoint, self.now);
            let done = match call {
                Call::Connect | Call::ConnectToBoth | Call::Echo => Ok(()),
                Call::Read => {
                    endpoint.receive(now, id).map(drop).ok_or_else(|| "there is no message".to_owned())
                }
                Call::Send { .. } | Call::SendUnordered { .. } => stack::message(call)
                    .map_or(Ok(()), |message| {
                        endpoint.send(now, id, message).map_err(|error| error.to_string())
                    }),
                Call::Shutdown | Call::Leave => endpoint.shutdown(now, id).map_err(|error| error.to_string()),
                Call::Abort => endpoint.abort(now, id, stack::REASON).map_err(|error| error.to_string()),
            };
            done.map_err(refused)?;
        }
        self.drain();
        Ok(())
    }

    fn events(&mut self) -> Vec<Event> {
        core::mem::take(&mut self.told)
    }

    fn now_ms(&self) -> u64 {
        self.now.as_nanos() / 1_000_000
    }
}

fn by_ip(address: IpAddr) -> Destination {
    Destination { address, encapsulation: Encapsulation::Ip }
}

const fn v4([a, b, c, d]: [u8; 4]) -> IpAddr {
    IpAddr::V4(core::net::Ipv4Addr::new(a, b, c, d))
}

/// The script's addresses.
pub(crate) const ADDRESSES: [IpAddr; 3] = [v4([10, 99, 0, 1]), v4([10, 99, 0, 2]), v4([10, 99, 0, 3])];
/// The address of the stack.
pub(crate) const STACK_ADDRESS: IpAddr = v4([10, 99, 1, 1]);
/// An address of many hosts, which the script has behind its own.
const GROUP: IpAddr = v4([224, 0, 0, 1]);
const _: () = assert!(STACK_PORT != PEER_PORT, "the ports tell the ends apart");
