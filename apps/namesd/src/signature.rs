//! Signatures of responses (TSIG, RFC 8945): of one message, or of all messages of a transfer, each over the one before.
//!
//! The library judges what comes in; the form of what goes out is here, since it writes neither a second message of a response nor the
//! time of a server whose client has another.

use hickory_proto::op::Message;
use hickory_proto::rr::rdata::TSIG;
use hickory_proto::rr::rdata::tsig::{TsigAlgorithm, TsigError, make_tsig_record};
use hickory_proto::rr::{Name, TSigner};

/// The way in which the messages of one response are signed, in the order in which they are sent.
pub(crate) struct Signing {
    /// The ID of the request.
    id: u16,
    /// Seconds since 1970 by the clock of this server.
    now: u64,
    form: Form,
}

/// The forms that a signature has, by what is known of whoever asked.
enum Form {
    /// The request was signed by a key of ours.
    Proven { signer: TSigner, link: Link },
    /// The request was signed by a key of ours, but too early or too late. This is the time by its sender's clock.
    WrongTime { signer: TSigner, request_mac: Vec<u8>, signed_at: u64 },
    /// Nobody knows who asked. The response names key and fault, and is not signed (RFC 8945 §5.3.2).
    Unproven { key: Name, algorithm: TsigAlgorithm, fault: TsigError },
}

/// A message's place in the chain of a response, and what its signature covers besides it.
enum Link {
    /// The first message: its signature covers that of the request.
    First { request_mac: Vec<u8> },
    /// A later message: its signature covers that of the message before.
    Later { mac: Vec<u8> },
}

/// Never shows the key.
impl core::fmt::Debug for Signing {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Signing").field("id", &self.id).field("now", &self.now).finish_non_exhaustive()
    }
}

impl Signing {
    /// Signs the response to a request that was signed with this.
    pub(crate) const fn proven(id: u16, now: u64, signer: TSigner, request_mac: Vec<u8>) -> Self {
        Self { id, now, form: Form::Proven { signer, link: Link::First { request_mac } } }
    }

    /// Signs the refusal of a request that was signed at a time which is not ours.
    pub(crate) const fn wrong_time(
        id: u16,
        now: u64,
        signer: TSigner,
        request_mac: Vec<u8>,
        signed_at: u64,
    ) -> Self {
        Self { id, now, form: Form::WrongTime { signer, request_mac, signed_at } }
    }

    /// Marks the refusal of a request by a key that is unknown, or whose signature is not right.
    pub(crate) const fn unproven(
        id: u16,
        now: u64,
        key: Name,
        algorithm: TsigAlgorithm,
        fault: TsigError,
    ) -> Self {
        Self { id, now, form: Form::Unproven { key, algorithm, fault } }
    }

    /// Returns the octets of the next message of the response with its signature; `None` if it cannot be written.
    pub(crate) fn sign(&mut self, mut message: Message) -> Option<Vec<u8>> {
        let octets = message.to_vec().ok()?;
        let (key, signature) = match &mut self.form {
            Form::Proven { signer, link } => {
                let bare = bare(signer, self.id, self.now, None, Vec::new());
                let covered = match link {
                    Link::First { request_mac } => {
                        signer.encode_response_tbs(request_mac, &octets, &bare).ok()?
                    }
                    Link::Later { mac } => covered_later(mac, &octets, &bare)?,
                };
                let mac = signer.sign(&covered).ok()?;
                *link = Link::Later { mac: mac.clone() };
                (signer.signer_name().clone(), bare.set_mac(mac))
            }
            Form::WrongTime { signer, request_mac, signed_at } => {
                let bare =
                    bare(signer, self.id, *signed_at, Some(TsigError::BadTime), time(self.now).to_vec());
                let covered = signer.encode_response_tbs(request_mac, &octets, &bare).ok()?;
                (signer.signer_name().clone(), bare.set_mac(signer.sign(&covered).ok()?))
            }
            Form::Unproven { key, algorithm, fault } => {
                let none = Vec::new();
                let bare =
                    TSIG::new(algorithm.clone(), self.now, FUDGE_S, none, self.id, Some(*fault), Vec::new());
                (key.clone(), bare)
            }
        };
        message.set_signature(Box::new(make_tsig_record(key, signature)));
        message.to_vec().ok()
    }
}

/// Returns the record of a signature, without the signature.
fn bare(signer: &TSigner, id: u16, at: u64, error: Option<TsigError>, other: Vec<u8>) -> TSIG {
    TSIG::new(signer.algorithm().clone(), at, signer.fudge(), Vec::new(), id, error, other)
}

/// Returns what the signature of a later message covers: the one before, the message, and of its own record the times alone
/// (RFC 8945 §5.3.1).
fn covered_later(before: &[u8], octets: &[u8], bare: &TSIG) -> Option<Vec<u8>> {
    let length = u16::try_from(before.len()).ok()?.to_be_bytes();
    Some([&length[..], before, octets, &time(bare.time), &bare.fudge.to_be_bytes()].concat())
}

/// Returns a time as a record of a signature has it, in 48 bits.
fn time(seconds: u64) -> [u8; 6] {
    let [_, _, rest @ ..] = seconds.to_be_bytes();
    rest
}

/// How much clocks may differ, in a record that is not signed.
const FUDGE_S: u16 = 300;

#[cfg(test)]
mod tests;
