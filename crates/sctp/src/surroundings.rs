//! What an endpoint shares, waits by and takes from its surroundings: locks, threads, the clock, entropy.
//!
//! Here they are the standard library's and the kernel's. In tests of interleavings (the cfg `shuttle`) they are models, whose
//! scheduler decides at each step who goes on (docs/decisions/0035).

#[cfg(not(all(test, shuttle)))]
pub(crate) use sctp_io::{Clock, os_entropy};
#[cfg(all(target_os = "linux", not(all(test, shuttle))))]
pub(crate) use sctp_io::{Doorbell, Sources, Watchdog};
#[cfg(not(all(test, shuttle)))]
pub(crate) use std::sync::{Mutex, MutexGuard, atomic};
#[cfg(all(target_os = "linux", not(all(test, shuttle))))]
pub(crate) use std::thread;
#[cfg(not(all(test, shuttle)))]
pub(crate) use tokio::sync::Notify;

#[cfg(all(test, shuttle))]
pub(crate) use crate::interleavings::model::{
    Clock, Doorbell, Notify, Sources, Watchdog, os_entropy, thread,
};
#[cfg(all(test, shuttle))]
pub(crate) use shuttle::sync::{Mutex, MutexGuard, atomic};
