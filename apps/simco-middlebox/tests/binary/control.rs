//! An operator on the daemon's host: the Unix socket, and the table of a daemon that is gone.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};
use simco::NegativeCode;
use simco::agent::AgentEvent;
use simco_agent::{RequestError, SimcoAgent};

use crate::agent::{alice, list, make, pinhole, settings, time_until, with_agents};
use crate::daemon::{ALICE, Daemon, Folder, NFTABLES, PROGRAM, in_namespace};
use crate::guard::structure;
use crate::oracle::{assert_agreement, standing};

fn configuration() -> String {
    format!("{NFTABLES}[control]\nsocket = \"control\"\n[audit]\nfile = \"audit\"\n")
}

/// What the daemon answers.
fn ask(folder: &Folder, request: &Value) -> Value {
    let mut stream = UnixStream::connect(folder.path("control")).unwrap();
    writeln!(stream, "{request}").unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

#[test]
fn the_operator_ends_rules_and_their_agents_are_told() {
    let Some((namespace, folder, daemon, middlebox)) = in_namespace(&configuration()) else { return };
    with_agents(Some(&namespace), async || {
        let (agent, mut events) = SimcoAgent::connect(&middlebox, settings("alice", ALICE)).await.unwrap();
        let mut rules = Vec::new();
        for port in 1..=4 {
            rules.push(make(&agent, pinhole(port, 0, 60)).await);
        }
        let listed = ask(&folder, &json!({"do": "rules"}));
        assert_eq!(listed["rules"].as_array().unwrap().len(), 4);
        let first = &listed["rules"][0];
        assert_eq!(
            (&first["owner"], &first["rule"]),
            (&json!("alice"), &json!("203.0.113.9:*/udp -> 10.1.8.3:1/udp"))
        );
        assert_eq!(ask(&folder, &json!({"do": "remove", "pid": rules[1].get()})), json!({"removed": 1}));
        assert!(ask(&folder, &json!({"do": "remove", "pid": 99}))["error"].is_string());
        let gone = loop {
            if let AgentEvent::RuleEvent { rule, lifetime } = events.next().await.unwrap() {
                assert!(lifetime.is_zero());
                break rule;
            }
        };
        assert_eq!(gone, rules[1]);
        assert_eq!(assert_agreement(&namespace, &agent).await.rules.len(), 3);
        assert_eq!(ask(&folder, &json!({"do": "remove-of", "agent": "boss"})), json!({"removed": 0}));
        assert_eq!(ask(&folder, &json!({"do": "remove-all"})), json!({"removed": 3}));
        assert!(assert_agreement(&namespace, &agent).await.rules.is_empty());
    });
    assert!(ask(&folder, &json!({"do": "fly"}))["error"].as_str().unwrap().contains("not understood"));
    daemon.stop();
    let audit = folder.read("audit");
    assert_eq!(audit.matches("\"event\":\"operator\"").count(), 4, "{audit}");
    assert!(!folder.path("control").exists());
}

#[test]
fn the_operator_lets_everything_pass_or_nothing_and_pinholes_again() {
    let Some((namespace, folder, daemon, middlebox)) = in_namespace(&configuration()) else { return };
    let before = structure(&namespace);
    let forward = || namespace.nft(&["list", "chain", "inet", "headway", "forward"]).unwrap();
    with_agents(Some(&namespace), async || {
        let (agent, _) = alice(&middlebox).await;
        make(&agent, pinhole(1, 0, 60)).await;
        for (what, shows, open) in [("everything", "\t\taccept\n", 1), ("nothing", "@inside drop\n", 0)] {
            let status = ask(&folder, &json!({"do": "pass", "what": what}));
            assert_eq!(status["passing"], json!(what));
            assert!(forward().contains(shows), "{}", forward());
            assert!(daemon.metrics_page().contains(&format!("simco_filter_open {open}\n")));
            // Rules come and go meanwhile.
            make(&agent, pinhole(2, 0, 60)).await;
        }
        ask(&folder, &json!({"do": "pass", "what": "pinholes"}));
        assert_eq!(structure(&namespace), before);
        assert_eq!(assert_agreement(&namespace, &agent).await.rules.len(), 3);
    });
    daemon.stop();
}

#[test]
fn the_operator_takes_the_table_away_and_puts_it_back() {
    let Some((namespace, folder, daemon, middlebox)) = in_namespace(&configuration()) else { return };
    let before = structure(&namespace);
    with_agents(Some(&namespace), async || {
        let (agent, _) = alice(&middlebox).await;
        make(&agent, pinhole(1, 0, 60)).await;
        let status = ask(&folder, &json!({"do": "remove-table"}));
        assert!(status["table"].as_str().unwrap().contains("removed by the operator"), "{status}");
        let refused = agent.request(pinhole(2, 0, 60)).await.unwrap_err();
        assert_eq!(refused, RequestError::Refused(NegativeCode::ConfigurationFailed));
        // The guard would have written it anew by now: it looks forty times a second.
        for _ in 0..100 {
            list(&agent).await;
        }
        assert!(structure(&namespace).is_empty());
        ask(&folder, &json!({"do": "restore-table"}));
        assert_eq!(structure(&namespace), before);
        make(&agent, pinhole(2, 0, 60)).await;
        assert_eq!(assert_agreement(&namespace, &agent).await.rules.len(), 2);
    });
    daemon.stop();
}

#[test]
fn the_socket_is_its_users_alone_and_comes_back_after_a_crash() {
    let Some((namespace, folder, daemon, _)) = in_namespace(&configuration()) else { return };
    let mode = std::fs::metadata(folder.path("control")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    daemon.kill();
    assert!(folder.path("control").exists());
    let daemon = Daemon::start(&folder, Some(&namespace));
    assert_eq!(ask(&folder, &json!({"do": "status"}))["rules"], 0);
    daemon.stop();
}

#[test]
fn the_network_is_opened_again_once_the_daemon_is_stopped() {
    let Some((namespace, folder, daemon, middlebox)) = in_namespace(NFTABLES) else { return };
    with_agents(Some(&namespace), async || {
        make(&alice(&middlebox).await.0, pinhole(1, 0, 60)).await;
    });
    let remove = || {
        let configuration = folder.path("middlebox.toml");
        namespace.command(PROGRAM).arg("--remove-table").arg(configuration).output().unwrap()
    };
    let refused = remove();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("belongs to another process"), "{said}");
    assert_eq!(standing(&namespace).rules.len(), 1);
    daemon.stop();
    assert!(!structure(&namespace).is_empty());
    crate::daemon::time_until(|| remove().status.success());
    assert!(structure(&namespace).is_empty());
}

#[test]
fn metrics_and_realms_change_without_a_restart() {
    let Some((namespace, folder, daemon, middlebox)) = in_namespace(NFTABLES) else { return };
    let closed = || {
        let listed = namespace.nft(&["list", "chain", "inet", "headway", "in_4"]).unwrap();
        listed.contains("ip daddr 10.1.8.3 drop")
    };
    with_agents(Some(&namespace), async || {
        let (agent, _) = alice(&middlebox).await;
        let rule = make(&agent, pinhole(1, 0, 60)).await;
        let configuration = folder.read("middlebox.toml");
        let moved = configuration
            .replace("[metrics]\nlisten = \"127.0.0.1:0\"", "[metrics]\nlisten = \"127.0.0.2:9626\"");
        folder.write("middlebox.toml", &format!("[realms]\nclosed = [\"10.1.8.3/32\"]\n{moved}"));
        assert!(!closed());
        daemon.reload();
        time_until(async || closed()).await;
        let refused = agent.request(pinhole(2, 0, 60)).await.unwrap_err();
        assert_eq!(refused, RequestError::Refused(NegativeCode::AddressSpaceNotAvailable));
        assert_eq!(list(&agent).await, [rule], "rules that there are stay");
        let page = crate::daemon::metrics_page("127.0.0.2:9626".parse().unwrap());
        assert!(page.contains("simco_rules 1\n"), "{page}");
        assert!(std::net::TcpStream::connect(daemon.metrics).is_err(), "where they were there are none");
        folder.write("middlebox.toml", &moved);
        daemon.reload();
        time_until(async || !closed()).await;
        make(&agent, pinhole(2, 0, 60)).await;
    });
    let log = folder.read("log");
    assert!(log.contains("metrics=\"elsewhere\" realms=\"changed\" restart=\"\""), "{log}");
    daemon.stop();
}
