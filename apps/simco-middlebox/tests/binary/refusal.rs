//! The kernel refuses: 0x034A, and nothing half done.

use simco::{Direction, Location, NegativeCode, PolicyRequest};
use simco_agent::{RequestError, SimcoAgent};
use tokio::task::JoinSet;

use crate::agent::{alice, enable, lifetime, list, make, pinhole, tuple, with_agents};
use crate::daemon::{Daemon, Folder, NFTABLES, Over};
use crate::namespace::Namespace;
use crate::oracle::assert_agreement;

const REFUSED: RequestError = RequestError::Refused(NegativeCode::ConfigurationFailed);

/// A pinhole in a set of its own kind.
fn odd(port: u16) -> PolicyRequest {
    let internal = tuple(Location::INTERNAL, "10.1.8.3", 32, port, 1);
    enable(internal, tuple(Location::EXTERNAL, "203.0.113.0", 24, 0, 1), Direction::Inbound, 60)
}

/// What alice does with a daemon on nftables; nothing where there are no rights for one.
fn with_alice(work: impl AsyncFnOnce(&Namespace, SimcoAgent) + Send) {
    let Some(namespace) = Namespace::new() else { return };
    let folder = Folder::new(NFTABLES);
    let daemon = Daemon::start(&folder, Some(&namespace));
    let middlebox = daemon.middlebox(Over::Tcp);
    with_agents(Some(&namespace), async || work(&namespace, alice(&middlebox).await.0).await);
    daemon.stop();
}

#[test]
fn what_the_kernel_refuses_changes_nothing_and_harms_no_other_request() {
    with_alice(async |namespace, agent| {
        let rule = make(&agent, odd(1)).await;
        agent.request(lifetime(rule, 0)).await.unwrap();
        // Behind the daemon's back the set disappears.
        for chain in ["in_4_in", "out_4_in", "error_in_4_in", "error_out_4_in"] {
            namespace.nft(&["flush", "chain", "inet", "headway", chain]).unwrap();
        }
        namespace.nft(&["delete", "set", "inet", "headway", "in_4_32_24_p_16_0"]).unwrap();
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

#[test]
fn without_its_table_the_daemon_grants_nothing() {
    with_alice(async |namespace, agent| {
        let rule = make(&agent, pinhole(1, 0, 60)).await;
        namespace.nft(&["delete", "table", "inet", "headway"]).unwrap();
        assert_eq!(agent.request(pinhole(2, 0, 60)).await, Err(REFUSED));
        assert_eq!(agent.request(lifetime(rule, 120)).await, Err(REFUSED));
        assert_eq!(list(&agent).await, [rule]);
    });
}
