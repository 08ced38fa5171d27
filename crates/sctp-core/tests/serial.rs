//! Configurations, statistics and events as data, with the feature `serde`.
#![cfg(feature = "serde")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::time::Duration;

use sctp_core::{
    AssociationConfig, AssociationStatistics, ChunkType, Dscp, EndpointConfig, EndpointStatistics, Event,
    EventGroup, EventMask, Message, PathId, PathSetting, PathState, Profile, SctpPort, Setting, StreamId,
};
use serde_json::json;

#[test]
fn configurations_of_every_profile_come_back_as_they_were() {
    for profile in Profile::ALL {
        let mut config = AssociationConfig::profile(profile);
        config.buffers.events.mask = EventMask::NONE.with(EventGroup::Paths);
        config.authentication.chunks = [ChunkType::DATA, ChunkType::ABORT].into_iter().collect();
        config.transmission.dscp = Dscp::CS5;
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<AssociationConfig>(&text).unwrap(), config, "{profile}");
    }
}

/// A file names what differs; the rest is that of the default profile.
#[test]
fn what_a_configuration_leaves_out_has_its_default() {
    let text = r#"{ "port": 3863, "association": { "sack": { "every_packets": 4 }, "transmission": { "dscp": 40 } } }"#;
    let config: EndpointConfig = serde_json::from_str(text).unwrap();
    let mut expected = EndpointConfig::new(SctpPort::try_from(3863).unwrap());
    expected.association.sack.every_packets = 4;
    expected.association.transmission.dscp = Dscp::CS5;
    assert_eq!(serde_json::to_value(&config).unwrap(), serde_json::to_value(&expected).unwrap());
    config.validate().unwrap();
}

#[test]
fn what_no_configuration_has_is_refused_with_a_word_about_it() {
    let refused = [
        (r#"{ "association_limit": 1 }"#, "missing field `port`"),
        (r#"{ "port": 0 }"#, "nonzero"),
        (r#"{ "port": 1, "association_limits": 1 }"#, "unknown field `association_limits`"),
        (r#"{ "port": 1, "association": { "transmission": { "dscp": 64 } } }"#, "64 is no code point"),
        (r#"{ "port": 1, "association": { "authentication": { "keys": [] } } }"#, "unknown field `keys`"),
    ];
    for (text, word) in refused {
        let error = serde_json::from_str::<EndpointConfig>(text).unwrap_err().to_string();
        assert!(error.contains(word), "{text}: {error}");
    }
}

/// Secrets do not leave by this way.
#[test]
fn keys_are_not_written() {
    let mut config = AssociationConfig::default();
    config.authentication.keys.set(sctp_core::SharedKeyId::new(7), b"a secret".to_vec());
    let value = serde_json::to_value(&config).unwrap();
    assert_eq!(value["authentication"].get("keys"), None);
    assert!(!value.to_string().contains("secret"));
}

#[test]
fn settings_come_back_as_they_were() {
    let settings = [Setting::Dscp(Dscp::EF), Setting::MaxBurst(3), Setting::Events(EventMask::DEFAULT)];
    for setting in settings {
        let text = serde_json::to_string(&setting).unwrap();
        assert_eq!(serde_json::from_str::<Setting>(&text).unwrap(), setting, "{text}");
    }
    let path = PathSetting::Dscp(Some(Dscp::CS2));
    assert_eq!(serde_json::to_value(path).unwrap(), json!({ "dscp": 16 }));
}

#[test]
fn events_and_statistics_are_told_by_the_names_of_their_fields() {
    let change = Event::PeerAddressChange { path: PathId::FIRST, state: PathState::Inactive };
    let expected = json!({ "peer_address_change": { "path": 0, "state": "inactive" } });
    assert_eq!(serde_json::to_value(change).unwrap(), expected);
    let message = Message::ordered(StreamId::new(3), "x").with_lifetime(Duration::from_secs(1));
    let told = serde_json::to_value(message).unwrap();
    assert_eq!(
        (&told["stream"], &told["payload"], &told["delivery"]),
        (&json!(3), &json!([120]), &json!("ordered"))
    );
    let statistics = serde_json::to_value(AssociationStatistics::default()).unwrap();
    assert_eq!(statistics["sender"]["retransmissions"], json!(0));
    assert_eq!(statistics["receiver"]["blocked"]["histogram"]["count"], json!(0));
    assert_eq!(
        serde_json::to_value(EndpointStatistics::default()).unwrap()["handshake"]["gave_way"],
        json!(0)
    );
}

/// The two ways to read counters know the same ones.
#[test]
fn named_counters_are_those_that_stand_in_the_data() {
    let statistics = AssociationStatistics::default();
    let data = serde_json::to_value(&statistics).unwrap();
    let mut names = 0;
    statistics.each_counter(|name, value| {
        names += 1;
        let field = name.split('.').try_fold(&data, |data, part| data.get(part));
        // Of blocking there are sums.
        assert!(field == Some(&json!(value)) || name.starts_with("receiver.blocked."), "{name}");
    });
    assert!(names > 60, "{names}");
}
