//! SIGHUP: keys change, agents come and go, sessions go on.

use simco::NegativeCode;
use simco::agent::{AgentCloseReason, AgentEvent};
use simco_agent::{ConnectError, RequestError, SimcoAgent};

use crate::agent::{alice, list, make, pinhole, settings, time_until, with_agents};
use crate::daemon::{ALICE, BOSS, Daemon, Folder, Over, hex};

const NEW: u8 = 0xA2;

#[test]
fn a_key_is_exchanged_without_dropping_the_session() {
    let folder = Folder::new("");
    let daemon = Daemon::start(&folder, None);
    for (over, old, new) in [(Over::Tcp, ALICE, NEW), (Over::Sctp, NEW, ALICE)] {
        let middlebox = daemon.middlebox(over);
        with_agents(None, async || {
            let connect = async |key| SimcoAgent::connect(&middlebox, settings("alice", key)).await;
            let (agent, _events) = connect(old).await.unwrap();
            let rule = make(&agent, pinhole(4000, 0, 60)).await;
            folder.write("alice.key", &hex(new));
            daemon.reload();
            time_until(async || connect(new).await.is_ok()).await;
            let refused = connect(old).await.unwrap_err();
            // The middlebox proves itself with the new key, which the agent does not know.
            let expected = matches!(refused, ConnectError::Session(AgentCloseReason::NotAuthenticated));
            assert!(expected, "{refused}");
            assert!(list(&agent).await.contains(&rule));
            make(&agent, pinhole(4001, 0, 60)).await;
        });
    }
    daemon.stop();
}

#[test]
fn a_configuration_with_a_fault_changes_nothing() {
    let folder = Folder::new("");
    let daemon = Daemon::start(&folder, None);
    let middlebox = daemon.middlebox(Over::Tcp);
    folder.write("alice.key", "not a key");
    daemon.reload();
    crate::daemon::time_until(|| folder.read("log").contains("the configuration stays as it was"));
    assert!(folder.read("log").contains("agents.alice.key_file"));
    with_agents(None, async || assert!(alice(&middlebox).await.1.is_empty()));
    daemon.stop();
}

#[test]
fn the_audit_log_is_opened_again_and_says_who_did_what() {
    let folder = Folder::new("[audit]\nfile = \"audit\"\n");
    let daemon = Daemon::start(&folder, None);
    let middlebox = daemon.middlebox(Over::Tcp);
    with_agents(None, async || {
        let (alice, _events) = SimcoAgent::connect(&middlebox, settings("alice", ALICE)).await.unwrap();
        make(&alice, pinhole(4000, 0, 60)).await;
        // As logrotate does it.
        std::fs::rename(folder.path("audit"), folder.path("audit.1")).unwrap();
        let configuration = folder.read("middlebox.toml");
        folder.write(
            "middlebox.toml",
            &format!("[limits]\nrules = 1\n[service]\nprotocols = [\"udp\"]\n{configuration}"),
        );
        daemon.reload();
        time_until(async || folder.path("audit").exists() && folder.read("audit").contains("reloaded")).await;
        let refused = alice.request(pinhole(4001, 0, 60)).await.unwrap_err();
        assert_eq!(refused, RequestError::Refused(NegativeCode::NoResources), "the new limit holds");
    });
    daemon.stop();
    let (before, after) = (folder.read("audit.1"), folder.read("audit"));
    assert!(
        before.contains("\"agent\":\"alice\"") && before.contains("\"address\":\"127.0.0.1\""),
        "{before}"
    );
    assert!(before.contains("session_opened"), "{before}");
    assert!(after.contains("\"event\":\"refused\"") && after.contains("0x0342"), "{after}");
    assert!(folder.read("log").contains("restart=\"service\""), "{}", folder.read("log"));
}

#[test]
fn an_agent_that_is_taken_off_the_list_loses_its_session_and_keeps_no_other() {
    let folder = Folder::new("");
    let daemon = Daemon::start(&folder, None);
    let middlebox = daemon.middlebox(Over::Tcp);
    with_agents(None, async || {
        let (alice, mut events) = SimcoAgent::connect(&middlebox, settings("alice", ALICE)).await.unwrap();
        let (boss, _events) = SimcoAgent::connect(&middlebox, settings("boss", BOSS)).await.unwrap();
        let rule = make(&alice, pinhole(4000, 0, 60)).await;
        let configuration = folder.read("middlebox.toml");
        folder.write("middlebox.toml", &configuration.replace("may_disable = true", "may_connect = false"));
        daemon.reload();
        let reason = loop {
            if let AgentEvent::Closed { reason } = events.next().await.unwrap() {
                break reason;
            }
        };
        assert_eq!(reason, AgentCloseReason::TerminatedByMiddlebox);
        let refused = SimcoAgent::connect(&middlebox, settings("alice", ALICE)).await.unwrap_err();
        let code = NegativeCode::NoAuthorization;
        assert!(
            matches!(refused, ConnectError::Session(AgentCloseReason::Refused(found)) if found == code),
            "{refused}"
        );
        assert_eq!(list(&boss).await, [rule]);
    });
    daemon.stop();
}
