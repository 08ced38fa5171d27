//! Names of TCP congestion controls, as this kernel knows them.

use std::fs;

/// A name that this kernel does not know.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this kernel has no such congestion control for TCP: use {known} (or load its module: modprobe tcp_NAME)"
)]
pub(crate) struct UnknownCongestion {
    known: String,
}

/// Accepts what the kernel lists; any name where it lists none.
pub(crate) fn parse_congestion(name: &str) -> Result<String, UnknownCongestion> {
    let known = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    accept(name, &known)
}

fn accept(name: &str, known: &str) -> Result<String, UnknownCongestion> {
    let mut names = known.split_whitespace();
    let is_default = name == "cubic";
    if is_default || known.trim().is_empty() || names.any(|known| known == name) {
        return Ok(name.to_owned());
    }
    let known: Vec<&str> = known.split_whitespace().collect();
    Err(UnknownCongestion { known: known.join(" or ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_kernel_lists_is_accepted() {
        assert_eq!(accept("reno", "reno cubic\n"), Ok("reno".to_owned()));
        assert_eq!(accept("anything", ""), Ok("anything".to_owned()));
        let refused = accept("vegas", "reno cubic\n").unwrap_err().to_string();
        assert!(refused.contains("use reno or cubic"), "{refused}");
    }
}
