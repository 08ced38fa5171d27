//! What the memory of a process grows by when its endpoint is attacked, as the kernel counts it.
//!
//! Every attack runs in a process of its own, and so does a control that sets everything up in the same way and is left in
//! peace. The most memory that the kernel ever gave the one (`VmHWM`) less that of the other is what the attack costs. It has
//! to stay within the limit configured, [`LOST_PERCENT`] of that for what lies unused between pieces of different sizes, and
//! [`FIXED_BYTES`] for code that only the attack runs and tables of fixed size.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]
#![allow(clippy::print_stdout, reason = "the processes tell their result, and the test its table")]

mod addresses;
mod attacks;
mod floods;
mod peer;
mod victim;

use std::process::Command;

use self::attacks::{ATTACKS, Attack};

/// Whether the attack takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Course {
    Attacked,
    LeftInPeace,
}

impl Course {
    /// So many packets or messages, or none.
    pub(crate) fn of(self, count: u32) -> core::ops::Range<u32> {
        match self {
            Self::Attacked => 0..count,
            Self::LeftInPeace => 0..0,
        }
    }
}

/// What an attack may cost beside its limit, in percent of that,
const LOST_PERCENT: usize = 10;

/// and in octets.
const FIXED_BYTES: usize = 1 << 20;

/// Names the attack that a process runs.
const ATTACK: &str = "HEADWAY_ATTACK";
/// Set in the control.
const IN_PEACE: &str = "HEADWAY_IN_PEACE";

/// Runs what the environment says; without it, nothing.
#[test]
fn process_of_one_attack() {
    let Ok(name) = std::env::var(ATTACK) else { return };
    let attack = ATTACKS.iter().find(|attack| attack.name == name).unwrap();
    let is_control = std::env::var_os(IN_PEACE).is_some();
    (attack.run)(if is_control { Course::LeftInPeace } else { Course::Attacked });
    println!("{PEAK}{}", peak_bytes());
}

const PEAK: &str = "peak: ";

#[test]
fn robustness_42_process_grows_by_no_more_than_the_limits_under_any_attack() {
    if !cfg!(target_os = "linux") {
        println!("left out: the kernel is asked as Linux is");
        return;
    }
    println!("| attack | limit | resident growth |\n|---|---|---|");
    let mut failures = Vec::new();
    for attack in &ATTACKS {
        let growth = peak_of(attack, true).saturating_sub(peak_of(attack, false));
        let Attack { name, limit, least, .. } = *attack;
        println!("| {name} | {} | {} |", kib(limit), kib(growth));
        if growth > limit + limit / 100 * LOST_PERCENT + FIXED_BYTES {
            failures.push(format!("{name}: {growth} octets, the limit is {limit}"));
        }
        if growth < least {
            failures.push(format!("{name}: {growth} octets, so it did not fill what it is to fill"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

fn kib(octets: usize) -> String {
    format!("{} KiB", octets.div_ceil(1024))
}

/// The most memory that processes with this attack, or its control, ever had: the median of three, for where the kernel puts
/// the heap moves it by some hundred KiB.
fn peak_of(attack: &Attack, is_attacked: bool) -> usize {
    let mut peaks = [(); 3].map(|()| peak_of_one(attack, is_attacked));
    peaks.sort_unstable();
    peaks[1]
}

fn peak_of_one(attack: &Attack, is_attacked: bool) -> usize {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "process_of_one_attack", "--nocapture", "--test-threads=1"]);
    command.env(ATTACK, attack.name).env_remove(IN_PEACE);
    if !is_attacked {
        command.env(IN_PEACE, "1");
    }
    let output = command.output().unwrap();
    let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {said}{wrong}", attack.name);
    // The harness writes on the same line.
    let (_, rest) = said.split_once(PEAK).unwrap();
    rest.split_whitespace().next().unwrap().parse().unwrap()
}

/// `VmHWM` of this process.
fn peak_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}
