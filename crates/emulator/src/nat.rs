//! The way from an emulated link to what the host reaches: forwarding, and the host's address instead of the link's.
//!
//! What changes on the host: a table of its own in nftables, and the parameter `forwarding` of those network devices where it
//! is off. Rules of the host are left alone; where they forbid forwarding, it stays forbidden. A small process of its own
//! (`sh`) makes the changes and takes them back as soon as the pipe from here is closed: however this process ends, the
//! kernel closes it. IPv6 is not forwarded: a host that does so no longer listens to its routers.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

use super::error::EmulatorError;
use super::link::LinkEnd;

/// Whether what is behind a link reaches more than the host at its other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Outside {
    /// Nothing is routed further.
    #[default]
    Unreachable,
    /// The side reaches whatever the host reaches by IPv4, with the host's addresses. Needs root in the host's
    /// own network, and `nft`.
    Translated,
}

/// Translation at work for one link, in the network namespace where it was begun. Dropped, it ends.
#[derive(Debug)]
pub(super) struct Translation {
    guardian: Child,
    /// Closed, it tells the guardian to take back what it has changed.
    hold: Option<ChildStdin>,
}

impl Translation {
    /// Begins to translate what comes from the client's end of link `index`.
    pub(super) fn begin(index: u8) -> Result<Self, EmulatorError> {
        let failed = |because: String| EmulatorError::Translation { because };
        let (near, far) = (LinkEnd::client(index), LinkEnd::server(index));
        let mut guardian = Command::new("sh")
            .args(["-c", SCRIPT, "sh"])
            .args([far.device_name(), near.ipv4().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for the command; the guardian goes last.
            .process_group(0)
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let hold = guardian.stdin.take();
        let mut said = String::new();
        if let Some(output) = guardian.stdout.take() {
            BufReader::new(output).read_line(&mut said).map_err(|error| failed(error.to_string()))?;
        }
        let mut translation = Self { guardian, hold };
        if said.trim() == READY { Ok(translation) } else { Err(failed(translation.complaint())) }
    }

    /// Takes back what was changed, and waits until that is done.
    pub(super) fn end(mut self) -> Result<(), EmulatorError> {
        let complaint = self.complaint();
        if complaint.is_empty() { Ok(()) } else { Err(EmulatorError::Translation { because: complaint }) }
    }

    fn complaint(&mut self) -> String {
        drop(self.hold.take());
        let mut complaint = String::new();
        if let Some(mut errors) = self.guardian.stderr.take() {
            let _cut_short: io::Result<usize> = errors.read_to_string(&mut complaint);
        }
        let _reaped = self.guardian.wait();
        complaint.trim().to_owned()
    }
}

impl Drop for Translation {
    fn drop(&mut self) {
        self.complaint();
    }
}

/// `$1` is the device here, `$2` the address at the other end. Devices that come later are not of interest.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
switched=
# A device may go at any moment, and what is gone needs nothing.
put() {
  { echo "$1" > "$2"; } 2>/dev/null || [ ! -e "$2" ] || { echo "$2 cannot be set to $1" >&2; return 1; }
}
take_back() {
  for parameter in $switched; do put 0 "$parameter"; done
  nft delete table ip "$1" 2>/dev/null
}
command -v nft >/dev/null || { echo 'the program nft is missing: install nftables' >&2; exit 1; }
nft -f - <<RULES || exit 1
create table ip $1
add chain ip $1 translate { type nat hook postrouting priority 100; }
add rule ip $1 translate ip saddr $2 oifname != "$1" masquerade
RULES
for parameter in /proc/sys/net/ipv4/conf/*/forwarding; do
  case $parameter in */all/*|*/default/*|*/lo/*) continue;; esac
  [ "$(cat "$parameter" 2>/dev/null)" = 0 ] || continue
  put 1 "$parameter" || { take_back "$1"; exit 1; }
  switched="$switched $parameter"
done
echo ready
read -r _
take_back "$1"
"#;
const READY: &str = "ready";
