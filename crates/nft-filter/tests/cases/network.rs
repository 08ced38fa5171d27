//! Three namespaces, `inside – middlebox – outside`, and packets between them.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns};
use serde_json::Value;
use socket2::{Domain, Socket, Type};

/// Whether namespaces can be had here.
pub(crate) fn rights() -> Result<(), String> {
    let name = format!("headway-probe-{}", std::process::id());
    ip(&format!("netns add {name}"))
        .map_err(|why| format!("no network namespace can be made: {why}; root is needed"))?;
    let listed = Command::new("ip").args(["netns", "exec", &name, "nft", "list", "ruleset"]).output();
    let _ = ip(&format!("netns del {name}"));
    match listed {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("nft does not work: {}", String::from_utf8_lossy(&output.stderr))),
        Err(error) => Err(format!("nft cannot be started: {error}; install nftables")),
    }
}

/// The namespaces of one test; they vanish with it.
#[derive(Debug)]
pub(crate) struct Network {
    prefix: String,
}

/// One of the namespaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spot {
    Inside,
    Middlebox,
    Outside,
}

/// Which of a pair of hosts speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    In,
    Out,
}

impl Network {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let network = Self { prefix: format!("headway-{}-{number}", std::process::id()) };
        for spot in [Spot::Inside, Spot::Middlebox, Spot::Outside] {
            ip(&format!("netns add {}", network.name(spot))).unwrap();
            network.ip(spot, "link set lo up");
        }
        network.join(Spot::Inside, "in0", &["10.1.0.1/24", "fd01::1/64"], &INSIDE);
        network.join(Spot::Outside, "out0", &["203.0.113.1/24", "2001:db8:9::1/64"], &OUTSIDE);
        network.within(Spot::Middlebox, || {
            for key in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
                std::fs::write(format!("/proc/sys/net/{key}"), "1").unwrap();
            }
        });
        network
    }

    /// Joins a host to the middlebox. Everybody knows everybody's hardware address: nothing has to wait for an answer.
    fn join(&self, host: Spot, device: &str, gateway: &[&str; 2], addresses: &[&str]) {
        let (middlebox, other) = (self.name(Spot::Middlebox), self.name(host));
        let peer = format!("peer name eth0 address {HARDWARE_HOST} netns {other}");
        ip(&format!("-n {middlebox} link add {device} address {HARDWARE_BOX} type veth {peer}")).unwrap();
        let ends = [(Spot::Middlebox, device, HARDWARE_HOST), (host, "eth0", HARDWARE_BOX)];
        for (spot, device, _) in ends {
            self.ip(spot, &format!("link set {device} up"));
        }
        for (own, others, (spot, device, hardware)) in
            [(&gateway[..], addresses, ends[0]), (addresses, &gateway[..], ends[1])]
        {
            for address in own {
                let nodad = if address.contains(':') { "nodad" } else { "" };
                self.ip(spot, &format!("addr add {address} dev {device} {nodad}"));
            }
            for address in others.iter().map(|address| without_prefix(address)) {
                self.ip(
                    spot,
                    &format!("neigh replace {address} lladdr {hardware} dev {device} nud permanent"),
                );
            }
        }
        for gateway in gateway {
            self.ip(host, &format!("route add default via {}", without_prefix(gateway)));
        }
    }

    fn name(&self, spot: Spot) -> String {
        format!("{}-{spot:?}", self.prefix)
    }

    /// `ip` in a namespace.
    pub(crate) fn ip(&self, spot: Spot, words: &str) {
        let family = if words.starts_with("route") && words.contains(':') { "-6 " } else { "" };
        ip(&format!("{family}-n {} {words}", self.name(spot))).unwrap();
    }

    /// `nft` in the middlebox. A table without a filter may be owned for a moment still: a process that another test starts
    /// has the filter's socket until it is itself.
    pub(crate) fn nft(&self, arguments: &[&str]) -> String {
        let (middlebox, start) = (self.name(Spot::Middlebox), Instant::now());
        let run = || {
            Command::new("ip").args(["netns", "exec", &middlebox, "nft"]).args(arguments).output().unwrap()
        };
        let is_owned = |output: &std::process::Output| {
            String::from_utf8_lossy(&output.stderr).contains("Operation not permitted")
        };
        let mut output = run();
        while is_owned(&output) && start.elapsed() < PATIENCE {
            output = run();
        }
        assert!(output.status.success(), "nft {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Has nft load a text in the middlebox; what it lists then.
    pub(crate) fn load(&self, text: &str) -> String {
        let path = std::env::temp_dir().join(format!("{}.nft", self.prefix));
        std::fs::write(&path, text).unwrap();
        self.nft(&["-f", path.to_str().unwrap()]);
        std::fs::remove_file(path).unwrap();
        self.nft(&["-s", "list", "ruleset"])
    }

    /// The elements of our sets by the set's name, as nft reads them.
    pub(crate) fn elements(&self) -> Vec<(String, Value)> {
        let listed: Value =
            serde_json::from_str(&self.nft(&["-j", "list", "table", "inet", "headway"])).unwrap();
        let objects = listed["nftables"].as_array().unwrap().iter();
        let sets = objects.filter_map(|object| object.get("set").or_else(|| object.get("map")));
        sets.filter(|set| set["name"] != "inside")
            .flat_map(|set| {
                let name = set["name"].as_str().unwrap().to_owned();
                let elements = set["elem"].as_array().cloned().unwrap_or_default();
                elements.into_iter().map(move |element| (name.clone(), element))
            })
            .collect()
    }

    /// Does something on a thread in a namespace.
    pub(crate) fn within<T: Send>(&self, spot: Spot, work: impl FnOnce() -> T + Send) -> T {
        let namespace = File::open(format!("/run/netns/{}", self.name(spot))).unwrap();
        std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
                work()
            });
            thread.join().unwrap()
        })
    }

    pub(crate) fn udp(&self, spot: Spot, at: SocketAddr) -> UdpSocket {
        self.within(spot, || {
            let socket = bind(|| UdpSocket::bind(at));
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            socket
        })
    }

    pub(crate) fn listen(&self, spot: Spot, at: SocketAddr) -> TcpListener {
        self.within(spot, || bind(|| TcpListener::bind(at)))
    }

    /// Whether a datagram passes between a socket inside and a socket outside.
    pub(crate) fn udp_passes(&self, way: Way, inside: &str, outside: &str) -> bool {
        let to = self.send_datagram(way, socket_address(inside), socket_address(outside));
        self.wait_for_marker(way);
        arrives_now(&to)
    }

    /// Sends a datagram between two new sockets; gives the one that it is meant for.
    pub(crate) fn send_datagram(&self, way: Way, inside: SocketAddr, outside: SocketAddr) -> UdpSocket {
        let (near, far) = (self.udp(Spot::Inside, inside), self.udp(Spot::Outside, outside));
        let (from, to, target) = match way {
            Way::In => (far, near, inside),
            Way::Out => (near, far, outside),
        };
        from.send_to(b"probe", target).unwrap();
        to
    }

    /// Whether a TCP connection can be opened this way.
    pub(crate) fn tcp_opens(&self, way: Way, inside: &str, outside: &str) -> bool {
        let (inside, outside) = (socket_address(inside), socket_address(outside));
        let (client, server, from, to) = match way {
            Way::In => (Spot::Outside, Spot::Inside, outside, inside),
            Way::Out => (Spot::Inside, Spot::Outside, inside, outside),
        };
        let listener = self.listen(server, to);
        let connecting = self.start_connecting(client, from, to);
        self.wait_for_marker(way);
        // The answer to the first segment needs the way back, too.
        self.wait_for_marker(if way == Way::In { Way::Out } else { Way::In });
        let is_open = connecting.peer_addr().is_ok();
        drop((connecting, listener));
        self.wait_until_closed(client, from.port());
        self.wait_until_closed(server, to.port());
        is_open
    }

    /// Waits until no TCP socket has the port. One that is closed may live on, in a process that another test starts,
    /// and answers there what is meant for the next.
    fn wait_until_closed(&self, spot: Spot, port: u16) {
        let ending = format!(":{port:04X}");
        let has_port =
            |line: &str| line.split_whitespace().nth(1).is_some_and(|local| local.ends_with(&ending));
        let sockets =
            |table: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap();
        self.within(spot, || {
            time_until(|| !["tcp", "tcp6"].iter().any(|table| sockets(table).lines().any(has_port)));
        });
    }

    /// A connection with both ends, opened this way.
    pub(crate) fn tcp(&self, way: Way, inside: &str, outside: &str) -> (TcpStream, TcpStream) {
        let (inside, outside) = (socket_address(inside), socket_address(outside));
        let (client, server, from, to) = match way {
            Way::In => (Spot::Outside, Spot::Inside, outside, inside),
            Way::Out => (Spot::Inside, Spot::Outside, inside, outside),
        };
        let listener = self.listen(server, to);
        let connecting = self.start_connecting(client, from, to);
        let (accepted, _) = listener.accept().unwrap();
        connecting.set_nonblocking(false).unwrap();
        let mut connected = TcpStream::from(connecting);
        for stream in [&accepted, &connected] {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
        }
        connected.write_all(b"x").unwrap();
        let mut accepted = accepted;
        accepted.read_exact(&mut [0]).unwrap();
        match way {
            Way::In => (accepted, connected),
            Way::Out => (connected, accepted),
        }
    }

    /// A connection from one address to another.
    pub(crate) fn connect(&self, spot: Spot, from: SocketAddr, to: SocketAddr) -> TcpStream {
        let socket = self.start_connecting(spot, from, to);
        socket.set_nonblocking(false).unwrap();
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    fn start_connecting(&self, spot: Spot, from: SocketAddr, to: SocketAddr) -> Socket {
        self.within(spot, || {
            let socket = Socket::new(Domain::for_address(to), Type::STREAM, None).unwrap();
            socket.set_reuse_address(true).unwrap();
            bind(|| socket.bind(&from.into()));
            socket.set_nonblocking(true).unwrap();
            match socket.connect(&to.into()) {
                Err(error) if error.raw_os_error() == Some(EINPROGRESS) => socket,
                other => panic!("{other:?}"),
            }
        })
    }

    /// Waits for a datagram that the tests' own pinhole lets pass: whatever was sent before has arrived or never will.
    pub(crate) fn wait_for_marker(&self, way: Way) {
        let to = self.send_datagram(way, socket_address(MARKER_INSIDE), socket_address(MARKER_OUTSIDE));
        receive(&to).unwrap();
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for spot in [Spot::Inside, Spot::Middlebox, Spot::Outside] {
            let _ = ip(&format!("netns del {}", self.name(spot)));
        }
    }
}

/// Binds. A port may be taken for a moment: a process that another test starts has our sockets until it is itself.
fn bind<T>(attempt: impl Fn() -> io::Result<T>) -> T {
    let start = Instant::now();
    loop {
        match attempt() {
            Ok(bound) => return bound,
            Err(error) if error.kind() == ErrorKind::AddrInUse && start.elapsed() < PATIENCE => {
                std::thread::yield_now();
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Waits for a datagram; its length and its sender. A receive with a timeout ends for any signal, even one that is
/// ignored, and other tests' children send theirs when they end.
pub(crate) fn receive(socket: &UdpSocket) -> io::Result<(usize, SocketAddr)> {
    let mut buffer = [0; 10_000];
    loop {
        match socket.recv_from(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            received => return received,
        }
    }
}

/// Whether something has arrived already.
pub(crate) fn arrives_now(socket: &UdpSocket) -> bool {
    socket.set_nonblocking(true).unwrap();
    let received = socket.recv(&mut [0; 16]);
    socket.set_nonblocking(false).unwrap();
    match received {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
            false
        }
    }
}

/// Calls `check` until it says yes; how long that took.
pub(crate) fn time_until(check: impl Fn() -> bool) -> Duration {
    let start = Instant::now();
    while !check() {
        assert!(start.elapsed() < PATIENCE, "it does not come to pass");
    }
    start.elapsed()
}

pub(crate) fn socket_address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

pub(crate) fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn without_prefix(address: &str) -> &str {
    address.split('/').next().unwrap()
}

fn ip(words: &str) -> io::Result<()> {
    let output = Command::new("ip").args(words.split_whitespace()).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("ip {words}: {}", String::from_utf8_lossy(&output.stderr).trim())))
}

/// Addresses of the host inside; the tests use several.
const INSIDE: [&str; 4] = ["10.1.0.2/24", "10.1.0.3/24", "10.1.0.77/24", "fd01::2/64"];
const OUTSIDE: [&str; 4] = ["203.0.113.2/24", "203.0.113.9/24", "203.0.113.130/24", "2001:db8:9::2/64"];
/// Ends of the tests' own pinhole.
pub(crate) const MARKER_INSIDE: &str = "10.1.0.2:9";
pub(crate) const MARKER_OUTSIDE: &str = "203.0.113.2:9";
const HARDWARE_BOX: &str = "02:00:00:00:00:01";
const HARDWARE_HOST: &str = "02:00:00:00:00:02";
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
const EINPROGRESS: i32 = 115;
