//! The kernel refuses: 0x034A, and nothing half done.

use simco::{Direction, Location, NegativeCode, PolicyRequest};
use simco_agent::{RequestError, SimcoAgent};
use tokio::task::JoinSet;

use crate::agent::{alice, enable, lifetime, make, pinhole, tuple, with_agents};
use crate::daemon::{Daemon, Folder, NFTABLES, Over};
use crate::namespace::Namespace;
use crate::oracle::assert_agreement;

const REFUSED: RequestError = RequestError::Refused(NegativeCode::ConfigurationFailed);

/// A pinhole from everywhere, in a set of its own.
fn odd(port: u16) -> PolicyRequest {
    let internal = tuple(Location::INTERNAL, "10.1.8.3", 32, port, 1);
    enable(internal, tuple(Location::EXTERNAL, "0.0.0.0", 0, 0, 1), Direction::Inbound, 60)
}

/// What alice does with a daemon on nftables; nothing where there are no rights for one.
fn with_alice(daemon: Daemon, namespace: &Namespace, work: impl AsyncFnOnce(&Namespace, SimcoAgent) + Send) {
    let middlebox = daemon.middlebox(Over::Tcp);
    with_agents(Some(namespace), async || work(namespace, alice(&middlebox).await.0).await);
    daemon.stop();
}

#[test]
fn what_the_kernel_refuses_changes_nothing_and_harms_no_other_request() {
    let Some(namespace) = Namespace::new() else { return };
    let folder = Folder::new(NFTABLES);
    let daemon = Daemon::start(&folder, Some(&namespace));
    with_alice(daemon, &namespace, async |_, agent| {
        let rule = make(&agent, odd(1)).await;
        agent.request(lifetime(rule, 0)).await.unwrap();
    });
    // While there is no daemon a set becomes one that takes no timed elements.
    for chain in ["in_4_in", "out_4_in", "begun_inside_4_in", "begun_outside_4_in"] {
        namespace.nft(&["flush", "chain", "inet", "headway", chain]).unwrap();
    }
    namespace.nft(&["delete", "set", "inet", "headway", "in_4_32_0_p_16_0"]).unwrap();
    let kind = "{ type ipv4_addr . inet_proto . inet_service; }";
    namespace.nft(&["add", "set", "inet", "headway", "in_4_32_0_p_16_0", kind]).unwrap();
    let daemon = Daemon::start(&folder, Some(&namespace));
    with_alice(daemon, &namespace, async |namespace, agent| {
        assert_eq!(agent.request(odd(2)).await, Err(REFUSED));
        assert!(assert_agreement(namespace, &agent).await.rules.is_empty());
        // Many at once share a transaction; the one that is refused takes nobody with it.
        let mut together = JoinSet::new();
        for port in 1..=50 {
            let (agent, request) = (agent.clone(), if port == 25 { odd(port) } else { pinhole(port, 0, 60) });
            together.spawn(async move { agent.request(request).await });
        }
        let outcomes = together.join_all().await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 49);
        assert!(outcomes.contains(&Err(REFUSED)));
        assert_eq!(assert_agreement(namespace, &agent).await.rules.len(), 49);
    });
}
