use proptest::prelude::*;

use super::*;

#[test]
fn transports_are_read_and_printed_alike() {
    for text in
        ["tcp", "tcp:4", "tcp:256", "sctp:1", "sctp:65535", "sctp:unordered", "quic:1", "quic:6", "udp"]
    {
        assert_eq!(text.parse::<TransportSpec>().unwrap().to_string(), text);
    }
    assert_eq!("tcp:1".parse::<TransportSpec>().unwrap().to_string(), "tcp");
}

#[test]
fn bounds_and_misspellings_are_told_apart() {
    let refused = |text: &str| text.parse::<TransportSpec>().unwrap_err();
    let count = |text: &str, what, most| TransportError::Count { text: text.to_owned(), what, most };
    let argument = |text: &str, because| TransportError::Argument { text: text.to_owned(), because };
    assert_eq!(refused("tcp:0"), count("tcp:0", "connections", 256));
    assert_eq!(refused("tcp:257"), count("tcp:257", "connections", 256));
    assert_eq!(refused("sctp:65536"), count("sctp:65536", "streams", 65_535));
    assert_eq!(refused("sctp:many"), count("sctp:many", "streams", 65_535));
    assert_eq!(
        refused("sctp"),
        argument("sctp", "that needs its number of streams: write sctp:1, sctp:6 or sctp:unordered")
    );
    assert_eq!(refused("udp:2"), argument("udp:2", "udp has neither streams nor connections, write udp"));
    assert_eq!(refused("quic:0"), count("quic:0", "streams", 65_535));
    assert!(matches!(refused("sip"), TransportError::Unknown { text, .. } if text == "sip"));
}

#[test]
fn a_list_keeps_its_order_and_refuses_doubles_and_gaps() {
    let list: TransportList = "udp, tcp,sctp:6".parse().unwrap();
    assert_eq!(list.to_string(), "udp,tcp,sctp:6");
    assert_eq!("tcp,tcp:1".parse::<TransportList>(), Err(TransportError::Twice("tcp".to_owned())));
    let empty = "tcp,,udp".parse::<TransportList>();
    assert!(matches!(empty, Err(TransportError::Unknown { text, .. }) if text.is_empty()));
    assert!("".parse::<TransportList>().is_err());
}

#[test]
fn the_default_list_is_the_documented_one() {
    assert_eq!(TransportList::default().to_string(), "tcp,tcp:4,sctp:1,sctp:6,sctp:unordered,quic:6,udp");
}

#[test]
fn what_can_be_written_is_read_from_the_table() {
    let unknown = "sip".parse::<TransportSpec>().unwrap_err().to_string();
    assert_eq!(unknown, "`sip` is no transport: use tcp, tcp:N, sctp:N, sctp:unordered, quic:N or udp");
    let unknown = "sctp:1".parse::<Protocol>().unwrap_err().to_string();
    assert_eq!(unknown, "`sctp:1` is not known here: use tcp, sctp, quic or udp");
    let (forms, described) = (spec::forms(), described());
    assert!(described.starts_with("tcp, tcp:N (N connections), sctp:N (N streams)"), "{described}");
    for protocol in TRANSPORTS {
        assert_eq!(protocol.name().parse::<Protocol>(), Ok(protocol));
        assert!(forms.contains(protocol.name()));
    }
}

#[test]
fn no_two_transports_share_a_colour() {
    let mut colours: Vec<usize> =
        TransportList::default().as_slice().iter().map(|transport| transport.colours().start).collect();
    colours.dedup();
    assert_eq!(colours.len(), TRANSPORTS.len());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_accepted_prints_to_something_that_reads_the_same(text in "(tcp|sctp|quic|udp)?(:[0-9a-z]{0,6})?") {
        if let Ok(transport) = text.parse::<TransportSpec>() {
            prop_assert_eq!(transport.to_string().parse::<TransportSpec>(), Ok(transport));
        }
    }
}
