use super::*;
use crate::page;
use lab::Simulator;
use lab::report::Verdict;
use lab::{Backend, BackendError, CompareConfig, RawOutcome};

/// A host without the rights to make namespaces.
struct Refusing;

impl Backend for Refusing {
    fn run(&mut self, _: &CompareConfig, _: &[TransportSpec]) -> Result<RawOutcome, BackendError> {
        Err(BackendError::Refused { because: "no rights".to_owned() })
    }
}

fn little(backend: impl Backend + Send + 'static) -> Effort {
    let measurement = Some(Measurement::new(backend, Duration::from_secs(20)));
    Effort { seeds: 2, share: 0.02, measurement, ..Effort::default() }
}

#[test]
fn a_page_says_what_a_refusal_left_out() {
    let effort = little(Refusing);
    let spec = page("S1-fig5").expect("a page of ours");
    let made = spec.make(&effort).expect("the simulation runs");
    assert_eq!(made.left_out.len(), 3, "one per loss: {:?}", made.left_out);
    assert!(made.left_out[0].contains("1 % loss") && made.left_out[0].contains("no rights"));
    assert!(!made.series.iter().any(|series| series.mark == Mark::Measured));
    assert_ne!(made.effort, spec.effort(&effort), "with rights it is made again");
}

/// The backend of this test is virtual time, so that what is measured is what is simulated.
#[test]
fn measured_values_stand_beside_the_simulated_ones() {
    let effort = Effort { share: 0.5, ..little(Simulator) };
    let spec = page("S1-fig4").expect("a page of ours");
    let made = spec.make(&effort).expect("both run");
    assert_eq!((made.left_out.len(), &made.effort), (0, &spec.effort(&effort)));
    let measured: Vec<_> = made.series.iter().filter(|series| series.mark == Mark::Measured).collect();
    assert_eq!(measured.len(), 4, "one per transport");
    assert!(measured.iter().all(|series| series.points.len() == 3 && series.figure == "fig4"));
    let table = made.tables.last().expect("the measured cells");
    assert_eq!(table.rows.len(), 12);
    let is_full =
        |row: &Vec<String>| row.len() == table.head.len() && row.iter().all(|cell| !cell.is_empty());
    assert!(table.rows.iter().all(is_full), "{:?}", table.rows);
    let statement = made.statements.last().expect("on the agreement");
    assert!(statement.text().contains("real packets"));
    assert_ne!(statement.verdict(), Verdict::NotReproduced, "{:?}", table.rows);
}
