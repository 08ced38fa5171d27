//! A translator of addresses and ports (NAT) between the two hosts: Linux, which masquerades what comes from inside.

use std::thread::JoinHandle;

use crate::network::{FIXED, Network, Side, ip, spawn_in, unless_refused};

/// The address that the roaming host is seen at.
pub(crate) const OUTSIDE: &str = "198.51.100.1";

/// The third host; it vanishes with this.
#[derive(Debug)]
pub(crate) struct Translator {
    name: String,
}

impl Translator {
    /// Leads the roaming host, which is nowhere yet, to the fixed one; `None` where that is refused.
    pub(crate) fn between(network: &Network) -> Option<Self> {
        let [roaming, fixed] = [Side::Roaming, Side::Fixed].map(|side| network.name(side));
        let translator = Self { name: format!("{roaming}-nat") };
        unless_refused(translator.make(&roaming, &fixed), "the commands `ip` and `nft` are")
            .map(|()| translator)
    }

    fn make(&self, roaming: &str, fixed: &str) -> Result<(), String> {
        let name = &self.name;
        for words in [
            format!("netns add {name}"),
            format!("-n {roaming} link add lan0 type veth peer name inside netns {name}"),
            format!("-n {fixed} link add wan0 type veth peer name outside netns {name}"),
            format!("-n {roaming} address add 10.71.8.2/24 dev lan0"),
            format!("-n {roaming} link set lan0 up"),
            format!("-n {name} address add 10.71.8.1/24 dev inside"),
            format!("-n {name} link set inside up"),
            format!("-n {name} address add {OUTSIDE}/24 dev outside"),
            format!("-n {fixed} address add 198.51.100.9/24 dev wan0"),
            format!("-n {fixed} link set wan0 up"),
            format!("-n {roaming} route add default via 10.71.8.1"),
            format!("netns exec {name} sysctl -q -w net.ipv4.ip_forward=1"),
        ] {
            ip(&words)?;
        }
        self.translate_to(4000)
    }

    /// Forgets every flow, and gives those that come this port from now on. A masquerade forgets what went by an interface that is
    /// switched off.
    pub(crate) fn translate_to(&self, port: u16) -> Result<(), String> {
        let name = &self.name;
        let table = "table ip translator";
        ip(&format!(
            "netns exec {name} nft add {table} ; flush {table} ; \
             add chain ip translator out {{ type nat hook postrouting priority srcnat ; }} ; \
             add rule ip translator out ip saddr 10.71.8.2 meta l4proto udp masquerade to :{port}"
        ))?;
        ip(&format!("-n {name} link set outside down"))?;
        ip(&format!("-n {name} link set outside up"))?;
        ip(&format!("-n {name} route replace {} via 198.51.100.9", FIXED[0]))
    }

    /// Does something on a thread of its own in the translator's namespace.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        spawn_in(&self.name, work)
    }
}

impl Drop for Translator {
    fn drop(&mut self) {
        let _not_made = ip(&format!("netns del {}", self.name));
    }
}
