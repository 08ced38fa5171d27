use core::time::Duration;

use super::*;
use crate::traffic::Arrivals;
use crate::transport::TransportSpec;

/// A backend that only says who it is, or no.
struct Stand(Result<BackendKind, BackendError>);

impl Backend for Stand {
    fn run(&mut self, _: &CompareConfig, _: &[TransportSpec]) -> Result<RawOutcome, BackendError> {
        Ok(RawOutcome::new(self.0.clone()?, Vec::new()))
    }
}

fn refused() -> BackendError {
    BackendError::Refused { because: "unshare: operation not permitted".to_owned() }
}

fn run(choice: BackendChoice, namespaces: Result<BackendKind, BackendError>) -> Result<RawOutcome, RunError> {
    let config = CompareConfig { backend: choice, ..CompareConfig::default() };
    run_compare(&config, &mut Stand(namespaces), &mut Stand(Ok(BackendKind::Simulator)))
}

#[test]
fn auto_takes_namespaces_and_falls_back_to_the_simulator_with_the_reason() {
    let outcome = run(BackendChoice::Auto, Ok(BackendKind::Namespaces)).unwrap();
    assert_eq!((outcome.backend, outcome.fallback), (BackendKind::Namespaces, None));
    let outcome = run(BackendChoice::Auto, Err(refused())).unwrap();
    assert_eq!(outcome.backend, BackendKind::Simulator);
    assert_eq!(outcome.fallback.unwrap().because, "unshare: operation not permitted");
}

#[test]
fn an_explicit_backend_that_is_refused_and_a_failure_underway_are_errors() {
    assert_eq!(run(BackendChoice::Namespaces, Err(refused())).unwrap_err(), RunError::Backend(refused()));
    let failed = BackendError::Failed { because: "emulator died".to_owned() };
    assert_eq!(run(BackendChoice::Auto, Err(failed.clone())).unwrap_err(), RunError::Backend(failed));
}

#[test]
fn what_an_interrupt_left_out_is_named_with_the_reason() {
    let config = CompareConfig { backend: BackendChoice::Simulator, ..CompareConfig::default() };
    config.stop.raise();
    let outcome = run_compare(&config, &mut Stand(Err(refused())), &mut crate::backend::Simulator).unwrap();
    assert!(outcome.runs.is_empty());
    let expected =
        config.transports.as_slice().iter().map(|transport| (transport.to_string(), "interrupted"));
    let skipped = outcome.skipped.iter().map(|skipped| (skipped.id.clone(), skipped.because.as_str()));
    assert!(skipped.eq(expected), "{:?}", outcome.skipped);
}

#[test]
fn the_defaults_are_those_of_the_command_line() {
    let config = CompareConfig::default();
    assert_eq!(config.validate(), Ok(()));
    assert_eq!(config.rtt(), Duration::from_millis(20));
    assert_eq!(config.request_path.loss.mean(), 0.01);
    assert_eq!(config.traffic.arrivals.name, "poisson");
    assert_eq!((config.traffic.interval, config.traffic.duration).0, Duration::from_millis(10));
    assert_eq!(config.traffic.message_bytes.get(), 64);
    assert!(config.runs_concurrently());
}

#[test]
fn transports_share_their_send_times_and_repetitions_do_not() {
    let config = CompareConfig::default();
    let first_due = |transport: &str, repetition| {
        let transport = transport.parse().unwrap();
        config.client_plan(transport, repetition).unwrap().arrivals.next_offset()
    };
    assert_eq!(first_due("sctp:6", 0), first_due("udp", 0));
    assert_ne!(first_due("sctp:6", 0), first_due("sctp:6", 1));
}

#[test]
fn a_run_waits_longer_for_transactions_over_udp() {
    let drain = |transport: &str| transport.parse::<TransportSpec>().unwrap().drain();
    assert_eq!((drain("sctp:6"), drain("udp")), (Duration::from_secs(10), Duration::from_secs(32)));
}

/// What a comparison is told reaches the simulator as it was said.
#[test]
fn the_link_of_a_scenario_does_what_was_asked_for_both_ways() {
    let mut config = CompareConfig::default();
    config.request_path.rate = "1mbit".parse().ok();
    config.request_path.queue = "9p".parse().ok();
    config.response_path.reorder = netem::Probability::new(0.25).unwrap();
    config.response_path.drop_packets = [3, 5].into();
    let scenario = config.scenario("udp".parse().unwrap());
    let (_, link) = scenario.links.iter().next().unwrap();
    assert_eq!(link.request(), config.request_path);
    let back = link.response();
    assert_eq!(back.rate.unwrap().bits_per_second(), u64::MAX);
    assert_eq!(netem::Impairments { rate: None, queue: None, ..back }, config.response_path);
}

#[test]
fn high_rates_and_the_option_make_it_sequential() {
    let traffic = Traffic { interval: Duration::from_millis(1), ..Traffic::default() };
    assert!(!CompareConfig { traffic, ..CompareConfig::default() }.runs_concurrently());
    assert!(
        !CompareConfig { schedule: Schedule::Sequential, ..CompareConfig::default() }.runs_concurrently()
    );
}

#[test]
fn what_cannot_be_run_is_refused_with_the_bound() {
    let with = |traffic| CompareConfig { traffic, ..CompareConfig::default() }.validate();
    let zero = Duration::ZERO;
    assert_eq!(with(Traffic { interval: zero, ..Traffic::default() }), Err(CompareError::ZeroInterval));
    assert_eq!(with(Traffic { duration: zero, ..Traffic::default() }), Err(CompareError::ZeroDuration));
    let message_bytes = "64KiB".parse().unwrap();
    let too_big = with(Traffic { message_bytes, ..Traffic::default() }).unwrap_err();
    let (octets, transport, most) = (65_536, "udp".parse().unwrap(), 65_507);
    assert_eq!(too_big, CompareError::TooBig { octets, transport, most });
    assert_eq!(too_big.to_string(), "message of 65536 octets: udp carries at most 65507");
}

#[test]
fn a_missing_trace_file_is_named() {
    let error = Arrivals::load("trace:/no/such/file".parse().unwrap()).unwrap_err();
    assert!(error.to_string().starts_with("trace:/no/such/file: "), "{error}");
    assert_eq!(Arrivals::load("constant".parse().unwrap()).unwrap().name, "constant");
}
