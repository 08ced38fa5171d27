//! The processes of one run of a test: stopped for a moment, and continued, as a busy host or a debugger would.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Stops and continues a process and those that descend from it.
pub(super) struct Interrupter {
    root: u32,
    dice: u64,
}

impl Interrupter {
    /// Creates an interrupter of the process `root`; each round interrupts at other moments.
    pub(super) fn new(root: u32, round: u32) -> Self {
        Self { root, dice: u64::from(round).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 }
    }

    /// Waits up to 50 ms, and then, one time in four, stops the whole family or one of it for up to 60 ms.
    pub(super) fn turn(&mut self) {
        let wait = 1 + self.below(50);
        thread::sleep(Duration::from_millis(wait));
        if self.below(4) > 0 {
            return;
        }
        let family = family(self.root, &parents());
        let one = usize::try_from(self.below(1 + 2 * family.len() as u64)).unwrap_or(usize::MAX);
        let chosen = family.get(one).map_or(family.as_slice(), std::slice::from_ref);
        signal("-STOP", chosen);
        let pause = 1 + self.below(60);
        thread::sleep(Duration::from_millis(pause));
        signal("-CONT", chosen);
    }

    /// Ends the process and those that descend from it.
    pub(super) fn kill(&self) {
        signal("-KILL", &family(self.root, &parents()));
    }

    /// Returns a number below `end` (xorshift).
    fn below(&mut self, end: u64) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.dice % end.max(1)
    }
}

/// Sends a signal to processes; one that has ended since needs none.
fn signal(name: &str, processes: &[u32]) {
    let mut command = Command::new("kill");
    command.arg(name).args(processes.iter().map(u32::to_string));
    let _gone = command.stdin(Stdio::null()).stderr(Stdio::null()).status();
}

/// Returns every process with its parent, as `/proc` tells; none where there is no `/proc`.
fn parents() -> Vec<(u32, u32)> {
    let Ok(folders) = fs::read_dir("/proc") else { return Vec::new() };
    let read = |folder: std::io::Result<fs::DirEntry>| {
        let path = folder.ok()?.path();
        let process = path.file_name()?.to_str()?.parse().ok()?;
        Some((process, parent(&fs::read_to_string(path.join("stat")).ok()?)?))
    };
    folders.filter_map(read).collect()
}

/// Returns the parent in a line of `/proc/N/stat`; the name before it is in parentheses and may have some of
/// its own.
fn parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Returns a process and all that descend from it, itself first.
fn family(root: u32, parents: &[(u32, u32)]) -> Vec<u32> {
    let (mut found, mut known) = (vec![root], BTreeSet::from([root]));
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        let children = parents.iter().filter(|(_, of)| *of == parent).map(|(child, _)| *child);
        found.extend(children.filter(|child| known.insert(*child)));
        at += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parent_is_read_behind_a_name_with_parentheses_and_spaces() {
        assert_eq!(parent("42 (a (b) c) S 7 42 42 0"), Some(7));
        assert_eq!(parent("42 (cut off"), None);
    }

    #[test]
    fn family_is_the_process_and_its_descendants_alone() {
        let parents = [(2, 1), (3, 2), (4, 3), (5, 1), (6, 5), (1, 0)];
        assert_eq!(family(2, &parents), [2, 3, 4]);
        assert_eq!(family(9, &parents), [9]);
    }
}
