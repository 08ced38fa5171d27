//! A daemon that a test has started, and what it tells.

use std::io::{BufRead as _, BufReader, ErrorKind};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// A folder with a configuration, and with the socket; it vanishes with this.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// A folder of its own; the text of the configuration may have a table `daemon`, to which the path of the socket is added.
    pub(crate) fn new(text: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mobilityd-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = Self(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&folder.0).unwrap();
        folder.configure(text);
        folder
    }

    pub(crate) fn configure(&self, text: &str) {
        let socket = format!("[daemon]\nsocket = '{}'\n", self.socket().display());
        let rest = text.strip_prefix("[daemon]\n").unwrap_or(text);
        std::fs::write(self.configuration(), socket + rest).unwrap();
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.0.join("socket")
    }

    fn configuration(&self) -> PathBuf {
        self.0.join("mobilityd.toml")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_mobilityd"))
}

/// What `mobilityd explain` says, on whichever stream.
pub(crate) fn explain(arguments: &[&str]) -> String {
    let output = program().arg("explain").args(arguments).output().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// A daemon; it is killed with this.
pub(crate) struct Daemon {
    child: Child,
    /// The first line that it told.
    pub(crate) first: Value,
}

impl Daemon {
    /// Starts one, in the network namespace of this thread, and waits until it says that it is ready, as systemd does.
    pub(crate) fn start(folder: &Folder) -> Self {
        let notified = folder.0.join("notify");
        let _before = std::fs::remove_file(&notified);
        let systemd = UnixDatagram::bind(&notified).unwrap();
        systemd.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut command = program();
        command.arg(folder.configuration()).env("NOTIFY_SOCKET", &notified).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let mut daemon = Self { child, first: Value::Null };
        let mut state = [0; 64];
        // A process that is stopped and goes on is interrupted.
        let length = loop {
            match systemd.recv(&mut state) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                received => break received.unwrap(),
            }
        };
        assert_eq!(&state[..length], b"READY=1");
        daemon.first = Lines::of(folder).next();
        daemon
    }

    /// Starts one that cannot run; returns what it says.
    pub(crate) fn failure(folder: &Folder) -> String {
        let output = program().arg(folder.configuration()).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn kill(self) {}

    pub(crate) fn hang_up(&self) {
        self.signal(Signal::SIGHUP);
    }

    pub(crate) fn stop(mut self) -> ExitStatus {
        self.signal(Signal::SIGTERM);
        self.child.wait().unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// What a daemon tells a client.
pub(crate) struct Lines(BufReader<UnixStream>);

impl Lines {
    pub(crate) fn of(folder: &Folder) -> Self {
        let stream = UnixStream::connect(folder.socket()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(stream))
    }

    /// Connects until there is room: the daemon may not have seen yet that another client is gone.
    pub(crate) fn admitted(folder: &Folder) -> Self {
        let begin = Instant::now();
        loop {
            let mut lines = Self::of(folder);
            if lines.next()["error"].is_null() {
                return lines;
            }
            assert!(begin.elapsed() < PATIENCE, "there is no room");
            std::thread::yield_now();
        }
    }

    pub(crate) fn stream(&mut self) -> &mut UnixStream {
        self.0.get_mut()
    }

    /// The next line; `None` once the daemon has closed.
    fn read(&mut self) -> Option<Value> {
        let mut text = String::new();
        (self.0.read_line(&mut text).ok()? > 0).then(|| serde_json::from_str(&text).unwrap())
    }

    pub(crate) fn next(&mut self) -> Value {
        self.read().unwrap()
    }

    pub(crate) fn is_over(&mut self) -> bool {
        self.read().is_none()
    }

    /// The first line for which something holds. Numbers only grow.
    pub(crate) fn until(&mut self, holds: impl Fn(&Value) -> bool) -> Value {
        let (begin, mut number) = (Instant::now(), 0);
        loop {
            let line = self.next();
            let sequence = line["sequence"].as_u64().unwrap_or_else(|| panic!("{line}"));
            assert!(sequence >= number, "{line}");
            number = sequence;
            if holds(&line) {
                return line;
            }
            assert!(begin.elapsed() < PATIENCE, "{line}");
        }
    }
}

/// Much longer than anything takes, even while the machine has other work.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
