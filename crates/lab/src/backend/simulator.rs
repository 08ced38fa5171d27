//! Comparisons in virtual time: each run is a scenario of two hosts and a link between them, as plans have it.

use emulator::CaptureFile;

use super::{capture_path, never_begun, raw_run, runs};
use crate::compare::{Backend, BackendError, BackendKind, CompareConfig, RawOutcome, RawRun, sorted_out};
use crate::events::run_span;
use crate::simulation::{Watch, check, simulate};
use crate::transport::TransportSpec;

/// The backend that needs no rights and no time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simulator;

impl Backend for Simulator {
    fn run(
        &mut self,
        config: &CompareConfig,
        transports: &[TransportSpec],
    ) -> Result<RawOutcome, BackendError> {
        let refused = |transport| Some(check(&config.scenario(transport)).err()?.parts().1);
        let (simulated, mut skipped) = sorted_out(transports, refused);
        let raw = runs(&simulated, config.repeat)
            .take_while(|_| !config.stop.is_raised())
            .map(|(transport, repetition)| run(config, transport, repetition))
            .collect::<Result<Vec<_>, _>>()?;
        skipped.extend(never_begun(&simulated, &raw));
        Ok(RawOutcome { skipped, ..RawOutcome::new(BackendKind::Simulator, raw) })
    }
}

fn run(config: &CompareConfig, transport: TransportSpec, repetition: u32) -> Result<RawRun, BackendError> {
    let _span = run_span(transport, repetition).entered();
    let file =
        |file: &CaptureFile| CaptureFile { path: capture_path(&file.path, transport, repetition), ..*file };
    let capture = config.capture.as_ref().map(file);
    let watch = Watch { stop: config.stop.clone(), capture };
    let failed = |because: String| BackendError::Failed { because };
    let outcome = simulate(&config.scenario(transport), config.run_seed(repetition), &watch);
    let outcome = outcome.map_err(|error| failed(error.to_string()))?;
    raw_run(config, transport, repetition, outcome).ok_or_else(|| failed("the run had no flow".to_owned()))
}
