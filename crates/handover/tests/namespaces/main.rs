//! Associations that follow their host from network to network, over real interfaces in namespaces that the tests make.
//!
//! Numbered requests are echoed all the time, one after the other; what is judged is that each comes once, at both ends, and which
//! reports came. A test that hangs fails after two minutes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a test that cannot run says why")]
#![cfg(target_os = "linux")]

mod flaps;
mod network;
mod rebinding;
mod trains;
mod translator;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use handover::{Mover, Report};
use mobility::{Action, Damping, Policies, Policy};
use sctp::{
    AddressOutcome, Association, AssociationConfig, Destination, Endpoint, EndpointConfig, Message, Offer,
    SctpPort, StartUp, StreamId,
};
use tokio::sync::watch;

use self::network::{Access, ELSEWHERE, FIXED, FIXED_LATER, MOBILE, Network, Side, WLAN, WLAN_V6};

const UDP_PORT: u16 = 9899;

fn policy(handing: &str) -> Policy {
    let text = format!(
        "[applications.test]
        handover = \"{handing}\"
        better_for_ms = 0
        primary_interval_ms = 0
        [[applications.test.prefer]]
        interface = \"wlan*\"
        [[applications.test.prefer]]
        interface = \"wwan*\"
        cost = 10"
    );
    Policies::parse(&text).unwrap().application("test")
}

fn address(access: Access) -> IpAddr {
    access.here.parse().unwrap()
}

fn config(port: u16, addresses: &[IpAddr]) -> EndpointConfig {
    config_with(port, addresses, StartUp::SlowStart)
}

fn config_with(port: u16, addresses: &[IpAddr], start_up: StartUp) -> EndpointConfig {
    let mut association = AssociationConfig::default();
    association.congestion.start_up = start_up;
    association.extensions.authentication = Offer::On;
    association.extensions.dynamic_addresses = Offer::On;
    let mut config = EndpointConfig::with_association(SctpPort::try_from(port).unwrap(), association);
    config.local_addresses = addresses.to_vec();
    config
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(120), work).await.unwrap() })
}

/// What the fixed host saw: how many requests, and the addresses of the peer at the end.
struct Seen {
    requests: u32,
    peer: Vec<IpAddr>,
}

/// Echoes the requests of one association, which have to come in their order.
fn serve() -> Seen {
    run(async {
        let at = FIXED.map(|address| address.parse().unwrap());
        let endpoint = Endpoint::builder(config(7, &at)).bind_addresses(&at, UDP_PORT).await.unwrap();
        echo(endpoint.accept().await.unwrap(), |_| ()).await
    })
}

/// Echoes the requests of an association, and tells after each where the peer is.
async fn echo(association: Association, mut tell: impl FnMut(&[Destination])) -> Seen {
    let mut seen = Seen { requests: 0, peer: Vec::new() };
    while let Some(received) = association.recv().await.unwrap() {
        assert_eq!(received.message.payload[..], seen.requests.to_be_bytes());
        seen.requests += 1;
        let status = association.status().unwrap();
        seen.peer = status.peer_addresses.iter().map(|destination| destination.address).collect();
        tell(&status.peer_addresses);
        association.send(received.message).await.unwrap();
    }
    seen
}

/// Requests that are sent all the time, each after the answer to the one before.
struct Talk {
    association: Association,
    answered: watch::Receiver<u32>,
    is_over: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<u32>,
}

impl Talk {
    fn begin(association: Association) -> Self {
        let (progress, answered) = watch::channel(0);
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let talking = association.clone();
        let task = tokio::spawn(async move {
            let mut number = 0_u32;
            while !ends.load(Ordering::SeqCst) {
                let request = number.to_be_bytes();
                talking.send(Message::ordered(StreamId::new(0), request.to_vec())).await.unwrap();
                let answer = talking.recv().await.unwrap().unwrap();
                assert_eq!(answer.message.payload[..], request);
                number += 1;
                progress.send_replace(number);
            }
            number
        });
        Self { association, answered, is_over, task }
    }

    /// Waits until a hundred more are answered.
    async fn goes_on(&mut self) {
        let goal = *self.answered.borrow() + 100;
        self.answered.wait_for(|answered| *answered >= goal).await.unwrap();
    }

    async fn end(self) -> u32 {
        self.is_over.store(true, Ordering::SeqCst);
        self.task.await.unwrap()
    }
}

/// Drives the mover until the peer has agreed to this; returns what was decided until then.
async fn until_agreed(mover: &mut Mover, wanted: Action) -> Vec<Action> {
    let mut decided = Vec::new();
    loop {
        match mover.next().await.unwrap() {
            Report::Decided(decision) => decided.push(decision.action),
            Report::Answered { action, outcome } => {
                assert_eq!(outcome, AddressOutcome::Done, "{action}");
                if action == wanted {
                    return decided;
                }
            }
            Report::Association(_) => {}
            other @ (Report::NotAsked { .. } | Report::Blind { .. } | _) => panic!("{other}"),
        }
    }
}

/// An association over the mobile network, and its mover.
async fn connect(handing: &str) -> (Association, Mover) {
    connect_with(handing, StartUp::SlowStart).await
}

async fn connect_with(handing: &str, start_up: StartUp) -> (Association, Mover) {
    let config = config_with(50_000, &[address(MOBILE)], start_up);
    let endpoint = Endpoint::bind(config, "[::]:0".parse().unwrap()).await.unwrap();
    let to = Destination::from(SocketAddr::new(FIXED[0].parse().unwrap(), UDP_PORT));
    let association = endpoint.connect(to, SctpPort::try_from(7).unwrap()).await.unwrap();
    let mover = Mover::new(&endpoint, &association, policy(handing)).unwrap();
    (association, mover)
}

/// Runs the journey of the roaming host; afterwards both ends have seen as many requests.
fn travel(
    handing: &'static str,
    journey: impl AsyncFnOnce(&Arc<Network>, &mut Mover, &mut Talk) + Send + 'static,
) -> Option<Seen> {
    let network = Arc::new(Network::new()?);
    network.join(MOBILE);
    let fixed = network.spawn(Side::Fixed, serve);
    let world = Arc::clone(&network);
    let roaming = network.spawn(Side::Roaming, move || {
        run(async {
            let (association, mut mover) = connect(handing).await;
            let mut talk = Talk::begin(association.clone());
            talk.goes_on().await;
            journey(&world, &mut mover, &mut talk).await;
            let answered = talk.end().await;
            association.shutdown().await.unwrap();
            answered
        })
    });
    let (answered, seen) = (roaming.join().unwrap(), fixed.join().unwrap());
    assert_eq!(answered, seen.requests, "nothing lost, nothing twice");
    Some(seen)
}

#[test]
fn association_follows_its_host_through_three_networks() {
    let seen = travel("make-before-break", async |network, mover, talk| {
        let [mobile, wlan, elsewhere] = [MOBILE, WLAN, ELSEWHERE].map(address);
        network.join(WLAN);
        until_agreed(mover, Action::SetPrimary(wlan)).await;
        talk.goes_on().await;
        // The network is gone without a word; the peer knows the other address already.
        network.leave(WLAN);
        let decided = until_agreed(mover, Action::SetPrimary(mobile)).await;
        assert_eq!(decided, [Action::SetPrimary(mobile)]);
        talk.goes_on().await;
        // No network for a moment, then another one.
        network.lose_address(MOBILE);
        network.join(ELSEWHERE);
        until_agreed(mover, Action::Delete(mobile)).await;
        assert_eq!(mover.handover().primary(), Some(elsewhere));
        talk.goes_on().await;
    });
    let Some(seen) = seen else { return };
    assert!(
        seen.peer.contains(&address(ELSEWHERE)) && !seen.peer.contains(&address(MOBILE)),
        "{:?}",
        seen.peer
    );
}

#[test]
fn break_before_make_leaves_the_peer_with_one_address() {
    let seen = travel("break-before-make", async |network, mover, talk| {
        let [mobile, wlan] = [MOBILE, WLAN].map(address);
        network.join(WLAN);
        let decided = until_agreed(mover, Action::Delete(mobile)).await;
        assert_eq!(decided, [Action::Add(wlan), Action::SetPrimary(wlan), Action::Delete(mobile)]);
        talk.goes_on().await;
    });
    let Some(seen) = seen else { return };
    assert_eq!(seen.peer, [address(WLAN)]);
}

/// The peer has an address of each family, and only the family of the network that is left leads to it.
#[test]
fn association_goes_on_over_ipv6_when_its_ipv4_network_is_gone() {
    let seen = travel("make-before-break", async |network, mover, talk| {
        let wlan = address(WLAN_V6);
        network.join(WLAN_V6);
        until_agreed(mover, Action::SetPrimary(wlan)).await;
        talk.goes_on().await;
        network.leave(MOBILE);
        moves_while(mover, talk).await;
        assert_eq!(mover.handover().primary(), Some(wlan));
    });
    let Some(seen) = seen else { return };
    assert!(seen.peer.contains(&address(WLAN_V6)), "{:?}", seen.peer);
}

/// Coverage is lost altogether, and comes back as it was: nobody has to be asked for anything.
#[test]
fn association_waits_for_its_network_to_come_back() {
    travel("make-before-break", async |network, mover, talk| {
        network.leave(MOBILE);
        let decided = next_decision(mover).await;
        assert_eq!(decided, Action::Hold { instead_of: None, until: None });
        network.join(MOBILE);
        let mut talk_on = std::pin::pin!(talk.goes_on());
        loop {
            tokio::select! {
                () = &mut talk_on => break,
                report = mover.next() => {
                    let report = report.unwrap();
                    assert!(!matches!(report, Report::Answered { .. } | Report::NotAsked { .. }), "{report}");
                }
            }
        }
    });
}

/// Both hosts move at the same time, and neither can tell the other. Each is told where the other one is, as by its name.
#[test]
fn association_goes_on_when_both_hosts_move_at_once() {
    let Some(network) = Network::new().map(Arc::new) else { return };
    network.join(MOBILE);
    let (name, looked_up) = watch::channel(None);
    let fixed = network.spawn(Side::Fixed, move || serve_and_move(looked_up));
    let world = Arc::clone(&network);
    let roaming = network.spawn(Side::Roaming, move || {
        run(async {
            let (association, mut mover) = connect("break-before-make").await;
            let mut talk = Talk::begin(association.clone());
            talk.goes_on().await;
            world.lose_address(MOBILE);
            world.join(ELSEWHERE);
            world.fixed_host_moves(ELSEWHERE);
            name.send_replace(Some(SocketAddr::new(address(ELSEWHERE), association.local_address().port())));
            let peer = SocketAddr::new(FIXED_LATER.parse().unwrap(), UDP_PORT);
            association.suggest_peer_addresses(&[peer.into()]).unwrap();
            until_agreed(&mut mover, Action::Delete(address(MOBILE))).await;
            talk.goes_on().await;
            let peers = association.status().unwrap().peer_addresses;
            let answered = talk.end().await;
            association.shutdown().await.unwrap();
            (answered, peers.iter().map(|destination| destination.address).collect::<Vec<_>>())
        })
    });
    let ((answered, peers), seen) = (roaming.join().unwrap(), fixed.join().unwrap());
    assert_eq!(answered, seen.requests, "nothing lost, nothing twice");
    assert_eq!(seen.peer, [address(ELSEWHERE)]);
    assert_eq!(peers, [FIXED_LATER.parse::<IpAddr>().unwrap()]);
}

/// Echoes requests like [`serve`], at another address from when on the peer's name leads elsewhere.
fn serve_and_move(mut looked_up: watch::Receiver<Option<SocketAddr>>) -> Seen {
    run(async {
        let [old, new] = [FIXED[0], FIXED_LATER].map(|address| address.parse().unwrap());
        let anywhere = SocketAddr::new("::".parse().unwrap(), UDP_PORT);
        let endpoint = Endpoint::bind(config(7, &[old]), anywhere).await.unwrap();
        let association = endpoint.accept().await.unwrap();
        let echo = tokio::spawn(echo(association.clone(), |_| ()));
        let peer = looked_up.wait_for(Option::is_some).await.unwrap().unwrap();
        endpoint.local_address_down(old);
        endpoint.local_address_up(new);
        association.add_local_address(new).unwrap();
        association.delete_local_address(old).unwrap();
        association.suggest_peer_addresses(&[peer.into()]).unwrap();
        echo.await.unwrap()
    })
}

/// Twenty times out of coverage and back. Data moves with the first flaps, until the interface is damped, and stays on the mobile network
/// from then on.
#[test]
fn network_that_comes_and_goes_is_left_alone_and_the_talk_goes_on() {
    travel("make-before-break", async |network, mover, talk| {
        let [mobile, wlan] = [MOBILE, WLAN].map(address);
        mover.set_damping(slow_to_forgive());
        let mut moves = Vec::new();
        for _ in 0..20 {
            network.join(WLAN);
            moves.extend(moves_while(mover, talk).await);
            network.leave(WLAN);
            moves.extend(moves_while(mover, talk).await);
        }
        network.join(WLAN);
        moves.extend(moves_while(mover, talk).await);
        assert_eq!(mover.handover().primary(), Some(mobile), "{moves:?}");
        let away = moves.iter().filter(|to| **to == wlan).count();
        assert!((1..=3).contains(&away), "the third flap is one too many: {moves:?}");
    });
}

/// Damps an interface from its third flap on, however long a flap takes on a busy machine.
fn slow_to_forgive() -> Damping {
    let hours = |count: u64| Duration::from_secs(count * 3_600);
    let half = Duration::from_secs(1_800);
    Damping { flap_cost: hours(1), suppress: hours(2) + half, reuse: hours(1), limit: hours(12) }
}

/// Drives the mover until a hundred more requests are answered; returns where data was moved meanwhile.
async fn moves_while(mover: &mut Mover, talk: &mut Talk) -> Vec<IpAddr> {
    let mut moves = Vec::new();
    let mut talk_on = std::pin::pin!(talk.goes_on());
    loop {
        tokio::select! {
            () = &mut talk_on => return moves,
            report = mover.next() => {
                if let Report::Decided(decision) = report.unwrap()
                    && let Action::SetPrimary(to) = decision.action
                {
                    moves.push(to);
                }
            }
        }
    }
}

async fn next_decision(mover: &mut Mover) -> Action {
    loop {
        if let Report::Decided(decision) = mover.next().await.unwrap() {
            return decision.action;
        }
    }
}
