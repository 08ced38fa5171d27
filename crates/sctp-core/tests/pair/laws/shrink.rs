//! From a sequence that breaks a law to the shortest that can be found.

use super::case::Case;
use super::ledger::Broken;
use super::operation::Operation;
use super::run::run;

/// Leaves out halves, quarters and so on down to single operations while what is left still breaks a law.
pub(super) fn shrink(
    case: &Case,
    mut operations: Vec<Operation>,
    mut broken: Broken,
) -> (Vec<Operation>, Broken) {
    let mut tries = 0;
    let mut size = operations.len();
    while size > 0 {
        let (mut start, mut has_shrunk) = (0, false);
        while start < operations.len() && tries < MOST_TRIES {
            let end = operations.len().min(start + size);
            let fewer = [&operations[..start], &operations[end..]].concat();
            tries += 1;
            match run(case, &fewer) {
                Err(still) => (operations, broken, has_shrunk) = (fewer, still, true),
                Ok(_) => start = end,
            }
        }
        if !has_shrunk || size > 1 {
            size /= 2;
        }
    }
    (operations, broken)
}

/// Runs at most.
const MOST_TRIES: usize = 500;
