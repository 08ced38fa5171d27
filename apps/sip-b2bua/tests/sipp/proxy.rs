//! Kamailio, a stranger's proxy on the way from the caller to the agent.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::agent::PATIENCE;
use crate::network::{AGENT, Network, Place};

/// A proxy in the middle that sends calls to the agent and stays on the way of their dialogs; it ends with this.
#[derive(Debug)]
pub(crate) struct Proxy {
    child: Child,
    folder: PathBuf,
}

impl Proxy {
    /// Starts it; `None` where it is not installed, which is said, and a failure where everything must run.
    pub(crate) fn start(network: &Network) -> Option<Self> {
        if Command::new("kamailio").arg("-v").output().is_err() {
            let is_mandatory = std::env::var("CI").is_ok_and(|value| value == "true");
            assert!(!is_mandatory, "kamailio cannot be started");
            eprintln!("skipped: kamailio is needed");
            return None;
        }
        let folder = std::env::temp_dir().join(format!("kamailio-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("kamailio.cfg"), CONFIGURATION).unwrap();
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let mut command = network.command(Place::Middle, "kamailio");
        command.arg("-DD").arg("-E").arg("-Y").arg(&folder).arg("-f").arg(folder.join("kamailio.cfg"));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let proxy = Self { child, folder };
        let start = std::time::Instant::now();
        // Port 5080, in the kernel's list of sockets.
        let listens = || std::fs::read_to_string("/proc/thread-self/net/udp").unwrap().contains(":13D8 ");
        while !network.within(Place::Middle, listens) {
            assert!(start.elapsed() < PATIENCE, "the proxy does not listen: {}", proxy.log());
        }
        Some(proxy)
    }

    /// Where it listens.
    pub(crate) fn address() -> String {
        format!("{AGENT}:5080")
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // It has children, which it ends with itself; it may have ended already.
        let process = Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        let _ended = kill(process, Signal::SIGTERM);
        let _status = self.child.wait();
        let _gone = std::fs::remove_dir_all(&self.folder);
    }
}

const CONFIGURATION: &str = r#"#!KAMAILIO
debug=1
log_stderror=yes
fork=no
auto_aliases=no
disable_tcp=yes
listen=udp:10.1.8.1:5080
loadmodule "sl.so"
loadmodule "tm.so"
loadmodule "rr.so"
loadmodule "pv.so"
loadmodule "siputils.so"
request_route {
  if (has_totag()) {
    if (loose_route()) { t_relay(); exit; }
    if (method=="ACK") { if (t_check_trans()) t_relay(); exit; }
    sl_send_reply("404", "Not Here");
    exit;
  }
  if (method=="CANCEL") { if (t_check_trans()) t_relay(); exit; }
  record_route();
  $du = "sip:10.1.8.1:5060";
  t_relay();
}
"#;
