//! SIPp, with scenarios of our own.

use std::process::{Child, Stdio};

use crate::network::{AGENT, INSIDE, Network, OUTSIDE, Place};

/// A SIPp that runs one call of a scenario.
#[derive(Debug)]
pub(crate) struct Stranger(Child);

impl Stranger {
    /// The called side.
    pub(crate) fn callee(network: &Network, scenario: &str, transport: &str) -> Self {
        Self::start(network, Place::Outside, OUTSIDE, scenario, transport, &[])
    }

    /// The caller.
    pub(crate) fn caller(network: &Network, scenario: &str, transport: &str) -> Self {
        Self::start(
            network,
            Place::Inside,
            INSIDE,
            scenario,
            transport,
            &[&format!("{AGENT}:5060"), "-s", "4711"],
        )
    }

    /// The caller of a call that goes through a proxy.
    pub(crate) fn proxied_caller(network: &Network, proxy: &str, scenario: &str) -> Self {
        Self::start(network, Place::Inside, INSIDE, scenario, "udp", &[proxy, "-s", "4711"])
    }

    fn start(
        network: &Network,
        place: Place,
        own: &str,
        scenario: &str,
        transport: &str,
        further: &[&str],
    ) -> Self {
        let file = format!("{}/tests/sipp/scenarios/{scenario}.xml", env!("CARGO_MANIFEST_DIR"));
        let mode = if transport == "tcp" { "t1" } else { "u1" };
        // Where requests cross, an answer may come while SIPp is about to send.
        let behaviors = if scenario.ends_with("_crosses") { "all,-abortunexp" } else { "all" };
        let mut command = network.command(place, "sipp");
        command.args([
            "-sf", &file, "-i", own, "-p", "5060", "-t", mode, "-m", "1", "-nostdin", "-timeout", "60s",
        ]);
        command.args(["-timeout_error", "-cp", "8888", "-default_behaviors", behaviors]).args(further);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    /// Waits for its end, which has to be a success.
    pub(crate) fn succeed(self, log: impl Fn() -> String) {
        let output = self.0.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}\n{errors}\n{}", output.status, log());
    }
}
