//! The middlebox as a process: the tests' own program in another role, so that it can be killed.

use std::path::Path;
use std::process::{Child, Stdio};

use simco_middlebox::{Embedded, Settings};

use crate::agent::PATIENCE;
use crate::network::{Network, Place};

/// A process of the middlebox; it ends with this.
#[derive(Debug)]
pub(crate) struct Middlebox(Child);

impl Middlebox {
    /// Starts it in the middle. Who connects tries until it listens.
    pub(crate) fn start(network: &Network) -> Self {
        Self::start_with(network, "")
    }

    /// Starts it with further settings.
    pub(crate) fn start_with(network: &Network, further: &str) -> Self {
        let program = std::env::current_exe().unwrap();
        let mut command = network.command(Place::Middle, program.to_str().unwrap());
        command.args(["--exact", ROLE, "--nocapture"]).env(VARIABLE, further);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::inherit());
        Self(command.spawn().unwrap())
    }

    /// Kills it, as a power cut does: nothing is told to anybody.
    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Has the network lose everything that it says, its answers to SIMCO among them.
    pub(crate) fn lose_what_it_says(&self, network: &Network) {
        network.lose(Place::Middle, "output", &format!("tcp sport {PORT}"));
    }

    /// Lets through again what it says; what was lost is repeated by TCP.
    pub(crate) fn let_it_speak(&self, network: &Network) {
        network.lose_nothing(Place::Middle);
    }

    /// Waits until the kernel has its table, and in it no pinhole.
    pub(crate) fn wait_until_without_pinholes(&self, network: &Network) {
        self.wait(network, |ruleset| ruleset.contains("table inet headway") && !ruleset.contains("expires"));
    }

    /// Waits until the kernel has its table, with pinholes in it.
    pub(crate) fn wait_until_with_pinholes(&self, network: &Network) {
        self.wait(network, |ruleset| ruleset.contains("table inet headway") && ruleset.contains("expires"));
    }

    fn wait(&self, network: &Network, holds: impl Fn(&str) -> bool) {
        let start = std::time::Instant::now();
        loop {
            let listed = network.command(Place::Middle, "nft").args(["list", "ruleset"]).output().unwrap();
            let ruleset = String::from_utf8_lossy(&listed.stdout);
            if holds(&ruleset) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "{:?}: {ruleset}", self.0);
        }
    }

    /// Ends it in good order.
    pub(crate) fn stop(mut self) {
        drop(self.0.stdin.take());
        let status = self.0.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

impl Drop for Middlebox {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

/// The role of the process; in the tests' own process there is nothing to do.
#[test]
fn serves_until_nobody_holds_its_input() {
    let Ok(further) = std::env::var(VARIABLE) else { return };
    let settings = Settings::parse(&format!("{SETTINGS}{further}"), Path::new(".")).unwrap();
    let middlebox = Embedded::start(settings).unwrap();
    let _closed = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    middlebox.stop();
}

const PORT: u16 = 7626;
const ROLE: &str = "middlebox::serves_until_nobody_holds_its_input";
const VARIABLE: &str = "HEADWAY_TEST_MIDDLEBOX";
const SETTINGS: &str = r#"
[listen]
tcp = ["127.0.0.1:7626"]
[filter]
kind = "nftables"
inside = ["in0"]
# So that it can be flushed, as on kernels before 6.9.
own_table = false
[realms]
internal = ["10.1.8.0/24", "fd00::/8"]
[anonymous]
"#;
