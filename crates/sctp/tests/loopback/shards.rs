//! Several endpoints at one port.

use std::num::NonZeroU16;

use sctp::{AssociationConfig, Delivery, Endpoint, EndpointConfig};

use crate::{CLIENT, SERVER, bind, echo, numbered, port, within_a_minute};

/// Enough clients that none of three endpoints is left out but by a coincidence of one in a million.
#[tokio::test]
async fn associations_are_dealt_among_endpoints_and_stay_there() {
    within_a_minute(async {
        let count = NonZeroU16::new(3).unwrap();
        let builder = Endpoint::builder(EndpointConfig::new(port(SERVER)));
        let shards = builder.bind_shards("127.0.0.1:0".parse().unwrap(), count).unwrap();
        let mut servers = Vec::new();
        for shard in shards {
            let server = shard.start().await.unwrap();
            servers.push(server.clone());
            tokio::spawn(async move {
                while let Some(association) = server.accept().await {
                    tokio::spawn(echo(association));
                }
            });
        }
        let destination = [sctp::udp(servers[0].local_address())];
        for index in 0..40 {
            let client = bind("127.0.0.1:0", CLIENT + index, AssociationConfig::default()).await;
            let association = client.connect(&destination, port(SERVER)).await.unwrap();
            for number in 0..5 {
                let message = numbered(0, number, 3_000, Delivery::Ordered);
                association.send(message.clone()).await.unwrap();
                assert_eq!(association.recv().await.unwrap().unwrap().message, message);
            }
            association.shutdown().await.unwrap();
        }
        let packets: Vec<_> = servers.iter().map(|server| server.statistics().packets_received).collect();
        assert!(packets.iter().all(|packets| *packets > 0), "{packets:?}");
        for server in &servers {
            assert_eq!(server.statistics().out_of_the_blue_answered, 0);
        }
    })
    .await;
}
