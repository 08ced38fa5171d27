//! The choice of ports.

use std::cell::RefCell;

use super::*;

/// Binds at ports of which the first `taken` are somebody else's; gives the ports that were tried.
fn bind(mut builder: EndpointBuilder, taken: usize) -> (Result<SctpPort, BindError>, Vec<u16>) {
    let tried = RefCell::new(Vec::new());
    let bound = builder.at_port(|port| {
        tried.borrow_mut().push(port.get());
        if tried.borrow().len() > taken {
            return Ok(port);
        }
        let address = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
        Err(RawIpError::PortInUse { address, port, holder: address })
    });
    (bound, tried.into_inner())
}

#[test]
fn dynamic_ports_are_tried_until_one_is_free() {
    let client = || Endpoint::builder_of_client(AssociationConfig::default());
    let (bound, tried) = bind(client(), 10);
    assert_eq!((bound.unwrap().get(), tried.len()), (tried[10], 11));
    assert!(tried.iter().all(|port| *port >= 49_152), "{tried:?}");
    assert!(tried.iter().any(|port| *port != tried[0]), "{tried:?}");
    let (bound, tried) = bind(client(), usize::MAX);
    assert!(matches!(bound, Err(BindError::RawIp(RawIpError::PortInUse { .. }))));
    assert_eq!(tried.len(), 16);
}

#[test]
fn a_port_that_is_given_is_tried_once() {
    let port = SctpPort::new(3863).unwrap();
    let (bound, tried) = bind(Endpoint::builder(EndpointConfig::new(port)), usize::MAX);
    assert!(bound.is_err());
    assert_eq!(tried, [3863]);
}
