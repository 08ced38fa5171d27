//! Instructions instead of time: valgrind counts those inside [`counted`], and nothing else.

use std::hint::black_box;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::timed;

/// Does the work: it is counted by valgrind, and its processor time added up.
pub fn counted(work: &mut dyn FnMut()) {
    let (time, ()) = timed(|| counted_work(work));
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    NANOS.fetch_add(nanos, Ordering::Relaxed);
}

/// A name to count by; never inlined, so that it has one.
#[inline(never)]
fn counted_work(work: &mut dyn FnMut()) {
    work();
    black_box(());
}

/// The processor time of all that was counted since the last call.
pub fn counted_time() -> Duration {
    Duration::from_nanos(NANOS.swap(0, Ordering::Relaxed))
}

static NANOS: AtomicU64 = AtomicU64::new(0);

/// Runs this program again under valgrind with these arguments; how many instructions were counted, and what it printed.
///
/// # Errors
/// valgrind is not installed, or the program failed under it.
pub fn count(arguments: &[&str]) -> Result<(u64, String), String> {
    let program = std::env::current_exe().map_err(|error| format!("this program has no path: {error}"))?;
    let output = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            "--toggle-collect=*counting::counted_work*",
        ])
        .arg(program)
        .args(arguments)
        .output()
        .map_err(|error| format!("valgrind cannot be run ({error}): install the package valgrind"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{arguments:?} failed under valgrind:\n{said}"));
    }
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    let instructions = collected.and_then(|(_, count)| count.trim().parse().ok());
    let instructions = instructions.ok_or_else(|| format!("valgrind gave no count:\n{said}"))?;
    Ok((instructions, String::from_utf8_lossy(&output.stdout).into_owned()))
}
