//! Agents over TLS.

use rcgen::{CertifiedKey, generate_simple_self_signed};
use simco::NegativeCode;
use simco::agent::AgentCloseReason;
use simco_agent::{ConnectError, SimcoAgent, TlsTrust};

use crate::agent::{list, make, pinhole, settings, with_agents};
use crate::daemon::{ALICE, Daemon, Folder, Over};

/// A folder whose daemon speaks TLS, and what an agent has to believe.
fn folder(extra: &str) -> (Folder, String) {
    let names = vec!["127.0.0.1".to_owned(), "middlebox.example".to_owned()];
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
    let folder = Folder::new(&format!("[tls]\ncertificate = \"tls.pem\"\nkey = \"tls.key\"\n{extra}"));
    folder.write("tls.pem", &cert.pem());
    folder.write("tls.key", &signing_key.serialize_pem());
    (folder, cert.pem())
}

#[test]
fn rules_come_and_go_over_tls() {
    let (folder, certificate) = folder("");
    let daemon = Daemon::start(&folder, None);
    let middlebox = daemon.middlebox(Over::Tcp);
    with_agents(None, async || {
        for name in ["127.0.0.1", "middlebox.example"] {
            let trust = TlsTrust::new(certificate.as_bytes(), name).unwrap();
            let connecting = SimcoAgent::connect_tls(&middlebox, &trust, settings("alice", ALICE));
            let (agent, _events) = connecting.await.unwrap();
            let mut together = tokio::task::JoinSet::new();
            for port in 1..=300 {
                let agent = agent.clone();
                together.spawn(async move { make(&agent, pinhole(port, 0, 60)).await });
            }
            let mut rules = together.join_all().await;
            rules.sort_unstable();
            assert!(list(&agent).await.ends_with(&rules));
            agent.terminate().await;
        }
    });
    daemon.stop();
}

#[test]
fn a_middlebox_with_another_certificate_or_name_is_not_believed() {
    let (folder, certificate) = folder("");
    let daemon = Daemon::start(&folder, None);
    let middlebox = daemon.middlebox(Over::Tcp);
    let other = generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap().cert.pem();
    with_agents(None, async || {
        for (authority, name) in [(&other, "127.0.0.1"), (&certificate, "elsewhere.example")] {
            let trust = TlsTrust::new(authority.as_bytes(), name).unwrap();
            let refused = SimcoAgent::connect_tls(&middlebox, &trust, settings("alice", ALICE)).await;
            assert!(matches!(refused, Err(ConnectError::Tls { .. })), "{refused:?}");
        }
    });
    daemon.stop();
}

#[test]
fn where_encryption_is_demanded_sctp_is_refused() {
    let (folder, certificate) = folder("demanded = true");
    let daemon = Daemon::start(&folder, None);
    let (tcp, sctp) = (daemon.middlebox(Over::Tcp), daemon.middlebox(Over::Sctp));
    with_agents(None, async || {
        let trust = TlsTrust::new(certificate.as_bytes(), "127.0.0.1").unwrap();
        SimcoAgent::connect_tls(&tcp, &trust, settings("alice", ALICE)).await.unwrap();
        let refused = SimcoAgent::connect(&sctp, settings("alice", ALICE)).await.unwrap_err();
        let code = NegativeCode::InsufficientSecurity;
        assert!(
            matches!(refused, ConnectError::Session(AgentCloseReason::Refused(found)) if found == code),
            "{refused}"
        );
    });
    daemon.stop();
}

#[test]
fn handshakes_that_do_not_end_have_places_among_connections_and_lose_them() {
    let (folder, certificate) = folder("[limits]\nsessions = 8\n");
    let daemon = Daemon::start(&folder, None);
    let silent: Vec<_> = (0..20).map(|_| std::net::TcpStream::connect(daemon.tcp).unwrap()).collect();
    crate::daemon::time_until(|| {
        let page = daemon.metrics_page();
        page.contains("simco_connections 8\n") && page.contains("reason=\"displaced\"} 12\n")
    });
    let middlebox = daemon.middlebox(Over::Tcp);
    with_agents(None, async || {
        let trust = TlsTrust::new(certificate.as_bytes(), "127.0.0.1").unwrap();
        SimcoAgent::connect_tls(&middlebox, &trust, settings("alice", ALICE)).await.unwrap();
    });
    drop(silent);
    daemon.stop();
}

#[test]
fn a_certificate_that_is_none_is_named() {
    let (folder, _) = folder("");
    folder.write("tls.pem", "nothing");
    let said = std::process::Command::new(env!("CARGO_BIN_EXE_simco-middlebox"))
        .arg("--check")
        .arg(folder.path("middlebox.toml"))
        .output()
        .unwrap();
    assert!(!said.status.success());
    let said = String::from_utf8(said.stderr).unwrap();
    assert!(said.contains("tls.certificate = ") && said.contains("no certificate in it"), "{said}");
}
