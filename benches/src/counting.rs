//! Instructions instead of time: valgrind counts those inside [`counted`], and nothing else.

use std::collections::BTreeMap;
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

/// The instructions of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// All of them.
    pub instructions: u64,
    /// Those of checksums, for which valgrind knows no instructions as wide as processors have them by now.
    pub checksums: u64,
    /// What the program printed.
    pub printed: String,
}

/// Runs this program again under valgrind with these arguments, and counts.
///
/// # Errors
/// valgrind is not installed, or the program failed under it.
pub fn count(arguments: &[&str]) -> Result<Count, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program has no path: {error}"))?;
    let profile = std::env::temp_dir().join(format!("headway-instructions-{}", std::process::id()));
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--toggle-collect=*counting::counted_work*"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(program)
        .args(arguments)
        .output()
        .map_err(|error| format!("valgrind cannot be run ({error}): install the package valgrind"))?;
    let profiled = std::fs::read_to_string(&profile);
    // One that stays there is in nobody's way.
    let _ = std::fs::remove_file(&profile);
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{arguments:?} failed under valgrind:\n{said}"));
    }
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    let instructions = collected.and_then(|(_, count)| count.trim().parse().ok());
    let instructions = instructions.ok_or_else(|| format!("valgrind gave no count:\n{said}"))?;
    let profiled = profiled.map_err(|error| format!("valgrind left no profile: {error}"))?;
    let checksums = of_functions(&profiled, "crc_fast::");
    Ok(Count { instructions, checksums, printed: String::from_utf8_lossy(&output.stdout).into_owned() })
}

/// Returns what a profile of callgrind's says that functions took themselves whose names begin so.
fn of_functions(profile: &str, prefix: &str) -> u64 {
    let mut names = BTreeMap::new();
    let (mut is_asked, mut is_of_call, mut sum) = (false, false, 0);
    for line in profile.lines() {
        let named = line.strip_prefix("fn=").or_else(|| line.strip_prefix("cfn="));
        if let Some((number, name)) = named.map(|named| named.split_once(' ').unwrap_or((named, ""))) {
            // A name is told once, and afterwards its number.
            let is_so = *names.entry(number).or_insert_with(|| name.starts_with(prefix));
            if line.starts_with("fn=") {
                is_asked = is_so;
            }
        } else if line.starts_with("calls=") {
            is_of_call = true;
        } else if let Some((_, cost)) = line.split_once(' ').filter(|(place, _)| is_place(place)) {
            if is_asked && !is_of_call {
                sum += cost.parse::<u64>().unwrap_or(0);
            }
            is_of_call = false;
        }
    }
    sum
}

/// Returns whether this is how callgrind names a line: by its number, or by the distance from the one before.
fn is_place(text: &str) -> bool {
    text == "*" || text.trim_start_matches(['+', '-']).bytes().all(|octet| octet.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_functions_call_is_not_theirs() {
        let profile = "fl=(1) a.rs\nfn=(1) crc_fast::small\n10 5\n+2 7\ncfn=(2) other\ncalls=3 20\n* 1000\n-1 1\n\n\
            fn=(2)\n7 100\ncfn=(1)\ncalls=1 10\n* 13\n\nfn=(1)\n* 2\n";
        assert_eq!(of_functions(profile, "crc_fast::"), 15);
        assert_eq!(of_functions(profile, "other"), 100);
    }
}
