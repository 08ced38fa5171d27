//! Via (RFC 3261 §20.42): the way back of responses.

use core::fmt;
use core::net::{IpAddr, SocketAddr};

use crate::text::{self, Parameters};
use crate::uri::{Host, host_and_port};

/// A value of Via, which one hop of a request has written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Via {
    /// The token of the transport, in upper case.
    pub transport: String,
    /// The host that sent the request, by its own account.
    pub host: Host,
    /// The port that the header gives, if it gives one.
    pub port: Option<u16>,
    /// The parameters, `branch` among them.
    pub parameters: Parameters,
}

impl Via {
    /// Reads a value; `None` if it is malformed or of another version.
    #[must_use]
    pub fn parse(value: &str) -> Option<Self> {
        let (protocol, rest) = value.split_once('/')?;
        let (version, rest) = rest.split_once('/')?;
        let is_sip = protocol.trim_matches(text::is_space).eq_ignore_ascii_case("SIP");
        if !is_sip || version.trim_matches(text::is_space) != "2.0" {
            return None;
        }
        let rest = rest.trim_start_matches(text::is_space);
        let (transport, rest) = rest.split_once(text::is_space)?;
        let (host, parameters) = rest.split_once(';').unwrap_or((rest, ""));
        if !text::is_token(transport) {
            return None;
        }
        let (host, port) = host_and_port(host.trim_matches(text::is_space))?;
        let parameters = Parameters::parse(parameters)?;
        Some(Self { transport: transport.to_ascii_uppercase(), host, port, parameters })
    }

    /// Returns the branch, which names the transaction.
    #[must_use]
    pub fn branch(&self) -> Option<&str> {
        self.parameters.value("branch").filter(|branch| !branch.is_empty())
    }

    /// Returns where the request came from by its own account, as it enters the key of a transaction (RFC 3261 §17.2.3).
    #[must_use]
    pub fn sent_by(&self) -> String {
        match self.port {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.to_string(),
        }
    }

    /// Notes where the request really came from: `received` where that is another address than the one written or a name
    /// (RFC 3261 §18.2.1), and `rport` where it was asked for, with `received` in any case then (RFC 3581 §4).
    pub fn note_source(&mut self, source: SocketAddr) {
        let wants_port = self.parameters.contains("rport");
        self.parameters.remove("received");
        if wants_port {
            self.parameters.set("rport", &source.port().to_string());
        }
        if wants_port || self.host.address() != Some(source.ip()) {
            self.parameters.set("received", &source.ip().to_string());
        }
    }

    /// Returns where a response goes over an unreliable transport, or once the connection is gone (RFC 3261 §18.2.2,
    /// RFC 3581 §4): `received` and `rport` as far as they are there.
    ///
    /// `maddr` does not count: it would let anybody have responses sent to a third party, and the multicast it is for is not
    /// here. `None` if only a name is known.
    #[must_use]
    pub fn response_address(&self, default_port: u16) -> Option<SocketAddr> {
        let received: Option<IpAddr> =
            self.parameters.value("received").and_then(|address| address.parse().ok());
        let address = received.or_else(|| self.host.address())?;
        let mirrored = self.parameters.value("rport").and_then(text::number);
        Some(SocketAddr::new(address, mirrored.or(self.port).unwrap_or(default_port)))
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SIP/2.0/{} {}", self.transport, self.sent_by())?;
        write!(f, "{}", self.parameters)
    }
}

/// Branches that begin with it are unique over space and time (RFC 3261 §8.1.1.7).
pub(crate) const MAGIC_COOKIE: &str = "z9hG4bK";
