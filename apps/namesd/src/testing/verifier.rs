//! Somebody who gets signed responses and believes neither this server nor the library: HMAC (RFC 2104) and the record of a signature
//! (RFC 8945 §4.2, §4.3) are written down here once more.

use sha2::{Digest, Sha256};

/// The state of who verifies the messages of one response, each over the one before.
pub(crate) struct Verifier {
    secret: Vec<u8>,
    before: Vec<u8>,
    is_first: bool,
}

/// What the record of a signature says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Says {
    pub(crate) time: u64,
    pub(crate) mac: Vec<u8>,
    pub(crate) error: u16,
    pub(crate) other: Vec<u8>,
    /// The signature is right.
    pub(crate) is_right: bool,
}

impl Verifier {
    /// Creates the verifier of the response to a request, by HMAC-SHA256 with this secret.
    pub(crate) fn new(secret: &[u8], request: &[u8]) -> Self {
        let (_, record) = split(request);
        let before = Fields::read(record).mac.to_vec();
        Self { secret: secret.to_vec(), before, is_first: true }
    }

    /// Reads the next message.
    pub(crate) fn read(&mut self, octets: &[u8]) -> Says {
        let (mut message, record) = split(octets);
        let fields = Fields::read(record);
        message[..2].copy_from_slice(fields.id);
        let length = u16::try_from(self.before.len()).unwrap().to_be_bytes();
        let mut covered = [&length[..], &self.before, &message].concat();
        if self.is_first {
            covered.extend([fields.name, &[0, 255, 0, 0, 0, 0], fields.algorithm].concat());
        }
        covered.extend(fields.times);
        if self.is_first {
            covered.extend(fields.error_and_other);
        }
        let is_right = hmac(&self.secret, &covered) == fields.mac;
        (self.before, self.is_first) = (fields.mac.to_vec(), false);
        let (error, rest) = fields.error_and_other.split_first_chunk().unwrap();
        let time = [&[0, 0], &fields.times[..6]].concat();
        Says {
            time: u64::from_be_bytes(time.try_into().unwrap()),
            mac: fields.mac.to_vec(),
            error: u16::from_be_bytes(*error),
            other: rest[2..].to_vec(),
            is_right,
        }
    }
}

/// The parts of the record of a signature, as they are on the wire.
struct Fields<'a> {
    name: &'a [u8],
    algorithm: &'a [u8],
    /// The time and the fudge.
    times: &'a [u8],
    mac: &'a [u8],
    id: &'a [u8],
    error_and_other: &'a [u8],
}

impl<'a> Fields<'a> {
    fn read(record: &'a [u8]) -> Self {
        let (name, rest) = record.split_at(after_name(record, 0));
        assert_eq!(rest[..2], [0, 250], "the last record is a signature");
        let data = &rest[10..];
        let (algorithm, data) = data.split_at(after_name(data, 0));
        let (times, data) = data.split_at(8);
        let (mac, data) = data[2..].split_at(number(data).into());
        let (id, error_and_other) = data.split_at(2);
        Self { name, algorithm, times, mac, id, error_and_other }
    }
}

/// Returns a message without its last record, and that record.
fn split(octets: &[u8]) -> (Vec<u8>, &[u8]) {
    let [questions, records] = [4..6, 6..12]
        .map(|counts| octets[counts].chunks(2).map(|count| usize::from(number(count))).sum::<usize>());
    let mut at = 12;
    for _ in 0..questions {
        at = after_name(octets, at) + 4;
    }
    for _ in 1..records {
        at = after_name(octets, at);
        at += 10 + usize::from(number(&octets[at + 8..]));
    }
    let mut message = octets[..at].to_vec();
    let additional = number(&octets[10..]) - 1;
    message[10..12].copy_from_slice(&additional.to_be_bytes());
    (message, &octets[at..])
}

fn after_name(octets: &[u8], mut at: usize) -> usize {
    loop {
        match octets[at] {
            0 => return at + 1,
            length if length < 0xc0 => at += 1 + usize::from(length),
            _ => return at + 2,
        }
    }
}

fn number(octets: &[u8]) -> u16 {
    u16::from_be_bytes(*octets.first_chunk().unwrap())
}

fn hmac(secret: &[u8], covered: &[u8]) -> Vec<u8> {
    let mut block = [0; 64];
    block[..secret.len()].copy_from_slice(secret);
    let inner = Sha256::new().chain_update(block.map(|octet| octet ^ 0x36)).chain_update(covered).finalize();
    let outer = Sha256::new().chain_update(block.map(|octet| octet ^ 0x5c)).chain_update(inner);
    outer.finalize().to_vec()
}

#[test]
fn the_hmac_is_that_of_rfc_4231() {
    let found = hmac(b"Jefe", b"what do ya want for nothing?");
    assert_eq!(found[..4], [0x5b, 0xdc, 0xc1, 0x46], "RFC 4231 §4.3");
    assert_eq!(found[28..], [0x64, 0xec, 0x38, 0x43]);
}
