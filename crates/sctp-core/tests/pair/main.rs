//! Two endpoints on a simulated network, in virtual time: what RFC 9260 promises, seen from outside.
//!
//! `net` is the network and what can be observed on it, `by_hand` a peer whose every packet the test writes; the
//! other modules are the tests, one per concern.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]

mod by_hand;
mod dice;
mod net;

mod attack;
mod authentication;
mod batches;
mod collision;
mod congestion;
mod data;
mod dynamic_addresses;
mod elsewhere;
mod figures;
mod flow;
mod forging;
mod given_up;
mod handshake;
mod homes;
mod hostile;
mod interleaving;
mod laws;
mod liars;
mod model;
mod newcomers;
mod numbers;
mod out_of_the_blue;
mod partial_delivery;
mod partial_reliability;
mod path_mtu;
mod random;
mod rebinding;
mod reconfig;
mod recovery;
mod replay;
mod robustness;
mod sacks;
mod settings;
mod shutdown;
mod supervision;
mod trace;
mod trains;
