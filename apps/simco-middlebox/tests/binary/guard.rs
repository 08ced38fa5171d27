//! Others change nftables: reloads, flushes, by hand; while the daemon lives, is dead, comes back.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use simco::NegativeCode;
use simco_agent::RequestError;

use crate::agent::{alice, lifetime, make, pinhole, time_until, with_agents};
use crate::daemon::{Daemon, Folder, NFTABLES, Over, PROGRAM, in_namespace};
use crate::namespace::Namespace;
use crate::oracle::{assert_agreement, standing};

/// A table that anybody may change.
const SHARED: &str = "[filter]\nkind = \"nftables\"\ninside = [\"in0\"]\ninside_may_come_later = true\nown_table = false\n[audit]\nfile = \"audit\"\n";
const REFUSED: RequestError = RequestError::Refused(NegativeCode::ConfigurationFailed);

/// What Debian's `systemctl reload nftables` loads.
fn reload_of_debian(folder: &Folder) -> std::path::PathBuf {
    folder.write(
        "nftables.conf",
        "flush ruleset\ntable inet filter {\n chain forward { type filter hook forward priority filter; }\n}\n",
    );
    folder.path("nftables.conf")
}

/// The table's chains and sets in nft's words, each by itself, without elements; the order is that of their making.
pub(crate) fn structure(namespace: &Namespace) -> Vec<String> {
    let listed = namespace.nft(&["-t", "list", "table", "inet", "headway"]).unwrap_or_default();
    let mut parts: Vec<String> = listed.split("\n\t}\n").map(|part| part.trim().to_owned()).collect();
    if let Some(first) = parts.first_mut() {
        *first = first.split_off(first.find("\tset ").unwrap_or_default()).trim().to_owned();
    }
    parts.sort();
    parts.retain(|part| part.len() > 1);
    parts
}

#[test]
fn a_reload_of_nftables_leaves_the_network_closed_and_pinholes_open() {
    let Some((namespace, folder, daemon, middlebox)) = in_namespace(NFTABLES) else { return };
    let reload = reload_of_debian(&folder);
    with_agents(Some(&namespace), async || {
        let (agent, _) = alice(&middlebox).await;
        make(&agent, pinhole(1, 0, 60)).await;
        let before = structure(&namespace);
        for port in 2..12 {
            namespace.nft(&["flush", "ruleset"]).unwrap();
            namespace.nft(&["-f", reload.to_str().unwrap()]).unwrap();
            make(&agent, pinhole(port, 0, 60)).await;
        }
        assert_eq!(assert_agreement(&namespace, &agent).await.rules.len(), 11);
        assert_eq!(structure(&namespace), before);
        for attack in
            ["flush table inet headway", "delete table inet headway", "flush chain inet headway forward"]
        {
            let refused = namespace.nft(&attack.split(' ').collect::<Vec<_>>()).unwrap_err();
            assert!(refused.contains("not permitted"), "{refused}");
        }
    });
    daemon.stop();
}

#[test]
fn a_table_that_others_may_change_is_written_anew() {
    let Some((namespace, folder, daemon, middlebox)) = in_namespace(SHARED) else { return };
    with_agents(Some(&namespace), async || {
        let (agent, _) = alice(&middlebox).await;
        for port in 1..=20 {
            make(&agent, pinhole(port, 0, 60)).await;
        }
        let (before, stood) = (structure(&namespace), standing(&namespace));
        let attacks = [
            "flush ruleset",
            "flush table inet headway",
            "delete table inet headway",
            "add chain inet headway forward { policy drop ; }",
            "insert rule inet headway forward accept",
            "add table inet headway { flags dormant ; }",
        ];
        for (count, attack) in (1..).zip(attacks) {
            namespace.nft(&attack.split(' ').collect::<Vec<_>>()).unwrap();
            let message = "the packet filter is written anew rules=20";
            time_until(async || folder.read("log").matches(message).count() == count).await;
            assert_eq!(structure(&namespace), before, "{attack}");
            assert_eq!(standing(&namespace).rules, stood.rules, "{attack}");
            assert_agreement(&namespace, &agent).await;
        }
        let page = daemon.metrics_page();
        assert!(page.contains("simco_filter_whole 1\n"), "{page}");
        assert!(page.contains("simco_filter_damages_total{kind=\"missing\"} 2\n"), "{page}");
        assert!(page.contains("simco_filter_damages_total{kind=\"changed\"} 4\n"), "{page}");
    });
    let audit = folder.read("audit");
    assert_eq!(audit.matches("filter_damaged").count(), 6, "{audit}");
    assert_eq!(audit.matches("filter_rewritten").count(), 6, "{audit}");
    daemon.stop();
}

#[test]
fn tables_of_others_come_and_go_without_a_word() {
    let Some((namespace, folder, daemon, middlebox)) = in_namespace(SHARED) else { return };
    with_agents(Some(&namespace), async || {
        let (agent, _) = alice(&middlebox).await;
        for port in 1..=30 {
            namespace.nft(&["add", "table", "inet", "other"]).unwrap();
            make(&agent, pinhole(port, 0, 60)).await;
            namespace.nft(&["delete", "table", "inet", "other"]).unwrap();
        }
        assert_eq!(assert_agreement(&namespace, &agent).await.rules.len(), 30);
    });
    assert!(!folder.read("log").contains("changed by somebody"));
    daemon.stop();
}

#[test]
fn nothing_is_granted_that_does_not_stand_while_others_flush() {
    let Some((namespace, _folder, daemon, middlebox)) = in_namespace(SHARED) else { return };
    with_agents(Some(&namespace), async || {
        let (agent, _) = alice(&middlebox).await;
        let before = structure(&namespace);
        let (mut granted, mut refused) = (Vec::new(), 0);
        for port in 1..=200 {
            if port % 10 == 0 {
                namespace.nft(&["flush", "ruleset"]).unwrap();
            }
            match agent.request(pinhole(port, 0, 60)).await {
                Ok(reply) => granted.push(reply.rule().unwrap().0),
                Err(error) => {
                    assert_eq!(error, REFUSED);
                    refused += 1;
                }
            }
        }
        time_until(async || structure(&namespace) == before).await;
        // Whatever was granted stands again, and what is said to be there can be changed.
        time_until(async || agent.request(lifetime(granted[0], 50)).await.is_ok()).await;
        let stands = assert_agreement(&namespace, &agent).await;
        assert_eq!(stands.rules.len(), granted.len(), "{refused} refused");
        assert!(granted.iter().all(|rule| stands.rules.contains(&rule.get())));
    });
    daemon.stop();
}

#[test]
fn a_daemon_that_is_started_after_a_flush_closes_the_network_before_it_serves() {
    let Some((namespace, folder, daemon, _)) = in_namespace(NFTABLES) else { return };
    let before = structure(&namespace);
    daemon.kill();
    // Dead, it leaves its table, which stays as long as nobody flushes it.
    assert_eq!(structure(&namespace), before);
    namespace.nft(&["flush", "ruleset"]).unwrap();
    assert!(structure(&namespace).is_empty());
    let daemon = Daemon::start(&folder, Some(&namespace));
    assert_eq!(structure(&namespace), before);
    daemon.stop();
    assert_eq!(structure(&namespace), before);
}

#[test]
fn what_systemd_keeps_protects_the_table_of_a_daemon_that_is_dead() {
    let Some(namespace) = Namespace::new() else { return };
    let folder = Folder::new(NFTABLES);
    let keeper = UnixDatagram::bind(folder.path("keeper")).unwrap();
    keeper.set_read_timeout(Some(crate::daemon::PATIENCE)).unwrap();
    let mut command = namespace.command("sh");
    let told = format!("exec env NOTIFY_SOCKET={} {PROGRAM} $0", folder.path("keeper").display());
    command.args(["-c", &told]).arg(folder.path("middlebox.toml")).stdin(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let kept = kept(&keeper);
    let before = structure(&namespace);
    child.kill().unwrap();
    child.wait().unwrap();
    namespace.nft(&["flush", "ruleset"]).unwrap();
    assert_eq!(structure(&namespace), before, "nobody may change it, though its daemon is dead");
    // The next one goes on with the socket.
    let mut command = namespace.command("sh");
    let inherit = format!("LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=table exec {PROGRAM} $0 3<&0");
    command.args(["-c", &inherit]);
    let daemon = Daemon::start_with(command, &folder, Stdio::from(kept));
    let middlebox = daemon.middlebox(Over::Tcp);
    with_agents(Some(&namespace), async || {
        let (agent, _) = alice(&middlebox).await;
        make(&agent, pinhole(1, 0, 60)).await;
        namespace.nft(&["flush", "ruleset"]).unwrap();
        assert_eq!(assert_agreement(&namespace, &agent).await.rules.len(), 1);
    });
    daemon.stop();
}

/// The descriptor that a daemon wants kept.
fn kept(keeper: &UnixDatagram) -> OwnedFd {
    let mut octets = [0; 256];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    loop {
        let received =
            recvmsg(keeper, &mut [IoSliceMut::new(&mut octets)], &mut ancillary, RecvFlags::CMSG_CLOEXEC);
        match received {
            Err(rustix::io::Errno::INTR) => {}
            received => {
                let bytes = received.unwrap().bytes;
                assert_eq!(&octets[..bytes], b"FDSTORE=1\nFDNAME=table");
                break;
            }
        }
    }
    let message = ancillary.drain().next().unwrap();
    let RecvAncillaryMessage::ScmRights(mut descriptors) = message else { panic!("no descriptor") };
    descriptors.next().unwrap()
}

#[test]
fn a_table_serves_one_daemon_only() {
    let Some(namespace) = Namespace::new() else { return };
    for configuration in [NFTABLES, SHARED] {
        let (folder, other) = (Folder::new(configuration), Folder::new(configuration));
        let daemon = Daemon::start(&folder, Some(&namespace));
        let output = namespace.command(PROGRAM).arg(other.path("middlebox.toml")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{said}");
        assert!(said.contains("the table inet headway") && said.contains("another process"), "{said}");
        daemon.stop();
        let _free = namespace.nft(&["delete", "table", "inet", "headway"]);
    }
}

#[test]
fn a_table_with_another_name_takes_over_the_old_one() {
    let old = NFTABLES.replace("[filter]\n", "[filter]\ntable = \"old\"\n");
    let Some((namespace, folder, daemon, middlebox)) = in_namespace(&old) else { return };
    with_agents(Some(&namespace), async || {
        make(&alice(&middlebox).await.0, pinhole(1, 0, 60)).await;
    });
    daemon.stop();
    let configuration = folder.read("middlebox.toml").replace("table = \"old\"\n", "");
    folder.write("middlebox.toml", &configuration);
    let daemon = Daemon::start(&folder, Some(&namespace));
    let middlebox = daemon.middlebox(Over::Tcp);
    with_agents(Some(&namespace), async || {
        let (agent, found) = alice(&middlebox).await;
        assert_eq!(found.len(), 1);
        assert_eq!(assert_agreement(&namespace, &agent).await.rules.len(), 1);
        make(&agent, pinhole(2, 0, 60)).await;
    });
    assert!(!namespace.nft(&["list", "tables"]).unwrap().contains("old"));
    daemon.stop();
}

#[test]
fn the_network_is_closed_before_sockets_and_files_are_tried() {
    let Some(namespace) = Namespace::new() else { return };
    let folder = Folder::new(&format!("{NFTABLES}[audit]\nfile = \"later/audit\"\n"));
    let configuration =
        folder.read("middlebox.toml").replace("tcp = [\"127.0.0.1:0\"]", "tcp = [\"10.99.0.1:7626\"]");
    folder.write("middlebox.toml", &configuration);
    let mut command = namespace.command(PROGRAM);
    let log = std::fs::File::create(folder.path("log")).unwrap();
    let mut child = command.arg(folder.path("middlebox.toml")).stderr(log).spawn().unwrap();
    crate::daemon::time_until(|| folder.read("log").contains("nobody is served yet"));
    assert!(!structure(&namespace).is_empty(), "the table stands");
    std::fs::create_dir(folder.path("later")).unwrap();
    crate::daemon::time_until(|| folder.read("log").contains("10.99.0.1:7626"));
    assert!(child.try_wait().unwrap().is_none());
    assert!(
        namespace
            .command("ip")
            .args(["addr", "add", "10.99.0.1/24", "dev", "lo"])
            .status()
            .unwrap()
            .success()
    );
    crate::daemon::time_until(|| folder.read("log").contains("listening: tcp 10.99.0.1:7626"));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_interface_that_is_renamed_or_gone_is_said_and_so_is_its_return() {
    let Some(namespace) = Namespace::new() else { return };
    let ip = |line: &str| {
        let done = namespace.command("ip").args(line.split(' ')).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    ip("link add in0 type veth peer name out0");
    let folder =
        Folder::new("[filter]\nkind = \"nftables\"\ninside = [\"in0\"]\n[audit]\nfile = \"audit\"\n");
    let daemon = Daemon::start(&folder, Some(&namespace));
    with_agents(Some(&namespace), async || {
        let missing = async |count: u32| {
            let line = format!("\nsimco_inside_missing {count}\n");
            time_until(async || daemon.metrics_page().contains(&line)).await
        };
        missing(0).await;
        ip("link set in0 name in9");
        missing(1).await;
        assert_eq!(folder.read("log").matches("an interface of filter.inside is not there").count(), 1);
        ip("link set in9 name in0");
        missing(0).await;
        ip("link delete in0");
        missing(1).await;
    });
    daemon.stop();
    let audit = folder.read("audit");
    assert_eq!(audit.matches("\"event\":\"interface_missing\"").count(), 2, "{audit}");
    assert_eq!(audit.matches("\"event\":\"interface_back\"").count(), 1, "{audit}");
}
