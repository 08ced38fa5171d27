//! The spreading of many like questions over the processors.

use std::thread;

use lab::plan::{RunOptions, spread};

/// A mean for each of some points, or why there is none.
pub(crate) type Means = Result<Vec<f64>, String>;

/// Returns what `work` gives for each of the items, in their order. It is called with a share of them and the index of its
/// first; who has done a share takes the next, since some take longer than others.
pub(crate) fn in_shares<T: Sync>(items: &[T], work: impl Fn(usize, &[T]) -> Means + Sync) -> Means {
    if items.len() <= LEAST_TO_SPREAD {
        return work(0, items);
    }
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let size = items.len().div_ceil(workers * SHARES_OF_EACH);
    let shares: Vec<&[T]> = items.chunks(size).collect();
    let done = spread(&RunOptions::default(), shares.len(), |number| work(number * size, shares[number]))?;
    Ok(done.concat())
}

/// The number of items that is not worth a thread.
const LEAST_TO_SPREAD: usize = 64;
/// The number of shares for each worker.
const SHARES_OF_EACH: usize = 8;
