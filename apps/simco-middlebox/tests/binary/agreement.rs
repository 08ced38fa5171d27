//! `nft -j list` says what PRL and PRS say, after every step.

use simco::{Direction, Location, PolicyRequest};
use simco_agent::SimcoAgent;

use crate::agent::{alice, disable, enable, lifetime, make, pinhole, tuple, with_agents};
use crate::daemon::{Daemon, Folder, NFTABLES, Over};
use crate::namespace::Namespace;
use crate::oracle::{assert_agreement, until_gone};

fn every_step_over(over: Over) {
    let Some(namespace) = Namespace::new() else { return };
    let folder = Folder::new(NFTABLES);
    let daemon = Daemon::start(&folder, Some(&namespace));
    let middlebox = daemon.middlebox(over);
    with_agents(Some(&namespace), async || {
        let (agent, found) = alice(&middlebox).await;
        assert!(found.is_empty());
        assert_agreement(&namespace, &agent).await;
        pinholes_of_every_kind(&namespace, &agent).await;
        lifetimes(&namespace, &agent).await;
        blocks(&namespace, &agent).await;
    });
    daemon.stop();
}

async fn pinholes_of_every_kind(namespace: &Namespace, agent: &SimcoAgent) {
    let (near, far) = (Location::INTERNAL, Location::EXTERNAL);
    let kinds: [PolicyRequest; 6] = [
        pinhole(4000, 6000, 60),
        pinhole(4001, 0, 61),
        // The same again: rules may overlap.
        pinhole(4000, 6000, 90),
        enable(
            tuple(near, "10.1.8.3", 32, 5004, 2),
            tuple(far, "203.0.113.0", 24, 0, 1),
            Direction::Inbound,
            62,
        ),
        enable(
            tuple(near, "10.1.8.4", 32, 0, 1),
            tuple(far, "203.0.113.9", 32, 53, 1),
            Direction::Outbound,
            63,
        ),
        enable(
            tuple(near, "10.1.8.5", 32, 7000, 3),
            tuple(far, "203.0.113.9", 32, 8000, 3),
            Direction::BiDirectional,
            64,
        ),
    ];
    for (request, packets) in kinds.into_iter().zip([1, 2, 2, 4, 5, 11]) {
        make(agent, request).await;
        assert_eq!(assert_agreement(namespace, agent).await.packets.len(), packets);
    }
}

async fn lifetimes(namespace: &Namespace, agent: &SimcoAgent) {
    let rule = make(agent, pinhole(4100, 0, 60)).await;
    for seconds in [600, 30] {
        agent.request(lifetime(rule, seconds)).await.unwrap();
        assert_agreement(namespace, agent).await;
    }
    agent.request(lifetime(rule, 0)).await.unwrap();
    let after = assert_agreement(namespace, agent).await;
    assert!(!after.rules.contains(&rule.get()));
    let brief = make(agent, pinhole(4101, 0, 1)).await;
    assert_agreement(namespace, agent).await;
    until_gone(namespace, agent, brief).await;
    assert_agreement(namespace, agent).await;
}

async fn blocks(namespace: &Namespace, agent: &SimcoAgent) {
    let before = assert_agreement(namespace, agent).await;
    let block = disable(
        tuple(Location::INTERNAL, "10.1.8.3", 32, 0, 1),
        tuple(Location::EXTERNAL, "203.0.113.9", 32, 0, 1),
        60,
    );
    let block = make(agent, block).await;
    let during = assert_agreement(namespace, agent).await;
    // All pinholes for 10.1.8.3 are gone, those for others stay.
    assert_eq!(during.rules.len(), before.rules.len() - 4 + 1);
    assert!(agent.request(pinhole(4200, 0, 60)).await.is_err());
    assert_agreement(namespace, agent).await;
    agent.request(lifetime(block, 0)).await.unwrap();
    make(agent, pinhole(4200, 0, 60)).await;
    assert_agreement(namespace, agent).await;
}

#[test]
fn nft_lists_what_the_middlebox_says_over_tcp() {
    every_step_over(Over::Tcp);
}

#[test]
fn nft_lists_what_the_middlebox_says_over_sctp() {
    every_step_over(Over::Sctp);
}
