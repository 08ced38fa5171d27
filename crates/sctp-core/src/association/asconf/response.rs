//! The peer's requests in ASCONF, and the answers to them (RFC 5061 §5.2, §5.3): pure decisions.

use core::net::IpAddr;

use sctp_wire::{
    AsconfSerial, Cause, Causes, ChunkBuf, CorrelationId, ErrorCauseIndication, Full, Parameter, Parameters,
    encode_causes, encode_parameters,
};
use smallvec::SmallVec;

use super::AddressChange;

/// Serial numbers of the peer, and the answers that it may not have got.
#[derive(Debug)]
pub(crate) struct AsconfResponder {
    /// The last one that was processed: Peer-Sequence-Number.
    last: AsconfSerial,
    answered: SmallVec<[(AsconfSerial, ChunkBuf); 1]>,
}

/// The kind of an ASCONF by its serial number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Screening {
    /// The next one (E4).
    Next,
    /// One before, and its answer once more (E2).
    Repeated(ChunkBuf),
    /// Long past, or from the future (E2, E5).
    Discarded,
}

/// The judgement of the requests of an ASCONF.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Judgement {
    /// The changes to be made, in this order, with no wildcards left.
    pub(crate) granted: SmallVec<[AddressChange; 4]>,
    /// The first request that is not granted. Those behind it are not either (RFC 5061 §5.1 (A7), §5.3 (F11)), so one
    /// answer says it all.
    pub(crate) refused: Option<Refusal>,
}

/// The reason why a request is not granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    correlation: CorrelationId,
    causes: Vec<u8>,
}

/// The association as requests change it.
struct Draft<'a> {
    source: IpAddr,
    known: SmallVec<[IpAddr; 8]>,
    most: usize,
    /// Whether packets can be sent to an address.
    is_usable: &'a dyn Fn(IpAddr) -> bool,
    granted: SmallVec<[AddressChange; 4]>,
}

/// The reason why an address request is not granted; becomes a cause that holds the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum No {
    LastAddress,
    SourceAddress,
    Shortage,
    Authorization,
    Unresolvable,
}

impl AsconfResponder {
    /// Creates a responder; the peer's serial numbers begin at its initial TSN (RFC 5061 §5.1 (A2)).
    pub(crate) fn new(first: AsconfSerial) -> Self {
        Self { last: AsconfSerial::new(first.get().wrapping_sub(1)), answered: SmallVec::new() }
    }

    pub(crate) fn screen(&self, serial: AsconfSerial) -> Screening {
        if serial == self.last.next() {
            return Screening::Next;
        }
        let cached = self.answered.iter().find(|(answered, _)| *answered == serial);
        cached.map_or(Screening::Discarded, |(_, answer)| Screening::Repeated(answer.clone()))
    }

    /// The next one has been processed (V5).
    pub(crate) fn on_answered(&mut self, serial: AsconfSerial, answer: ChunkBuf) {
        self.last = serial;
        if self.answered.len() >= ANSWERS_KEPT {
            self.answered.remove(0);
        }
        self.answered.push((serial, answer));
    }
}

impl Judgement {
    /// Goes through the requests of an ASCONF that came from `source`; `known` are the peer's addresses.
    pub(crate) fn of(
        requests: Parameters<'_>,
        source: IpAddr,
        known: &[IpAddr],
        most: usize,
        is_usable: &dyn Fn(IpAddr) -> bool,
    ) -> Self {
        let granted = SmallVec::new();
        let mut draft = Draft { source, known: SmallVec::from_slice(known), most, is_usable, granted };
        let mut refused = None;
        for request in requests {
            refused = match request {
                Ok(Parameter::AddIpAddress(add)) => draft.add(add.address).map(|no| (add, no)),
                Ok(Parameter::DeleteIpAddress(delete)) => draft.delete(delete.address).map(|no| (delete, no)),
                Ok(Parameter::SetPrimaryAddress(primary)) => {
                    draft.set_primary(primary.address).map(|no| (primary, no))
                }
                Ok(other) if !other.action().reports() && !other.action().stops() => None,
                Ok(other) => {
                    let raw = encode_parameters(&[other]).unwrap_or_default();
                    return draft.end(Some(Refusal::not_understood(&raw)));
                }
                Err(error) => {
                    let raw = requests.undecoded(&error).map_or(&[][..], |parameter| parameter.raw);
                    return draft.end(Some(Refusal::not_understood(raw)));
                }
            }
            .map(|(asked, no)| Refusal::of(request.as_ref(), asked.correlation, asked.address, no));
            if refused.is_some() {
                break;
            }
        }
        draft.end(refused)
    }

    /// Returns the ASCONF-ACK (V1 to V4). Success needs no words.
    pub(crate) fn answer(&self, serial: AsconfSerial) -> Result<ChunkBuf, Full> {
        let indication = self.refused.as_ref().map(|refusal| {
            let causes = Causes::new(&refusal.causes);
            Parameter::ErrorCauseIndication(ErrorCauseIndication { correlation: refusal.correlation, causes })
        });
        ChunkBuf::asconf_ack(serial, indication.as_slice())
    }
}

impl Draft<'_> {
    fn end(self, refused: Option<Refusal>) -> Judgement {
        Judgement { granted: self.granted, refused }
    }

    /// Adds an address of the peer, or says why not (RFC 5061 §4.2.1, §5.3 (F9)).
    fn add(&mut self, asked: IpAddr) -> Option<No> {
        let address = self.or_source(asked);
        if self.known.contains(&address) {
            return None;
        }
        if !(self.is_usable)(address) {
            return Some(No::Authorization);
        }
        if self.known.len() >= self.most {
            return Some(No::Shortage);
        }
        self.known.push(address);
        self.granted.push(AddressChange::Add(address));
        None
    }

    /// Deletes an address of the peer, or says why not (RFC 5061 §4.2.2, §5.3 (F7), (F8)). One that is not
    /// there need not go.
    fn delete(&mut self, asked: IpAddr) -> Option<No> {
        if asked.is_unspecified() {
            return self.delete_all_but_source();
        }
        if !self.known.contains(&asked) {
            return None;
        }
        if self.known.len() == 1 {
            return Some(No::LastAddress);
        }
        if asked == self.source {
            return Some(No::SourceAddress);
        }
        self.known.retain(|known| *known != asked);
        self.granted.push(AddressChange::Delete(asked));
        None
    }

    fn delete_all_but_source(&mut self) -> Option<No> {
        let source = self.source;
        // None would be left.
        if !self.known.contains(&source) {
            return Some(No::LastAddress);
        }
        self.granted
            .extend(self.known.iter().filter(|known| **known != source).copied().map(AddressChange::Delete));
        self.known.retain(|known| *known == source);
        None
    }

    /// Makes an address of the peer the primary one, or says why not (RFC 5061 §4.2.4, §5.4).
    fn set_primary(&mut self, asked: IpAddr) -> Option<No> {
        let address = self.or_source(asked);
        if !self.known.contains(&address) {
            return Some(No::Unresolvable);
        }
        self.granted.push(AddressChange::SetPrimary(address));
        None
    }

    fn or_source(&self, asked: IpAddr) -> IpAddr {
        if asked.is_unspecified() { self.source } else { asked }
    }
}

impl Refusal {
    fn of(
        request: Result<&Parameter<'_>, &sctp_wire::DecodeError>,
        correlation: CorrelationId,
        address: IpAddr,
        no: No,
    ) -> Self {
        let request =
            request.map_or_else(|_| Vec::new(), |request| encode_parameters(&[*request]).unwrap_or_default());
        let address = encode_parameters(&[Parameter::from(address)]).unwrap_or_default();
        let cause = match no {
            No::LastAddress => Cause::DeleteLastAddress(&request),
            No::SourceAddress => Cause::DeleteSourceAddress(&request),
            No::Shortage => Cause::ResourceShortage(&request),
            No::Authorization => Cause::NoAuthorization(&request),
            No::Unresolvable => Cause::UnresolvableAddress(&address),
        };
        Self { correlation, causes: encode_causes(&[cause]).unwrap_or_default() }
    }

    /// Creates the refusal of a parameter that is not understood (cause 8). What stands where a correlation
    /// identifier would be is given back as one.
    fn not_understood(raw: &[u8]) -> Self {
        let correlation =
            raw.get(4..8).and_then(|octets| octets.try_into().ok()).map_or(0, u32::from_be_bytes);
        let raw = &raw[..raw.len().min(REPORTED_BYTES)];
        let causes = encode_causes(&[Cause::UnrecognizedParameters(raw)]).unwrap_or_default();
        Self { correlation: CorrelationId::new(correlation), causes }
    }
}

/// Answers kept for repetition: as many as one packet with repeated ASCONFs may need.
const ANSWERS_KEPT: usize = 4;

/// Octets of a parameter that is not understood that are given back at most.
const REPORTED_BYTES: usize = 256;

#[cfg(test)]
mod tests;
