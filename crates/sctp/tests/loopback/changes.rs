//! Streams and addresses of a running association are changed (RFC 6525, RFC 5061), and data goes on.

use std::net::IpAddr;

use sctp::{
    AddressChange, AddressChangeError, AddressOutcome, Association, AssociationConfig, ConfigError, Endpoint,
    EndpointConfig, Event, Message, Offer, PathState, ReconfigError, ReconfigOutcome, ResetDirection,
    RtoConfig, SendError, Setting, SettingError, StreamDirection, StreamId,
};

use crate::{CLIENT, Pair, SERVER, bind, echo, port, within_a_minute};

/// Events until one of them is what was waited for.
async fn until(association: &Association, wanted: impl Fn(&Event) -> bool) -> Event {
    loop {
        let event = association.next_event().await.unwrap();
        if wanted(&event) {
            return event;
        }
    }
}

async fn echoed(association: &Association, stream: u16, text: &'static str) {
    let message = Message::ordered(StreamId::new(stream), text);
    association.send(message.clone()).await.unwrap();
    assert_eq!(association.recv().await.unwrap().unwrap().message, message);
}

/// RFC 6525 §5.1.2, §5.1.5.
#[tokio::test]
async fn streams_are_reset_and_added_while_data_flows() {
    let mut config = AssociationConfig::default();
    config.streams.outbound = 4;
    config.extensions.reconfiguration = Offer::On;
    let pair = Pair::with("127.0.0.1:0", config).await;
    let here = &pair.here;
    tokio::spawn(echo(pair.there.clone()));
    within_a_minute(async {
        echoed(here, 1, "before").await;
        here.reset_streams(&[StreamId::new(1)], ResetDirection::Outgoing).unwrap();
        let reset = until(here, |event| matches!(event, Event::StreamsReset { .. })).await;
        let (direction, result) = (StreamDirection::Outgoing, ReconfigOutcome::Performed);
        assert_eq!(reset, Event::StreamsReset { direction, streams: vec![StreamId::new(1)], result });
        echoed(here, 1, "after").await;
        assert_eq!(here.stream_statistics(StreamId::new(1)).unwrap().messages_sent, 2);

        let beyond = Message::ordered(StreamId::new(5), "too early");
        assert!(matches!(here.send(beyond).await, Err(SendError::UnknownStream { negotiated: 4, .. })));
        here.add_streams(2, 0).unwrap();
        let added = until(here, |event| matches!(event, Event::StreamsAdded { .. })).await;
        assert!(matches!(added, Event::StreamsAdded { outbound_streams: 6, .. }), "{added:?}");
        // The echo needs the stream in the other direction.
        pair.there.add_streams(2, 0).unwrap();
        until(&pair.there, |event| matches!(event, Event::StreamsAdded { outbound_streams: 6, .. })).await;
        echoed(here, 5, "on a new stream").await;

        here.reset_association().unwrap();
        let reset = until(here, |event| matches!(event, Event::AssociationReset { .. })).await;
        assert_eq!(reset, Event::AssociationReset { result: ReconfigOutcome::Performed });
        assert!(matches!(here.reset_association(), Err(ReconfigError::TooSoon { .. })));
        echoed(here, 5, "all anew").await;
        here.shutdown().await.unwrap();
    })
    .await;
}

/// RFC 5061 §4.2: an address is added, preferred, and the old one deleted; messages go on from the new one.
#[tokio::test]
async fn association_moves_to_an_address_added_by_asconf() {
    let [old, new]: [IpAddr; 2] = [[127, 0, 0, 1].into(), [127, 0, 0, 2].into()];
    let mut config = AssociationConfig::default();
    config.extensions.authentication = Offer::On;
    config.extensions.dynamic_addresses = Offer::On;
    let server = bind("127.0.0.1:0", SERVER, config.clone()).await;
    let mut client = EndpointConfig::with_association(port(CLIENT), config);
    client.local_addresses = vec![old];
    let client = Endpoint::builder(client).bind_addresses(&[old, new], 0).await.unwrap();
    within_a_minute(async {
        let destination = [sctp::udp(server.local_address())];
        let (here, there) = tokio::join!(client.connect(&destination, port(SERVER)), server.accept());
        let (here, there) = (here.unwrap(), there.unwrap());
        tokio::spawn(echo(there.clone()));
        assert_eq!(here.delete_local_address(old), Err(AddressChangeError::LastAddress(old)));
        for change in [AddressChange::Add(new), AddressChange::SetPrimary(new), AddressChange::Delete(old)] {
            match change {
                AddressChange::Add(address) => here.add_local_address(address).unwrap(),
                AddressChange::SetPrimary(address) => here.request_peer_primary(address).unwrap(),
                AddressChange::Delete(address) => here.delete_local_address(address).unwrap(),
            }
            let answered = until(&here, |event| matches!(event, Event::AddressChangeAnswered { .. })).await;
            assert_eq!(answered, Event::AddressChangeAnswered { change, outcome: AddressOutcome::Done });
        }
        echoed(&here, 0, "from elsewhere").await;
        let live = |path: &&sctp::PathStatistics| path.state != PathState::Removed;
        let paths = there.statistics().paths;
        let addresses: Vec<IpAddr> = paths.iter().filter(live).map(|path| path.address).collect();
        assert_eq!(addresses, [new]);
        here.shutdown().await.unwrap();
    })
    .await;
}

/// A parameter changes what a running association does over sockets, and what those get that come after it.
#[tokio::test]
async fn parameters_change_while_data_flows_and_for_associations_to_come() {
    let ms = std::time::Duration::from_millis;
    let pair = Pair::new().await;
    within_a_minute(async {
        let rto = RtoConfig { initial: ms(900), min: ms(800), max: ms(1000) };
        let wrong = pair.here.set(Setting::Rto(RtoConfig { max: ms(1), ..rto }));
        assert!(matches!(wrong, Err(SettingError::Config(ConfigError::Duration { field: "rto.min", .. }))));
        pair.here.set(Setting::Rto(rto)).unwrap();
        assert_eq!(pair.here.config().unwrap().rto, rto);
        assert_eq!(pair.here.status().unwrap().path.rto, ms(800));
        tokio::spawn(echo(pair.there.clone()));
        echoed(&pair.here, 0, "goes on").await;
        assert_eq!(pair.here.status().unwrap().path.rto, ms(800));

        let mut config = pair.client.association_config();
        config.rto = rto;
        pair.client.set_association_config(config).unwrap();
        let other = bind("127.0.0.1:0", SERVER, AssociationConfig::default()).await;
        let next = pair.client.connect(&[sctp::udp(other.local_address())], port(SERVER)).await.unwrap();
        assert_eq!(next.status().unwrap().path.rto, ms(800));
        drop(next);
        pair.here.shutdown().await.unwrap();
        assert!(matches!(pair.here.set(Setting::MaxBurst(4)), Err(SettingError::UnknownAssociation(_))));
    })
    .await;
}
