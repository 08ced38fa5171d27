//! Kamailio, a stranger's proxy on the way from the caller to the agent, or from the agent to the called side.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::agent::PATIENCE;
use crate::network::{AGENT, Network, OUTSIDE, Place};

/// A proxy that sends calls on and stays on the way of their dialogs; it ends with this.
#[derive(Debug)]
pub(crate) struct Proxy {
    child: Child,
    folder: PathBuf,
}

impl Proxy {
    /// Starts it in the middle, over UDP, before the agent; `None` where it is not installed, which is said, and a failure where
    /// everything must run.
    pub(crate) fn start(network: &Network) -> Option<Self> {
        if Command::new("kamailio").arg("-v").output().is_err() {
            return skip("kamailio");
        }
        let only_udp = "fork=no\ndisable_tcp=yes\nlisten=udp:10.1.8.1:5080\n";
        let (next, port) = (format!("sip:{AGENT}:5060"), (5080, "udp"));
        Some(Self::start_with(network, Place::Middle, port, |_| only_udp.to_owned(), &next))
    }

    /// Starts one between the caller, over UDP, and the agent, over TLS; it believes the authority of `folder` only.
    pub(crate) fn secure_caller(network: &Network, folder: &Path) -> Option<Self> {
        Self::secure(network, Place::Middle, AGENT, 5081, folder, &format!("sip:{AGENT}:5061;transport=tls"))
    }

    /// Starts one between the agent, over TLS, and the called side, over UDP.
    pub(crate) fn secure_callee(network: &Network, folder: &Path) -> Option<Self> {
        Self::secure(network, Place::Outside, OUTSIDE, 5061, folder, &format!("sip:{OUTSIDE}:5060"))
    }

    fn secure(
        network: &Network,
        place: Place,
        own: &str,
        port: u16,
        folder: &Path,
        next: &str,
    ) -> Option<Self> {
        let has_tls = |entry: std::fs::DirEntry| entry.path().join("kamailio/modules/tls.so").exists();
        if !std::fs::read_dir("/usr/lib").unwrap().flatten().any(has_tls) {
            return skip("kamailio with kamailio-tls-modules");
        }
        let certificate = folder.join("tls.pem").display().to_string();
        let key = folder.join("tls.key").display().to_string();
        let settings = |work: &Path| {
            let server =
                format!("[server:default]\nmethod=TLSv1.2+\ncertificate={certificate}\nprivate_key={key}\n");
            let client =
                "[client:default]\nmethod=TLSv1.2+\nverify_certificate=yes\nrequire_certificate=yes\n";
            let file = work.join("tls.cfg");
            std::fs::write(&file, format!("{server}{client}ca_list={certificate}\n")).unwrap();
            format!(
                "children=1\ntcp_children=1\nenable_tls=yes\nlisten=udp:{own}:5080\nlisten=tls:{own}:{port}\n\
                 loadmodule \"tls.so\"\nmodparam(\"tls\", \"config\", \"{}\")\n",
                file.display()
            )
        };
        Some(Self::start_with(network, place, (port, "tcp"), settings, next))
    }

    fn start_with(
        network: &Network,
        place: Place,
        (port, protocol): (u16, &str),
        settings: impl FnOnce(&Path) -> String,
        next: &str,
    ) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("kamailio-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let settings = settings(&folder);
        let configuration = CONFIGURATION.replace("SETTINGS", &settings).replace("NEXT", next);
        std::fs::write(folder.join("kamailio.cfg"), configuration).unwrap();
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let mut command = network.command(place, "kamailio");
        command.arg("-DD").arg("-E").arg("-Y").arg(&folder).arg("-f").arg(folder.join("kamailio.cfg"));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let proxy = Self { child, folder };
        let start = std::time::Instant::now();
        // In the kernel's list of sockets.
        let file = format!("/proc/thread-self/net/{protocol}");
        let listens = || std::fs::read_to_string(&file).unwrap().contains(&format!(":{port:04X} "));
        while !network.within(place, listens) {
            assert!(start.elapsed() < PATIENCE, "the proxy does not listen: {}", proxy.log());
        }
        proxy
    }

    /// Where it is reached over UDP in the middle.
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

fn skip(needed: &str) -> Option<Proxy> {
    let is_mandatory = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!is_mandatory, "{needed} cannot be started");
    eprintln!("skipped: {needed} is needed");
    None
}

const CONFIGURATION: &str = r#"#!KAMAILIO
debug=1
log_stderror=yes
auto_aliases=no
SETTINGS
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
  $du = "NEXT";
  t_relay();
}
"#;
