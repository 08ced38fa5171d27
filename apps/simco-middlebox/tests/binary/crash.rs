//! The daemon is killed under load and started again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use simco_agent::SimcoAgent;
use tokio::task::JoinSet;

use crate::agent::{alice, list, make, pinhole, time_until, with_agents};
use crate::daemon::{Daemon, Folder, NFTABLES, Over};
use crate::namespace::Namespace;
use crate::oracle::{assert_agreement, standing};

/// Of the pinholes every tenth is brief.
const BRIEF: u32 = 4;
const LONG: u32 = 60;

/// Pinholes that were granted, and the latest moment at which they end.
type Granted = BTreeMap<u32, Instant>;

/// Opens pinholes without a pause until 500 are granted, then kills the daemon while others are under way.
async fn kill_under_load(daemon: Daemon, agent: SimcoAgent) -> (Granted, Granted) {
    let mut under_way = JoinSet::new();
    let (mut long, mut brief, mut port) = (Granted::new(), Granted::new(), 0);
    while long.len() + brief.len() < 500 {
        while under_way.len() < 64 {
            port += 1;
            let (agent, seconds) = (agent.clone(), if port % 10 == 0 { BRIEF } else { LONG });
            under_way.spawn(async move { (agent.request(pinhole(port, 0, seconds)).await, seconds) });
        }
        let (reply, seconds) = under_way.join_next().await.unwrap().unwrap();
        let rule = reply.unwrap().rule().unwrap().0.get();
        let ends = Instant::now() + Duration::from_secs(seconds.into());
        if seconds == BRIEF { &mut brief } else { &mut long }.insert(rule, ends);
    }
    daemon.kill();
    (long, brief)
}

fn nothing_is_lost_and_nothing_stays_over(over: Over) {
    let Some(namespace) = Namespace::new() else { return };
    let folder = Folder::new(NFTABLES);
    let daemon = Daemon::start(&folder, Some(&namespace));
    let middlebox = daemon.middlebox(over);
    let (long, brief) = with_agents(Some(&namespace), async || {
        let (agent, _) = alice(&middlebox).await;
        kill_under_load(daemon, agent).await
    });
    let daemon = Daemon::start(&folder, Some(&namespace));
    let middlebox = daemon.middlebox(over);
    with_agents(Some(&namespace), async || {
        let (agent, found) = alice(&middlebox).await;
        let found: BTreeSet<u32> = found.iter().map(|rule| rule.get()).collect();
        assert!(long.keys().all(|rule| found.contains(rule)), "a rule is lost");
        let stands = assert_agreement(&namespace, &agent).await;
        assert!(long.keys().all(|rule| stands.rules.contains(rule)));
        // What was granted briefly closes in time, whoever was alive meanwhile.
        let stand_still = async || {
            let stands = standing(&namespace);
            brief.keys().any(|rule| stands.rules.contains(rule))
        };
        time_until(async || !stand_still().await).await;
        let latest = brief.values().max().unwrap();
        let late = latest.elapsed();
        assert!(late < Duration::from_secs(1), "{late:?} beyond the lifetime");
        time_until(async || list(&agent).await.iter().all(|rule| !brief.contains_key(&rule.get()))).await;
        assert_agreement(&namespace, &agent).await;
        // Numbers go on where they stopped.
        let new = make(&agent, pinhole(60_000, 0, LONG)).await;
        assert!(found.iter().all(|rule| *rule < new.get()));
    });
    daemon.stop();
}

#[test]
fn a_killed_daemon_loses_no_rule_and_leaves_none_behind_over_tcp() {
    nothing_is_lost_and_nothing_stays_over(Over::Tcp);
}

#[test]
fn a_killed_daemon_loses_no_rule_and_leaves_none_behind_over_sctp() {
    nothing_is_lost_and_nothing_stays_over(Over::Sctp);
}

#[test]
fn pinholes_end_while_the_daemon_is_dead() {
    let Some(namespace) = Namespace::new() else { return };
    let folder = Folder::new(NFTABLES);
    let daemon = Daemon::start(&folder, Some(&namespace));
    let middlebox = daemon.middlebox(Over::Tcp);
    let granted = with_agents(Some(&namespace), async || {
        let (agent, _) = alice(&middlebox).await;
        make(&agent, pinhole(4000, 0, 2)).await;
        Instant::now()
    });
    daemon.kill();
    crate::daemon::time_until(|| standing(&namespace).packets.is_empty());
    let lived = granted.elapsed().as_secs_f64();
    assert!((1.5..3.0).contains(&lived), "{lived}");
    let daemon = Daemon::start(&folder, Some(&namespace));
    let middlebox = daemon.middlebox(Over::Tcp);
    with_agents(Some(&namespace), async || assert!(alice(&middlebox).await.1.is_empty()));
    daemon.stop();
}
