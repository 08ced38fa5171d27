//! `headway load`: the load generator against an echo server on another host.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use lab::{
    Backend, CompareConfig, Comparison, Conditions, EncapsulationPorts, Network, RunError, TransportSpec,
};
use netem::Impairments;

use crate::arguments::{
    Address, EncapPort, EventsArguments, Place, TrafficArguments, UsageError, check_capture, parse_address,
};
use crate::compare::{CompareFailure, Destination, Outcome, expected_time};
use crate::interrupt;
use crate::origin::origin;
use crate::output::OutputArguments;
use crate::progress::Bar;

/// The workload of `compare` against an echo server on another host
///
/// Start `headway echo` there. Nothing is emulated, so there are no predictions, and head-of-line blocking is that of
/// the responses alone.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  headway load --to 192.0.2.1:5000 --transport tcp,sctp:6 --rate 200")]
pub(crate) struct Arguments {
    /// Addresses or names of the echo server with the same port, IPv6 in brackets: several for a multi-homed SCTP, of which
    /// the others use the first that answers, QUIC at the port above; a name stands for all its addresses; after `ip:` SCTP travels directly over IP
    /// (protocol 132)
    #[arg(long, value_name = "HOST:PORT", required = true, num_args = 1.., value_parser = parse_address)]
    to: Vec<Address>,
    /// UDP ports that carry SCTP: ours (0: any) and the server's [default: 0:9899]
    #[arg(long, value_name = "LOCAL[:REMOTE]")]
    encap_port: Option<EncapPort>,
    #[command(flatten)]
    traffic: TrafficArguments,
    /// Write the packets of SCTP to this pcapng file, one file per association, named after its transport
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    #[command(flatten)]
    events: EventsArguments,
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    output: OutputArguments,
}

impl Arguments {
    fn config(&self) -> Result<CompareConfig, UsageError> {
        let config = CompareConfig {
            request_path: Impairments::default(),
            response_path: Impairments::default(),
            pcap: self.pcap.clone(),
            ..self.traffic.config()?
        };
        self.check_ports(&config)?;
        Ok(config)
    }

    fn network(&self, place: &Place) -> Result<Network, UsageError> {
        let defaults = EncapsulationPorts::default();
        let encapsulation = self.encap_port.map_or(defaults, |ports| EncapsulationPorts {
            local: ports.local,
            remote: ports.remote.unwrap_or(defaults.remote),
        });
        let carrier = place.carrier(self.encap_port, encapsulation)?;
        Ok(Network { to: place.addresses.clone(), carrier })
    }

    /// Checks the UDP ports, of which every association has one of its own.
    fn check_ports(&self, config: &CompareConfig) -> Result<(), UsageError> {
        let Some(ports) = self.encap_port.filter(|ports| ports.local > 0) else { return Ok(()) };
        let is_sctp = |transport: &&TransportSpec| transport.protocol() == "sctp";
        let associations = config.transports.as_slice().iter().filter(is_sctp).count();
        if associations <= 1 || !config.runs_concurrently() {
            return Ok(());
        }
        Err(UsageError::Value {
            option: "--encap-port",
            value: ports.local.to_string(),
            because: format!("{associations} associations at the same time need a UDP port each"),
            remedy: "add --sequential, or write 0 for any port".to_owned(),
        })
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), CompareFailure> {
    let (config, place) = (arguments.config()?, Place::of("--to", &arguments.to)?);
    let mut network = arguments.network(&place)?;
    config.validate().map_err(UsageError::from)?;
    let origin = origin();
    let output = arguments.output.open()?;
    let earlier = arguments.destination.earlier()?;
    arguments.destination.prepare()?;
    check_capture(arguments.pcap.as_deref())?;
    let events = arguments.events.begin()?;
    output.tell(&place.resolutions())?;
    interrupt::stop_on_interrupt(&config.stop);
    let expected: Duration = expected_time(&config);
    let progress = Bar::of_time(&arguments.output, Some(expected));
    let raw = network.run(&config, config.transports.as_slice());
    progress.finish();
    let raw = raw.map_err(RunError::Backend)?;
    let conditions = Conditions { origin, ..Conditions::of_this_host() };
    let unknown = |_transport| Err("nobody knows what the network does to packets".to_owned());
    let comparison = Comparison::new(&config, &raw, conditions, unknown);
    let outcome = Outcome { comparison: &comparison, raw: &raw, events, earlier };
    let published = arguments.destination.publish(&outcome, &output);
    if config.stop.is_raised() { Err(CompareFailure::Interrupted) } else { published }
}
