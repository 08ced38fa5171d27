//! `headway load`: the load generator against an echo server on another host.

use std::path::PathBuf;

use clap::Args;
use emulator::{CaptureFile, CapturePoint};
use lab::{Backend, CompareConfig, Network, TransportSpec, Workload};
use netem::Impairments;

use crate::arguments::{
    Address, EncapPort, EventsArguments, Place, TrafficArguments, UsageError, parse_address,
};
use crate::compare::{Destination, Job, expected_time};
use crate::failure::Failure;
use crate::output::OutputArguments;

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
            capture: self.pcap.clone().map(|path| CaptureFile { path, point: CapturePoint::Sender }),
            ..self.traffic.config()?
        };
        check_workload(config.workload)?;
        self.check_ports(&config)?;
        Ok(config)
    }

    fn network(&self, place: &Place) -> Result<Network, UsageError> {
        Ok(Network { to: place.addresses.clone(), carrier: place.carrier_of_client(self.encap_port)? })
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

/// Checks that an echo server answers the messages of a workload.
fn check_workload(workload: Workload) -> Result<(), UsageError> {
    if workload.is_echoed() {
        return Ok(());
    }
    Err(UsageError::Value {
        option: "--workload",
        value: workload.to_string(),
        because: "an echo server sends back what it gets, and answers nothing else".to_owned(),
        remedy: format!("use {}, or headway compare, which has a server for each workload", Workload::ECHO),
    })
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (config, place) = (arguments.config()?, Place::of("--to", &arguments.to)?);
    let mut network = arguments.network(&place)?;
    let job = Job {
        config: &config,
        destination: &arguments.destination,
        output: &arguments.output,
        events: &arguments.events,
        expected: Some(expected_time(&config)),
    };
    let run = || Ok(network.run(&config, config.transports.as_slice())?);
    let unknown = |_transport| Err("nobody knows what the network does to packets".to_owned());
    job.carry_out(&place.resolutions(), run, unknown)
}
