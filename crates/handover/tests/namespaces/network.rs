//! Two hosts, each in a network namespace of its own: one that roams, with a WLAN and a mobile network, and a fixed one that both lead
//! to. The radios are pairs of virtual Ethernet devices.

use std::fs::File;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;

use nix::sched::{CloneFlags, setns};

/// The addresses of the fixed host, whatever network leads to it.
pub(crate) const FIXED: [&str; 2] = ["203.0.113.1", "2001:db8::1"];
/// Where the fixed host is after it has moved, too.
pub(crate) const FIXED_LATER: &str = "203.0.113.9";
pub(crate) const WLAN: Access =
    Access { interface: "wlan0", far: "net1", here: "10.71.1.2", there: "10.71.1.1", table: 101 };
pub(crate) const MOBILE: Access =
    Access { interface: "wwan0", far: "net2", here: "10.71.2.2", there: "10.71.2.1", table: 102 };
/// Another network behind the mobile interface.
pub(crate) const ELSEWHERE: Access =
    Access { interface: "wwan0", far: "net2", here: "10.71.3.2", there: "10.71.3.1", table: 103 };
/// A WLAN that knows IPv6 alone.
pub(crate) const WLAN_V6: Access =
    Access { interface: "wlan0", far: "net1", here: "fd71:4::2", there: "fd71:4::1", table: 104 };

/// A network that the roaming host can be in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    interface: &'static str,
    /// The device at the fixed host.
    far: &'static str,
    /// The roaming host's address there.
    pub(crate) here: &'static str,
    /// The fixed host's address in the same network.
    there: &'static str,
    /// The table of routes for what comes from here.
    table: u32,
}

impl Access {
    /// The address of the fixed host that this network leads to.
    fn leads_to(&self) -> &'static str {
        FIXED[usize::from(self.here.contains(':'))]
    }
}

/// An address as `ip` wants it, within its network. Nobody else can have it, so nobody is asked.
fn within_its_network(address: &str) -> String {
    if address.contains(':') { format!("{address}/64 nodad") } else { format!("{address}/24") }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Roaming,
    Fixed,
}

/// Both hosts; they vanish with this.
#[derive(Debug)]
pub(crate) struct Network {
    name: String,
}

impl Network {
    /// Two new hosts, nothing switched on at the roaming one; `None` where that is refused, which is said, and a failure
    /// where everything must run.
    pub(crate) fn new() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let network = Self { name: format!("handover-{}-{number}", std::process::id()) };
        unless_refused(network.make(), "the command `ip` is").map(|()| network)
    }

    fn make(&self) -> Result<(), String> {
        let fixed = self.name(Side::Fixed);
        ip(&format!("netns add {}", self.name(Side::Roaming)))?;
        ip(&format!("netns add {fixed}"))?;
        self.at(Side::Fixed, "link set lo up")?;
        for address in FIXED {
            self.at(Side::Fixed, &format!("address add {address} dev lo"))?;
        }
        for access in [WLAN, MOBILE] {
            let Access { interface, far, .. } = access;
            self.at(Side::Roaming, &format!("link add {interface} type veth peer name {far} netns {fixed}"))?;
            self.at(Side::Fixed, &format!("link set {far} up"))?;
        }
        for Access { far, there, .. } in [WLAN, MOBILE, ELSEWHERE, WLAN_V6] {
            self.at(Side::Fixed, &format!("address add {} dev {far}", within_its_network(there)))?;
        }
        Ok(())
    }

    /// The roaming host finds a network: its interface goes up and gets an address and routes.
    pub(crate) fn join(&self, access: Access) {
        let Access { interface, here, there, table, .. } = access;
        self.must(&format!("address replace {} dev {interface}", within_its_network(here)));
        self.must(&format!("link set {interface} up"));
        let route = format!("{} via {there} dev {interface}", access.leads_to());
        self.must(&format!("route replace {route} metric {table}"));
        self.must(&format!("route replace {route} table {table}"));
        let family = if here.contains(':') { "-6" } else { "-4" };
        let _was_there = self.at(Side::Roaming, &format!("{family} rule delete from {here} table {table}"));
        self.must(&format!("{family} rule add from {here} table {table}"));
    }

    /// The roaming host leaves the coverage of a network.
    pub(crate) fn leave(&self, access: Access) {
        self.must(&format!("link set {} down", access.interface));
    }

    /// The fixed host has another address instead of its own, to which this network leads.
    pub(crate) fn fixed_host_moves(&self, access: Access) {
        let Access { interface, there, table, .. } = access;
        self.at(Side::Fixed, &format!("address delete {}/32 dev lo", FIXED[0])).unwrap();
        self.at(Side::Fixed, &format!("address add {FIXED_LATER} dev lo")).unwrap();
        let route = format!("{FIXED_LATER} via {there} dev {interface}");
        self.must(&format!("route replace {route} metric {table}"));
        self.must(&format!("route replace {route} table {table}"));
    }

    /// The roaming host's interface loses its address.
    pub(crate) fn lose_address(&self, access: Access) {
        self.must(&format!("address delete {}/24 dev {}", access.here, access.interface));
    }

    /// Does something on a thread in one of the two, which lasts as long as it takes.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        side: Side,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        spawn_in(&self.name(side), work)
    }

    fn must(&self, words: &str) {
        self.at(Side::Roaming, words).unwrap();
    }

    fn at(&self, side: Side, words: &str) -> Result<(), String> {
        ip(&format!("-n {} {words}", self.name(side)))
    }

    pub(crate) fn name(&self, side: Side) -> String {
        let end = match side {
            Side::Roaming => "r",
            Side::Fixed => "f",
        };
        format!("{}-{end}", self.name)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for side in [Side::Roaming, Side::Fixed] {
            let _not_made = ip(&format!("netns del {}", self.name(side)));
        }
    }
}

/// Does something on a thread in a namespace, which lasts as long as it takes.
pub(crate) fn spawn_in<T: Send + 'static>(
    namespace: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let namespace = File::open(format!("/run/netns/{namespace}")).unwrap();
    std::thread::spawn(move || {
        setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
        work()
    })
}

/// What could be made; `None` where that is refused, which is said, and a failure where everything must run.
pub(crate) fn unless_refused<T>(made: Result<T, String>, needed: &str) -> Option<T> {
    made.inspect_err(|why| {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{why}");
        eprintln!("left out: {why}; root is needed, and {needed}");
    })
    .ok()
}

pub(crate) fn ip(words: &str) -> Result<(), String> {
    let output = Command::new("ip").args(words.split_whitespace()).output();
    let output = output.map_err(|error| format!("ip cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("ip {words}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
