//! One socket, many associations; opening, closing, looking in.

use sctp::{
    AssociationConfig, BindError, ConnectError, Delivery, Endpoint, EndpointConfig, Event, PathState,
};

use crate::{CLIENT, Pair, SERVER, bind, echo, numbered, port, within_a_minute};

#[tokio::test]
async fn a_hundred_associations_share_a_socket() {
    within_a_minute(async {
        let server = bind("127.0.0.1:0", SERVER, AssociationConfig::default()).await;
        let destination = sctp::udp(server.local_address());
        tokio::spawn(async move {
            while let Some(association) = server.accept().await {
                tokio::spawn(echo(association));
            }
        });
        let clients = (0..100).map(|index: u16| {
            tokio::spawn(async move {
                let client = bind("127.0.0.1:0", CLIENT + index, AssociationConfig::default()).await;
                let association = client.connect(&[destination], port(SERVER)).await.unwrap();
                for number in 0..20 {
                    let message = numbered(index % 10, number, 200, Delivery::Ordered);
                    association.send(message.clone()).await.unwrap();
                    assert_eq!(association.recv().await.unwrap().unwrap().message, message);
                }
                association.shutdown().await.unwrap();
            })
        });
        for client in clients.collect::<Vec<_>>() {
            client.await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn a_dual_stack_endpoint_serves_peers_of_both_families() {
    within_a_minute(async {
        let server = bind("[::]:0", SERVER, AssociationConfig::default()).await;
        let udp_port = server.local_address().port();
        for host in ["127.0.0.1", "::1"] {
            let host: std::net::IpAddr = host.parse().unwrap();
            let client =
                bind(&std::net::SocketAddr::new(host, 0).to_string(), CLIENT, AssociationConfig::default())
                    .await;
            let destination = [sctp::udp((host, udp_port).into())];
            let (here, there) = tokio::join!(client.connect(&destination, port(SERVER)), server.accept());
            let message = numbered(0, 1, 3_000, Delivery::Ordered);
            here.unwrap().send(message.clone()).await.unwrap();
            assert_eq!(there.unwrap().recv().await.unwrap().unwrap().message, message);
        }
    })
    .await;
}

#[tokio::test]
async fn close_ends_associations_and_accepts_no_more() {
    within_a_minute(async {
        let pair = Pair::new().await;
        pair.here.send(numbered(0, 0, 100, Delivery::Ordered)).await.unwrap();
        pair.client.close();
        pair.client.wait_idle().await;
        assert!(pair.client.accept().await.is_none());
        assert_eq!(crate::drain(&pair.there).await.len(), 1);
        let destination = [sctp::udp(pair.server.local_address())];
        let outcome = pair.client.connect(&destination, port(SERVER)).await;
        assert!(matches!(outcome, Err(ConnectError::EndpointClosed)));
    })
    .await;
}

#[tokio::test]
async fn associations_nobody_accepted_end_with_the_endpoint() {
    within_a_minute(async {
        let server = bind("127.0.0.1:0", SERVER, AssociationConfig::default()).await;
        let client = bind("127.0.0.1:0", CLIENT, AssociationConfig::default()).await;
        let here = client.connect(&[sctp::udp(server.local_address())], port(SERVER)).await.unwrap();
        drop(server);
        assert_eq!(here.closed().await, Ok(()));
    })
    .await;
}

#[tokio::test]
async fn destinations_of_the_wrong_family_are_refused_at_once() {
    within_a_minute(async {
        let client = bind("127.0.0.1:0", CLIENT, AssociationConfig::default()).await;
        let error =
            client.connect(&[sctp::udp("[::1]:9899".parse().unwrap())], port(SERVER)).await.unwrap_err();
        assert!(error.to_string().contains("bind to [::]"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_bound_says_so() {
    within_a_minute(async {
        let taken = bind("127.0.0.1:0", SERVER, AssociationConfig::default()).await;
        let config = EndpointConfig::new(port(SERVER));
        let error = Endpoint::bind(config.clone(), taken.local_address()).await.unwrap_err();
        assert!(
            matches!(&error, BindError::PortInUse { address, .. } if *address == taken.local_address()),
            "{error}"
        );
        let error = Endpoint::bind(config.clone(), "192.0.2.1:0".parse().unwrap()).await.unwrap_err();
        assert!(matches!(&error, BindError::Socket { .. }), "{error}");

        let capture = Endpoint::builder(config).capture("/nowhere/at/all.pcapng");
        let error = capture.bind("127.0.0.1:0".parse().unwrap()).await.unwrap_err();
        assert!(error.to_string().contains("/nowhere/at/all.pcapng"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_capture_holds_every_packet() {
    use pcap_file::pcapng::{Block, PcapNgReader};
    within_a_minute(async {
        let path = std::env::temp_dir().join(format!("sctp-endpoint-{}.pcapng", std::process::id()));
        let server = bind("127.0.0.1:0", SERVER, AssociationConfig::default()).await;
        let builder = Endpoint::builder(EndpointConfig::new(port(CLIENT))).capture(&path);
        let client = builder.bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let destination = [sctp::udp(server.local_address())];
        let (here, there) = tokio::join!(client.connect(&destination, port(SERVER)), server.accept());
        let (here, there) = (here.unwrap(), there.unwrap());
        here.send(numbered(0, 1, 5_000, Delivery::Ordered)).await.unwrap();
        there.recv().await.unwrap().unwrap();
        here.shutdown().await.unwrap();

        let mut reader = PcapNgReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        let mut packets = 0;
        while let Some(block) = reader.next_block() {
            packets += u64::from(matches!(block.unwrap(), Block::EnhancedPacket(_)));
        }
        std::fs::remove_file(&path).unwrap();
        let seen = client.io_statistics();
        assert_eq!(packets, seen.packets_sent + seen.packets_received);
        // Handshake, fragments, SACKs, shutdown.
        assert!(packets >= 9);
    })
    .await;
}

#[tokio::test]
async fn several_addresses_are_paths_and_one_can_be_made_primary() {
    within_a_minute(async {
        let bind_at = async |number, addresses: [&str; 2]| {
            let addresses = addresses.map(|address| address.parse().unwrap());
            let builder = Endpoint::builder(EndpointConfig::new(port(number)));
            builder.bind_addresses(&addresses, 0).await.unwrap()
        };
        let server = bind_at(SERVER, ["127.14.1.1", "127.14.1.2"]).await;
        let client = bind_at(CLIENT, ["127.14.1.3", "127.14.1.4"]).await;
        let first = ("127.14.1.1".parse::<std::net::IpAddr>().unwrap(), server.local_address().port());
        let destination = [sctp::udp(first.into())];
        let (here, there) = tokio::join!(client.connect(&destination, port(SERVER)), server.accept());
        let (here, there) = (here.unwrap(), there.unwrap());
        // The second address was in INIT ACK; it carries data once a HEARTBEAT was answered.
        let second = loop {
            if let Some(Event::PeerAddressChange { path, state: PathState::Active }) = here.next_event().await
            {
                break path;
            }
        };
        here.set_primary(second).unwrap();
        for number in 0..20 {
            let message = numbered(0, number, 500, Delivery::Ordered);
            here.send(message.clone()).await.unwrap();
            assert_eq!(there.recv().await.unwrap().unwrap().message, message);
        }
        let paths = here.statistics().paths;
        assert_eq!(paths[1].address, "127.14.1.2".parse::<std::net::IpAddr>().unwrap());
        assert!(paths[1].counters.packets_sent >= 20, "{:?}", paths[1].counters);
        here.shutdown().await.unwrap();
    })
    .await;
}
