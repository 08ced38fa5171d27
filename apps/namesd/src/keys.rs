//! Keys: who signed a request (TSIG, RFC 8945), whether it was said before, and which names the key may change.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::tsig::TsigError;
use hickory_proto::rr::{LowerName, Name, TSigner};

use crate::signature::Signing;

/// All keys of this server.
#[derive(Debug, Default)]
pub(crate) struct Keyring {
    keys: BTreeMap<LowerName, Key>,
}

/// A key, and what it has signed lately.
#[derive(Debug)]
struct Key {
    settings: KeySettings,
    /// Requests that were signed before this second are refused: whether they were here before is not known any more.
    floor: u64,
    /// The answers to signed requests by their signatures, so that the same request again gets the same answer and changes nothing.
    said: HashMap<Vec<u8>, Said>,
    /// The signatures of those requests, by when they were made.
    order: VecDeque<(u64, Vec<u8>)>,
}

/// The settings of a key, as the configuration has them.
#[derive(Clone)]
pub(crate) struct KeySettings {
    pub(crate) signer: TSigner,
    pub(crate) may: Vec<Pattern>,
}

/// Never shows the key.
impl core::fmt::Debug for KeySettings {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("KeySettings").field("may", &self.may).finish_non_exhaustive()
    }
}

impl PartialEq for KeySettings {
    fn eq(&self, other: &Self) -> bool {
        self.may == other.may
            && self.signer.key() == other.signer.key()
            && self.signer.algorithm() == other.signer.algorithm()
            && self.signer.signer_name() == other.signer.signer_name()
    }
}

/// Names that a key may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// The key may change this name.
    Exactly(LowerName),
    /// The key may change every name below this one, which is written with an asterisk.
    Below(LowerName),
}

/// The answer to a signed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) peer: SocketAddr,
    pub(crate) code: ResponseCode,
}

/// The verdict on a signature.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The request has no signature.
    Unsigned,
    /// The request is signed by this key.
    By(Proof),
    /// The signature is by no key of ours, or not right: the answer says so with NOTAUTH.
    Wrong(Fault, Box<Signing>),
}

/// A request was signed so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proof {
    pub(crate) key: LowerName,
    pub(crate) mac: Vec<u8>,
    pub(crate) signed_at: u64,
}

/// The fault of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Key,
    Signature,
    Time,
}

impl Fault {
    /// Returns the name for the log and for metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Key => "bad_key",
            Self::Signature => "bad_signature",
            Self::Time => "bad_time",
        }
    }
}

/// Whether it matters that the same request was here before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// The request changes something, so that one of which nobody can say whether it was here before is refused.
    Needed,
    /// The request asks for something.
    NotNeeded,
}

/// A request of this server, signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signed {
    pub(crate) octets: Vec<u8>,
    /// The signature, which that of the response covers.
    pub(crate) mac: Vec<u8>,
}

impl Keyring {
    /// Creates a keyring; what was signed long before `now` is not taken.
    pub(crate) fn new(keys: impl IntoIterator<Item = KeySettings>, now: u64) -> Self {
        let mut ring = Self::default();
        ring.configure(keys, now);
        ring
    }

    /// Goes by other keys from now on; those that stay keep what they remember.
    pub(crate) fn configure(&mut self, keys: impl IntoIterator<Item = KeySettings>, now: u64) {
        let mut before = core::mem::take(&mut self.keys);
        for settings in keys {
            let name = LowerName::new(settings.signer.signer_name());
            let key = match before.remove(&name) {
                Some(key) => Key { settings, ..key },
                None => Key {
                    settings,
                    floor: now.saturating_sub(MEMORY_S),
                    said: HashMap::new(),
                    order: VecDeque::new(),
                },
            };
            self.keys.insert(name, key);
        }
    }

    /// Judges the signature of a request that was read from these octets.
    pub(crate) fn verify(&self, request: &Message, octets: &[u8], now: u64, memory: Memory) -> Verdict {
        let Some(signature) = request.signature() else { return Verdict::Unsigned };
        let id = request.metadata.id;
        let name = LowerName::new(&signature.name);
        let wrong = |fault, signing| Verdict::Wrong(fault, Box::new(signing));
        let unproven = |error| {
            Signing::unproven(id, now, signature.name.clone(), signature.data.algorithm.clone(), error)
        };
        let known =
            self.keys.get(&name).filter(|key| *key.settings.signer.algorithm() == signature.data.algorithm);
        let Some(key) = known else {
            return wrong(Fault::Key, unproven(TsigError::BadKey));
        };
        let signer = &key.settings.signer;
        let Ok((mac, signed_at, _)) = signer.verify_message_byte(octets, None, true) else {
            return wrong(Fault::Signature, unproven(TsigError::BadSig));
        };
        let fudge = u64::from(signature.data.fudge).min(LONGEST_FUDGE_S);
        let is_forgotten = memory == Memory::Needed && signed_at < key.floor;
        if now.abs_diff(signed_at) > fudge || is_forgotten {
            return wrong(Fault::Time, Signing::wrong_time(id, now, signer.clone(), mac, signed_at));
        }
        Verdict::By(Proof { key: name, mac, signed_at })
    }

    /// Returns what was said when the same request was here before.
    pub(crate) fn said(&self, proof: &Proof) -> Option<Said> {
        self.keys.get(&proof.key)?.said.get(&proof.mac).copied()
    }

    /// Remembers what was said. A key's requests are remembered for a few seconds after a later one: what is older is refused then.
    pub(crate) fn remember(&mut self, proof: Proof, said: Said) {
        let Some(key) = self.keys.get_mut(&proof.key) else { return };
        key.floor = key.floor.max(proof.signed_at.saturating_sub(MEMORY_S));
        if key.said.insert(proof.mac.clone(), said).is_none() {
            key.order.push_back((proof.signed_at, proof.mac));
        }
        while let Some((signed_at, _)) = key.order.front() {
            if *signed_at >= key.floor && key.order.len() <= MOST_REMEMBERED {
                break;
            }
            let Some((signed_at, mac)) = key.order.pop_front() else { break };
            // What is forgotten must not be taken again.
            key.floor =
                key.floor.max(signed_at.saturating_add(u64::from(key.order.len() >= MOST_REMEMBERED)));
            key.said.remove(&mac);
        }
    }

    /// Forgets what was said: the request may come again.
    pub(crate) fn forget(&mut self, proof: &Proof) {
        if let Some(key) = self.keys.get_mut(&proof.key) {
            key.said.remove(&proof.mac);
        }
    }

    /// Returns whether a key may change a name.
    pub(crate) fn may_change(&self, key: &LowerName, name: &Name) -> bool {
        let name = LowerName::new(name);
        self.keys.get(key).is_some_and(|key| key.settings.may.iter().any(|pattern| pattern.fits(&name)))
    }

    /// Returns how the response to a proven request is signed.
    pub(crate) fn response(&self, proof: &Proof, id: u16, now: u64) -> Option<Signing> {
        let signer = self.keys.get(&proof.key)?.settings.signer.clone();
        Some(Signing::proven(id, now, signer, proof.mac.clone()))
    }

    /// Signs a request of this server; `None` if there is no such key any more.
    pub(crate) fn sign_request(&self, key: &LowerName, mut message: Message, now: u64) -> Option<Signed> {
        let (signature, _) = self.keys.get(key)?.settings.signer.sign_message(&message, now).ok()?;
        let mac = signature.data.mac.clone();
        message.set_signature(signature);
        Some(Signed { octets: message.to_vec().ok()?, mac })
    }

    /// Returns whether a response is by this key, to the request with this signature, and of this time.
    pub(crate) fn is_response_by(
        &self,
        key: &LowerName,
        octets: &[u8],
        request_mac: &[u8],
        now: u64,
    ) -> bool {
        let verify =
            |key: &Key| key.settings.signer.verify_message_byte(octets, Some(request_mac), true).ok();
        let proven = self.keys.get(key).and_then(verify);
        proven.is_some_and(|(_, signed_at, _)| now.abs_diff(signed_at) <= LONGEST_FUDGE_S)
    }
}

impl Pattern {
    fn fits(&self, name: &LowerName) -> bool {
        match self {
            Self::Exactly(own) => own == name,
            Self::Below(own) => own != name && own.zone_of(name),
        }
    }
}

/// How long requests are remembered after the latest one of their key, by when they were signed.
const MEMORY_S: u64 = 10;
/// The requests of a key that are remembered at most.
const MOST_REMEMBERED: usize = 200_000;
/// A clock may differ by so much, whatever the request allows.
const LONGEST_FUDGE_S: u64 = 300;
