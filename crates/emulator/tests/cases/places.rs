//! Where the ends of a link may be, and what remains of them.

use std::fs;
use std::io::Read;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use emulator::{
    CommandHandle, EmulatedLink, EmulatorError, EmulatorOptions, LinkEnd, Outside, Side, SideContext,
    SideError, World, between, run_command,
};
use netem::Impairments;

use super::child;

fn perfect(index: u8) -> EmulatedLink {
    EmulatedLink::symmetric(index, Impairments::default(), 1)
}

fn has_device(name: &str) -> bool {
    // Of this thread, which `/proc/net` is not.
    fs::read_to_string("/proc/thread-self/net/dev").unwrap().contains(name)
}

pub(crate) fn command() {
    let host = UdpSocket::bind("0.0.0.0:0").unwrap();
    let port = host.local_addr().unwrap().port();
    let echo = std::thread::spawn(move || {
        let (_, from) = host.recv_from(&mut [0; 64]).unwrap();
        host.send_to(b"pong", from).unwrap();
        from
    });
    let address = (LinkEnd::server(9).ipv4(), port).into();
    let options = EmulatorOptions::default();
    let (status, report) =
        run_command(perfect(9), child::ping(address), Outside::Unreachable, options, |_handle| {}).unwrap();
    assert!(status.success());
    assert_eq!(echo.join().unwrap().ip(), LinkEnd::client(9).ipv4());
    assert_eq!(report.links[0].request.stats.delivered, 1);
    assert_eq!(report.links[0].response.stats.delivered, 1);
    assert!(!has_device("headway9"));
}

pub(crate) fn command_ended() {
    let mut sleep = std::process::Command::new("sleep");
    sleep.arg("600");
    let end = |handle: CommandHandle| handle.terminate();
    let (status, _report) =
        run_command(perfect(8), sleep, Outside::Unreachable, EmulatorOptions::default(), end).unwrap();
    assert!(!status.success());
}

/// A namespace with a thread in it that works once it is told to; and the path of the namespace.
fn inhabited_namespace<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> (PathBuf, Sender<()>, Side<T>) {
    let (path, where_it_is): (Sender<PathBuf>, Receiver<PathBuf>) = channel();
    let (go, told): (Sender<()>, Receiver<()>) = channel();
    let mut world = World::new(Vec::new()).unwrap();
    let side = world.spawn_side("inhabitant", &[], move |_: SideContext| {
        let thread = fs::read_link("/proc/thread-self").unwrap();
        path.send(PathBuf::from("/proc").join(thread).join("ns/net")).unwrap();
        told.recv().unwrap();
        work()
    });
    let side = side.unwrap();
    world.start(EmulatorOptions::default()).unwrap();
    (where_it_is.recv().unwrap(), go, side)
}

pub(crate) fn existing_namespaces() {
    let (bound, is_bound) = channel();
    let (first, client_go, client) = inhabited_namespace(move || {
        is_bound.recv().unwrap();
        let socket = UdpSocket::bind((LinkEnd::client(3).ipv6(), 0)).unwrap();
        socket.send_to(b"hello", (LinkEnd::server(3).ipv6(), 5000)).unwrap();
    });
    let (second, server_go, server) = inhabited_namespace(move || {
        let socket = UdpSocket::bind((LinkEnd::server(3).ipv6(), 5000)).unwrap();
        bound.send(()).unwrap();
        socket.recv_from(&mut [0; 64]).unwrap().0
    });
    let emulator = between(perfect(3), &first, &second, EmulatorOptions::default()).unwrap();
    let stop = emulator.stop_handle();
    client_go.send(()).unwrap();
    server_go.send(()).unwrap();
    client.join().unwrap();
    assert_eq!(server.join().unwrap(), 5);
    stop.stop();
    assert_eq!(emulator.wait().unwrap().links[0].request.stats.delivered, 1);
}

pub(crate) fn killed_run() {
    let child = child::run_until_killed().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
    assert!(has_device("headway9"));
    child.kill().unwrap();
    child.wait().unwrap();
    // A TUN device is gone with its process, a veth pair when the kernel's worker has cleared its namespace away.
    let deadline = Instant::now() + Duration::from_secs(10);
    while has_device("headway9") {
        assert!(Instant::now() < deadline, "headway9 is still there");
        std::thread::yield_now();
    }
}

pub(crate) fn loose_end() {
    let mut world = World::new(vec![perfect(1)]).unwrap();
    let side = world.spawn_side("side", &[LinkEnd::client(1)], |_| ()).unwrap();
    let again = world.spawn_side("again", &[LinkEnd::client(1)], |_| ());
    assert!(matches!(again, Err(EmulatorError::AttachedTwice { .. })));
    let unknown = world.spawn_side("unknown", &[LinkEnd::client(2)], |_| ());
    assert!(matches!(unknown, Err(EmulatorError::UnknownLink { link: 2 })));
    assert!(matches!(world.start(EmulatorOptions::default()), Err(EmulatorError::NotAttached { .. })));
    assert_eq!(side.join(), Err(SideError::NotStarted));
    assert!(World::new(vec![perfect(1), perfect(1)]).is_err());
}
