//! The options for the connection: which middlebox, and who asks.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use simco::agent::{AgentSettings, Credentials, Reconnection, Resynchronisation};
use simco::{Key, Owner};
use simco_agent::{AgentEvents, Carrier, Middlebox, SimcoAgent, TlsTrust, Transport};

use super::SimcoError;
use crate::arguments::{Address, EncapPort, Place, UsageError, parse_address};
use crate::failure::Failure;

/// The options that all commands of the agent have.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection, for all commands but `control`")]
pub(super) struct ConnectionArguments {
    /// Addresses or names of the middlebox with the same port, IPv6 in brackets, several with commas for a multi-homed SCTP; after `ip:`
    /// SCTP travels directly over IP (protocol 132)
    #[arg(long, value_name = "ADDR:PORT", global = true, value_delimiter = ',', default_value = "127.0.0.1:7626", value_parser = parse_address)]
    to: Vec<Address>,
    /// Transport
    #[arg(long, value_enum, global = true, default_value = "tcp")]
    transport: Protocol,
    /// Streams over SCTP; six were enough in study S4
    #[arg(long, value_name = "N", global = true, default_value = "6", value_parser = clap::value_parser!(u16).range(1..))]
    streams: u16,
    /// UDP ports that carry SCTP: ours (0: any) and the middlebox' [default: 0:9899]
    #[arg(long, value_name = "LOCAL[:REMOTE]", global = true)]
    encap_port: Option<EncapPort>,
    /// Name of this agent, if the middlebox wants to know
    #[arg(long, value_name = "NAME", global = true, requires = "key_file")]
    agent: Option<String>,
    /// File with its key: 64 hexadecimal digits
    #[arg(long, value_name = "FILE", global = true, requires = "agent")]
    key_file: Option<PathBuf>,
    /// Write the packets of SCTP to this pcapng file; TCP is for tcpdump
    #[arg(long, value_name = "FILE", global = true)]
    pcap: Option<PathBuf>,
    /// Over TCP with TLS: file with the certificate of the middlebox or of its authority, PEM
    #[arg(long, value_name = "FILE", global = true)]
    tls_ca: Option<PathBuf>,
    /// The name in the middlebox' certificate [default: the name or address of --to]
    #[arg(long, value_name = "NAME", global = true, requires = "tls_ca")]
    tls_name: Option<String>,
    /// How long to wait for a session
    #[arg(long, value_name = "D", global = true, default_value = "10s", value_parser = workload::parse_duration)]
    timeout: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Protocol {
    /// The kernel's TCP
    Tcp,
    /// Our SCTP, in UDP or after `ip:` over IP
    Sctp,
}

impl ConnectionArguments {
    pub(super) const fn transport(&self) -> Protocol {
        self.transport
    }

    pub(super) const fn streams(&self) -> u16 {
        self.streams
    }

    /// Opens a session, and another one whenever it breaks if that is wanted.
    pub(super) async fn connect(
        &self,
        resynchronisation: Resynchronisation,
        reconnection: Option<Reconnection>,
    ) -> Result<(SimcoAgent, AgentEvents), Failure> {
        let credentials = self.credentials()?;
        let settings =
            AgentSettings { credentials, resynchronisation, reconnection, ..AgentSettings::default() };
        let place = Place::of("--to", &self.to)?;
        let trust = self.trust(&place)?;
        let middlebox = self.middlebox(place)?;
        let connecting = async {
            match &trust {
                Some(trust) => SimcoAgent::connect_tls(&middlebox, trust, settings).await,
                None => SimcoAgent::connect(&middlebox, settings).await,
            }
        };
        match tokio::time::timeout(self.timeout, connecting).await {
            Ok(connected) => Ok(connected.map_err(SimcoError::from)?),
            Err(_) => Err(SimcoError::NoAnswer { timeout: self.timeout }.into()),
        }
    }

    fn middlebox(&self, place: Place) -> Result<Middlebox, UsageError> {
        let carrier = match place.carrier_of_client(self.encap_port)? {
            lab::Carrier::Ip => Carrier::Ip,
            lab::Carrier::Udp(ports) => Carrier::Udp { local: ports.local, remote: ports.remote },
        };
        let transport = match self.transport {
            Protocol::Tcp => Transport::Tcp,
            Protocol::Sctp => Transport::Sctp { streams: self.streams, carrier },
        };
        Ok(Middlebox { addresses: place.addresses, transport, capture: self.pcap.clone() })
    }

    fn trust(&self, place: &Place) -> Result<Option<TlsTrust>, UsageError> {
        let Some(path) = &self.tls_ca else { return Ok(None) };
        let remedy = "name a file with certificates in PEM";
        let refused = |because: String| UsageError::value("--tls-ca", path.display(), &because, remedy);
        let authorities = std::fs::read(path).map_err(|error| refused(error.to_string()))?;
        let given = place.name().map_or_else(|| place.first().ip().to_string(), str::to_owned);
        let name = self.tls_name.clone().unwrap_or(given);
        TlsTrust::new(&authorities, &name).map(Some).map_err(|error| refused(error.to_string()))
    }

    fn credentials(&self) -> Result<Option<Credentials>, UsageError> {
        let (Some(name), Some(path)) = (&self.agent, &self.key_file) else { return Ok(None) };
        let identity = Owner::new(name.as_bytes()).map_err(|error| {
            UsageError::value("--agent", name.clone(), &error.to_string(), "take a shorter name")
        })?;
        let remedy = "name a file with the key in hexadecimal digits";
        let refused = |because: String| UsageError::value("--key-file", path.display(), &because, remedy);
        let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        let key = Key::from_hex(&text).map_err(|error| refused(error.to_string()))?;
        Ok(Some(Credentials { identity, key }))
    }
}
