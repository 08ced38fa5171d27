//! A peer whose addresses come and go.

use std::net::IpAddr;

use sctp_core::{AssociationId, Datagram, Destination, Endpoint, EndpointConfig, SctpPort};

use crate::Course;
use crate::attacks::{EVENT_BYTES, MANY, with_limits};
use crate::victim::{PORT, Victim, by_ip};

/// An endpoint that is a peer of the victim.
struct Mover {
    endpoint: Endpoint,
    id: AssociationId,
    /// Where it is, unless its packets say otherwise.
    home: IpAddr,
    buffer: Vec<u8>,
}

const VICTIM: [u8; 4] = [10, 0, 0, 2];

pub(crate) fn addresses_by_asconf(course: Course) {
    let mut config = with_limits(64 << 10, EVENT_BYTES);
    config.association.extensions.dynamic_addresses = sctp_core::Offer::On;
    let mut victim = Victim::new(config.clone());
    (victim.asks, victim.transmits) = (false, false);
    let mut movers: Vec<Mover> = (0..MANY).map(|number| Mover::new(&mut victim, &config, number)).collect();
    for round in course.of(1800) {
        let [.., a, b] = round.to_be_bytes();
        for mover in &mut movers {
            mover.add_and_delete(&mut victim, [12, 0, a, b].into());
        }
    }
}

impl Mover {
    fn new(victim: &mut Victim, config: &EndpointConfig, number: usize) -> Self {
        let number = u8::try_from(number).unwrap();
        let home = IpAddr::from([11, 0, number, 1]);
        let mut config = config.clone();
        (config.port, config.local_addresses) = (SctpPort::new(5001).unwrap(), vec![home]);
        let association = config.association.clone();
        let mut endpoint = Endpoint::new(config, [number; 32]).unwrap();
        let port = SctpPort::new(PORT).unwrap();
        let id = endpoint.connect(victim.now, &[by_ip(VICTIM)], port, association).unwrap();
        let mut mover = Self { endpoint, id, home, buffer: Vec::new() };
        mover.exchange(victim);
        mover
    }

    fn add_and_delete(&mut self, victim: &mut Victim, address: IpAddr) {
        self.endpoint.add_local_address(victim.now, self.id, address).unwrap();
        self.exchange(victim);
        self.endpoint.delete_local_address(victim.now, self.id, address).unwrap();
        self.exchange(victim);
    }

    /// Until neither has anything to send.
    fn exchange(&mut self, victim: &mut Victim) {
        loop {
            let mut is_quiet = true;
            self.buffer.clear();
            while let Some(transmit) = self.endpoint.poll_transmit(victim.now, &mut self.buffer) {
                let address = transmit.source.unwrap_or(self.home);
                let source = Destination { address, ..transmit.destination };
                victim.take(source, &self.buffer);
                self.buffer.clear();
                is_quiet = false;
            }
            while victim.endpoint.poll_transmit(victim.now, &mut self.buffer).is_some() {
                let source = by_ip(VICTIM);
                let datagram = Datagram::new(source, &self.buffer);
                self.endpoint.handle_packet(victim.now, datagram);
                self.buffer.clear();
                is_quiet = false;
            }
            while self.endpoint.poll_event().is_some() {}
            if is_quiet {
                break;
            }
        }
    }
}
