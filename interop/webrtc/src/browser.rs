//! A headless browser with an empty profile, as long as the value lives.

use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A running browser.
pub(crate) struct Browser {
    process: Child,
    profile: PathBuf,
}

impl Browser {
    /// Opens a page.
    pub(crate) fn start(program: &str, url: &str, interleaving: bool) -> io::Result<Self> {
        let profile = std::env::temp_dir().join(format!("webrtc-chromium-{}", std::process::id()));
        std::fs::create_dir(&profile)?;
        let mut command = Command::new(program);
        if interleaving {
            command.arg("--force-fieldtrials=WebRTC-DataChannelMessageInterleaving/Enabled/");
        }
        command.args(OPTIONS).arg(format!("--user-data-dir={}", profile.display())).arg(url);
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        match process {
            Ok(process) => Ok(Self { process, profile }),
            Err(error) => {
                let _left = std::fs::remove_dir_all(&profile);
                Err(io::Error::new(error.kind(), format!("cannot start {program}: {error}")))
            }
        }
    }
}

/// Ends it, and its children with it, which notice that they are alone.
impl Drop for Browser {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _gone = self.process.wait();
        let _left = std::fs::remove_dir_all(&self.profile);
    }
}

/// No display, no sandbox (we are root), nothing sent anywhere; addresses as they are, for names in mDNS nobody answers here.
const OPTIONS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-features=WebRtcHideLocalIpsWithMdns",
    "--allow-loopback-in-peer-connection",
];
