//! Three network namespaces in a row.

use std::fs::File;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sched::{CloneFlags, setns};

/// The namespaces; they vanish with this.
#[derive(Debug)]
pub(crate) struct Network {
    prefix: String,
}

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Inside,
    Middle,
    Outside,
}

impl Place {
    const fn suffix(self) -> &'static str {
        match self {
            Self::Inside => "in",
            Self::Middle => "mid",
            Self::Outside => "out",
        }
    }
}

pub(crate) const INSIDE: &str = "10.1.8.3";
pub(crate) const AGENT: &str = "10.1.8.1";
pub(crate) const OUTSIDE: &str = "198.51.100.9";
pub(crate) const INSIDE_V6: &str = "fd00:8::3";
pub(crate) const OUTSIDE_V6: &str = "2001:db8:9::9";

impl Network {
    /// Makes them; `None` where something is missing, which is said, and a failure where everything must run.
    pub(crate) fn new() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let network = Self { prefix: format!("sip{}-{number}", std::process::id()) };
        // What is no test has no use for SIPp.
        let sipp = if cfg!(test) { run("sipp", &["-v"], &[0, 99]) } else { Ok(()) };
        let made = sipp.and_then(|()| network.make());
        match made {
            Ok(()) => Some(network),
            Err(why) => {
                let is_mandatory = std::env::var("CI").is_ok_and(|value| value == "true");
                assert!(!is_mandatory, "{why}");
                eprintln!("skipped: {why}; root, `ip`, `nft` and `sipp` are needed");
                None
            }
        }
    }

    fn make(&self) -> Result<(), String> {
        for place in [Place::Inside, Place::Middle, Place::Outside] {
            ip(&["netns", "add", &self.name(place)])?;
            self.ip(place, &["link", "set", "lo", "up"])?;
        }
        self.join(Place::Inside, "in0", &format!("{INSIDE}/24"), &format!("{AGENT}/24"))?;
        self.join(Place::Outside, "out0", &format!("{OUTSIDE}/24"), "198.51.100.1/24")?;
        self.ip(Place::Inside, &["route", "add", "default", "via", AGENT])?;
        self.ip(Place::Outside, &["route", "add", "default", "via", "198.51.100.1"])?;
        let forward = self.within(Place::Middle, || std::fs::write("/proc/sys/net/ipv4/ip_forward", "1"));
        forward.map_err(|error| format!("forwarding cannot be switched on: {error}"))
    }

    /// Joins a place with the middle, whose end of the cable is called `middle`.
    fn join(&self, place: Place, middle: &str, address: &str, of_middle: &str) -> Result<(), String> {
        let (here, there) = (self.name(place), self.name(Place::Middle));
        ip(&["-n", &here, "link", "add", "eth0", "type", "veth", "peer", "name", middle, "netns", &there])?;
        self.ip(place, &["addr", "add", address, "dev", "eth0"])?;
        self.ip(place, &["link", "set", "eth0", "up"])?;
        self.ip(Place::Middle, &["addr", "add", of_middle, "dev", middle])?;
        self.ip(Place::Middle, &["link", "set", middle, "up"])
    }

    fn ip(&self, place: Place, arguments: &[&str]) -> Result<(), String> {
        let name = self.name(place);
        ip(&[&["-n", name.as_str()], arguments].concat())
    }

    /// Gives every place an address of IPv6, too.
    pub(crate) fn add_ipv6(&self) {
        for (place, own, link, middle) in [
            (Place::Inside, INSIDE_V6, "in0", "fd00:8::1"),
            (Place::Outside, OUTSIDE_V6, "out0", "2001:db8:9::1"),
        ] {
            for (place, address, device) in [(place, own, "eth0"), (Place::Middle, middle, link)] {
                self.ip(place, &["addr", "add", &format!("{address}/64"), "dev", device, "nodad"]).unwrap();
            }
            self.ip(place, &["-6", "route", "add", "default", "via", middle]).unwrap();
        }
        let all = "/proc/sys/net/ipv6/conf/all/forwarding";
        self.within(Place::Middle, || std::fs::write(all, "1")).unwrap();
    }

    /// Lays a second cable to the outside, over which the middle and it reach each other as well.
    pub(crate) fn add_path(&self) {
        let (here, there) = (self.name(Place::Outside), self.name(Place::Middle));
        ip(&["-n", &here, "link", "add", "eth1", "type", "veth", "peer", "name", "out1", "netns", &there])
            .unwrap();
        for (place, link, address) in
            [(Place::Outside, "eth1", "203.0.113.9/24"), (Place::Middle, "out1", "203.0.113.1/24")]
        {
            self.ip(place, &["addr", "add", address, "dev", link]).unwrap();
            self.ip(place, &["link", "set", link, "up"]).unwrap();
        }
    }

    /// Has a place lose what fits a rule of nftables, at a hook, until [`lose_nothing`](Self::lose_nothing).
    pub(crate) fn lose(&self, place: Place, hook: &str, what: &str) {
        let chain = format!("chain {hook} {{ type filter hook {hook} priority 0; {what} drop; }}");
        self.nft(place, &format!("table inet loss {{ {chain}; }}"));
    }

    /// How many packets each of the rules with a counter has lost so far.
    pub(crate) fn lost(&self, place: Place) -> Vec<u64> {
        let output = self.command(place, "nft").args(["list", "table", "inet", "loss"]).output().unwrap();
        let rules = String::from_utf8(output.stdout).unwrap();
        let counters = rules.split("counter packets ").skip(1);
        counters.map(|rest| rest.split(' ').next().unwrap().parse().unwrap()).collect()
    }

    pub(crate) fn lose_nothing(&self, place: Place) {
        self.nft(place, "delete table inet loss");
    }

    fn nft(&self, place: Place, command: &str) {
        let status = self.command(place, "nft").arg(command).status().unwrap();
        assert!(status.success(), "{command}");
    }

    /// Takes the cable of a place out, or puts it in again.
    pub(crate) fn set_link(&self, place: Place, state: &str) {
        self.ip(place, &["link", "set", "eth0", state]).unwrap();
    }

    fn name(&self, place: Place) -> String {
        format!("{}-{}", self.prefix, place.suffix())
    }

    /// A command that will run in a place.
    pub(crate) fn command(&self, place: Place, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(place), program]);
        command
    }

    /// Does something on a thread that stands in a place; what it starts stands there, too.
    pub(crate) fn within<T: Send>(&self, place: Place, work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let namespace = File::open(format!("/run/netns/{}", self.name(place))).unwrap();
                setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
                work()
            });
            thread.join().unwrap()
        })
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for place in [Place::Inside, Place::Middle, Place::Outside] {
            let _not_made = ip(&["netns", "del", &self.name(place)]);
        }
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    run("ip", arguments, &[0])
}

fn run(program: &str, arguments: &[&str], fine: &[i32]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("{program} cannot be started: {error}"))?;
    if output.status.code().is_some_and(|code| fine.contains(&code)) {
        return Ok(());
    }
    Err(format!("{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
