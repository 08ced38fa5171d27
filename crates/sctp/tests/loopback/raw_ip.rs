//! SCTP directly over IP. A raw socket hears the whole host, so each test has addresses or ports of its own.
#![allow(clippy::print_stderr, reason = "a test that is left out says why")]

use std::net::IpAddr;

use sctp::{BindError, Delivery, Endpoint, EndpointConfig, RawIpError};

use crate::{echo, numbered, port, within_a_minute};

/// An endpoint, or `None` after saying why this machine gives none; where tests must run (CI=true) that is a failure.
async fn bind_ip(address: &str, number: u16) -> Option<Endpoint> {
    let builder = Endpoint::builder(EndpointConfig::new(port(number)));
    match builder.bind_ip(&[address.parse().unwrap()]).await {
        Ok(endpoint) => Some(endpoint),
        Err(BindError::RawIp(reason @ (RawIpError::NotPermitted | RawIpError::KernelSctp { .. }))) => {
            let must_run = std::env::var("CI").is_ok_and(|ci| ci == "true");
            assert!(!must_run, "{reason}");
            eprintln!("left out: {reason}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Accepts and echoes until the endpoint is gone.
fn serve(server: Endpoint) {
    tokio::spawn(async move {
        while let Some(association) = server.accept().await {
            tokio::spawn(echo(association));
        }
    });
}

/// Sends messages to an echo server, checks the answers and shuts down.
async fn converse(client: &Endpoint, address: &str, number: u16, messages: u32) {
    let destination = [sctp::ip(address.parse().unwrap())];
    let association = client.connect(&destination, port(number)).await.unwrap();
    for index in 0..messages {
        let message = numbered(3, index, if index % 5 == 0 { 10_000 } else { 200 }, Delivery::Ordered);
        association.send(message.clone()).await.unwrap();
        assert_eq!(association.recv().await.unwrap().unwrap().message, message);
    }
    association.shutdown().await.unwrap();
}

#[tokio::test]
async fn messages_are_echoed_over_ipv4_and_ipv6() {
    within_a_minute(async {
        for (client_at, server_at, number) in [("127.14.1.1", "127.14.1.2", 1_001), ("::1", "::1", 1_011)] {
            let Some(server) = bind_ip(server_at, number).await else { return };
            let client = bind_ip(client_at, number + 1).await.unwrap();
            assert_eq!(client.local_address(), (client_at.parse::<IpAddr>().unwrap(), number + 1).into());
            serve(server.clone());
            converse(&client, server_at, number, 50).await;
            assert_eq!(server.statistics().out_of_the_blue_answered, 0);
        }
    })
    .await;
}

/// Each hears all packets of the other: the same addresses, only the SCTP ports tell them apart.
#[tokio::test]
async fn endpoints_with_different_ports_do_not_disturb_each_other() {
    within_a_minute(async {
        for (address, number) in [("127.14.2.1", 2_001), ("::1", 2_011)] {
            let mut clients = Vec::new();
            for index in 0..3 {
                let Some(server) = bind_ip(address, number + index).await else { return };
                let client = bind_ip(address, number + 5 + index).await.unwrap();
                serve(server.clone());
                clients.push(tokio::spawn(async move {
                    converse(&client, address, number + index, 100).await;
                    [client, server]
                }));
            }
            for client in clients {
                for endpoint in client.await.unwrap() {
                    let statistics = endpoint.statistics();
                    assert_eq!(statistics.out_of_the_blue_answered, 0, "{statistics:?}");
                }
            }
        }
    })
    .await;
}

/// The packet filter is not what keeps the peace: an endpoint that sees everything is as silent.
#[tokio::test]
async fn what_an_endpoint_sees_of_others_it_ignores_and_counts() {
    use sctp::{PortFilter, RawIp, RawIpOptions};
    within_a_minute(async {
        let address = "127.14.3.1";
        let Some(server) = bind_ip(address, 3_001).await else { return };
        let client = bind_ip(address, 3_002).await.unwrap();
        let mut options = RawIpOptions::default();
        options.port_filter = PortFilter::Process;
        let listener = RawIp::bind_with(&[address.parse().unwrap()], port(3_003), options).unwrap();
        let listener = Endpoint::builder(EndpointConfig::new(port(3_003))).bind_io(listener).await.unwrap();
        serve(server);
        converse(&client, address, 3_001, 20).await;
        serve(listener.clone());
        converse(&client, address, 3_003, 1).await;
        let seen = listener.io_statistics();
        assert!(seen.packets_foreign > 40, "{seen:?}");
        assert_eq!(listener.statistics().out_of_the_blue_answered, 0);
    })
    .await;
}

#[tokio::test]
async fn a_capture_shows_sctp_directly_over_ip() {
    use pcap_file::pcapng::{Block, PcapNgReader};
    within_a_minute(async {
        let address = "127.14.4.1";
        let Some(server) = bind_ip(address, 4_001).await else { return };
        let path = std::env::temp_dir().join(format!("sctp-raw-ip-{}.pcapng", std::process::id()));
        let builder = Endpoint::builder(EndpointConfig::new(port(4_002))).capture(&path);
        let client = builder.bind_ip(&[address.parse().unwrap()]).await.unwrap();
        serve(server);
        converse(&client, address, 4_001, 5).await;

        let mut reader = PcapNgReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        let mut packets = 0;
        while let Some(block) = reader.next_block() {
            if let Block::EnhancedPacket(packet) = block.unwrap() {
                packets += 1;
                assert_eq!((packet.data[0], packet.data[9]), (0x45, 132));
                assert_eq!(
                    (&packet.data[12..16], &packet.data[16..20]),
                    (&[127, 14, 4, 1][..], &[127, 14, 4, 1][..])
                );
            }
        }
        std::fs::remove_file(&path).unwrap();
        let seen = client.io_statistics();
        assert_eq!(packets, seen.packets_sent + seen.packets_received);
    })
    .await;
}

#[tokio::test]
async fn one_port_cannot_be_bound_twice() {
    within_a_minute(async {
        let Some(_first) = bind_ip("127.14.5.1", 5_001).await else { return };
        let again = Endpoint::builder(EndpointConfig::new(port(5_001)));
        let error = again.bind_ip(&["127.14.5.1".parse().unwrap()]).await.unwrap_err();
        assert!(error.to_string().contains("5001"), "{error}");
    })
    .await;
}
