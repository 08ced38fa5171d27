//! Session descriptions (RFC 8839, 8841, 8842), as much of them as data channels need.

use is::{Candidate, IceCreds};

use crate::peer::Failure;

/// The description of one end.
pub(crate) struct Description {
    pub(crate) credentials: IceCreds,
    /// SHA-256 of its certificate.
    pub(crate) fingerprint: Vec<u8>,
    pub(crate) candidates: Vec<Candidate>,
    /// The longest message that it takes; none has a limit where it says 0 (RFC 8841 §6.1).
    pub(crate) message_bytes: usize,
    pub(crate) sctp_port: u16,
}

impl Description {
    /// Reads an offer.
    pub(crate) fn read(text: &str) -> Result<Self, Failure> {
        let all = |name: &'static str| {
            text.lines()
                .filter_map(move |line| line.strip_prefix("a=")?.strip_prefix(name)?.strip_prefix(':'))
        };
        let one = |name| all(name).next().ok_or_else(|| format!("the offer has no a={name}"));
        let fingerprint = one("fingerprint")?;
        let digits = fingerprint.strip_prefix("sha-256 ").ok_or("the fingerprint is not SHA-256")?;
        let octets = digits.split(':').map(|octet| u8::from_str_radix(octet, 16));
        let limit = all("max-message-size").next().map_or(Ok(65_536), str::parse)?;
        Ok(Self {
            credentials: IceCreds { ufrag: one("ice-ufrag")?.to_owned(), pass: one("ice-pwd")?.to_owned() },
            fingerprint: octets.collect::<Result<_, _>>()?,
            // Candidates over TCP, or with names in place of addresses, are none for us.
            candidates: all("candidate")
                .filter_map(|line| Candidate::from_sdp_string(&format!("candidate:{line}")).ok())
                .collect(),
            message_bytes: if limit == 0 { usize::MAX } else { limit },
            sctp_port: one("sctp-port")?.parse()?,
        })
    }

    /// Writes an answer; `setup` says who begins DTLS (RFC 8842 §5.1), `mid` names the section as the offer did.
    pub(crate) fn write(&self, setup: &str, mid: &str) -> String {
        let octets: Vec<String> = self.fingerprint.iter().map(|octet| format!("{octet:02X}")).collect();
        let mut lines = vec![
            "v=0".to_owned(),
            "o=- 1 1 IN IP4 0.0.0.0".to_owned(),
            "s=-".to_owned(),
            "t=0 0".to_owned(),
            format!("a=group:BUNDLE {mid}"),
            "m=application 9 UDP/DTLS/SCTP webrtc-datachannel".to_owned(),
            "c=IN IP4 0.0.0.0".to_owned(),
            format!("a=mid:{mid}"),
            format!("a=ice-ufrag:{}", self.credentials.ufrag),
            format!("a=ice-pwd:{}", self.credentials.pass),
            format!("a=fingerprint:sha-256 {}", octets.join(":")),
            format!("a=setup:{setup}"),
            format!("a=sctp-port:{}", self.sctp_port),
            format!("a=max-message-size:{}", self.message_bytes),
        ];
        lines.extend(self.candidates.iter().map(|candidate| format!("a={}", candidate.to_sdp_string())));
        lines.push("a=end-of-candidates".to_owned());
        lines.push(String::new());
        lines.join("\r\n")
    }
}

/// Returns the name of the section of an offer.
pub(crate) fn mid(offer: &str) -> &str {
    offer.lines().find_map(|line| line.strip_prefix("a=mid:")).unwrap_or("0")
}
