//! Facts about the host that bear on measured times.

use std::collections::BTreeMap;
use std::path::Path;

/// The conditions under which a comparison ran.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Conditions {
    /// The facts about the host by name: `cpu`, `cores`, `kernel`, `memory`, `system`.
    pub facts: HostFacts,
    /// The origin: which program ran, how, and when.
    pub origin: Origin,
}

/// The origin of a result, by which it can be produced again.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Origin {
    /// The commit the program was built from, `unknown` where it was not in a repository; empty: not told.
    pub commit: String,
    /// The command line without the program's name.
    pub command: Vec<String>,
    /// The time at which it began, in UTC: `2026-11-23T03:00:00Z`; empty: not told.
    pub started: String,
}

/// Facts about the host, by name.
pub type HostFacts = BTreeMap<String, String>;

impl Conditions {
    /// Reads what `/proc` and `/etc/os-release` say; what they do not say is left out.
    #[must_use]
    pub fn of_this_host() -> Self {
        let read = |path: &str| std::fs::read_to_string(Path::new(path)).unwrap_or_default();
        let cores = std::thread::available_parallelism().map(|cores| cores.to_string()).ok();
        let facts = [
            ("cpu", field(&read("/proc/cpuinfo"), "model name", ':')),
            ("cores", cores),
            ("kernel", first_line(&read("/proc/sys/kernel/osrelease"))),
            ("memory", field(&read("/proc/meminfo"), "MemTotal", ':').map(|size| in_gib(&size))),
            ("system", field(&read("/etc/os-release"), "PRETTY_NAME", '=')),
        ];
        let known = facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Self { facts: known.collect(), origin: Origin::default() }
    }
}

/// Returns the value of `name` in lines of `name SEPARATOR value`, without quotes.
fn field(text: &str, name: &str, separator: char) -> Option<String> {
    let values = text.lines().filter_map(|line| line.split_once(separator));
    let (_, value) = values.into_iter().find(|(key, _)| key.trim() == name)?;
    Some(value.trim().trim_matches('"').to_owned())
}

/// Converts `24684092 kB` to `23.5 GiB`; returns anything else as it is.
fn in_gib(size: &str) -> String {
    let kib = size.strip_suffix(" kB").and_then(|number| number.trim().parse::<f64>().ok());
    kib.map_or_else(|| size.to_owned(), |kib| format!("{:.1} GiB", kib / 1024.0 / 1024.0))
}

fn first_line(text: &str) -> Option<String> {
    text.lines().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_in_gib() {
        assert_eq!(in_gib("24684092 kB"), "23.5 GiB");
        assert_eq!(in_gib("plenty"), "plenty");
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "model\t\t: 85\nmodel name\t: Some CPU: 3 GHz\nmodel name\t: Other\n";
        assert_eq!(field(text, "model name", ':'), Some("Some CPU: 3 GHz".to_owned()));
        assert_eq!(field("PRETTY_NAME=\"Debian 12\"\n", "PRETTY_NAME", '='), Some("Debian 12".to_owned()));
        assert_eq!(field(text, "flags", ':'), None);
    }
}
