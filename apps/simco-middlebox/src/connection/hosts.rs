//! How many connections each host has: nobody may take all there are.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Counts connections by the host they come from. Clones count together.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    most: Arc<AtomicUsize>,
    counts: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
}

/// A connection that counts until this is dropped.
#[derive(Debug)]
pub(crate) struct Admission {
    hosts: Hosts,
    host: IpAddr,
}

impl Hosts {
    /// Creates a limit of `most` connections from one host.
    pub(crate) fn new(most: usize) -> Self {
        Self { most: Arc::new(AtomicUsize::new(most)), counts: Arc::default() }
    }

    /// Sets the limit from now on; connections that are there stay.
    pub(crate) fn set_most(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// Counts a connection; `None` if the host has all it may have.
    pub(crate) fn admit(&self, host: IpAddr) -> Option<Admission> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(host).or_default();
        if *count >= self.most.load(Ordering::Relaxed) {
            return None;
        }
        *count += 1;
        Some(Admission { hosts: self.clone(), host })
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        let mut counts = self.hosts.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(count) = counts.get_mut(&self.host) else { return };
        *count -= 1;
        if *count == 0 {
            counts.remove(&self.host);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_its_share_and_others_theirs() {
        let hosts = Hosts::new(2);
        let (one, other) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let first = hosts.admit(one).unwrap();
        let _second = hosts.admit(one).unwrap();
        assert!(hosts.admit(one).is_none());
        let _others = hosts.admit(other).unwrap();
        drop(first);
        assert!(hosts.clone().admit(one).is_some());
        assert_eq!(hosts.counts.lock().unwrap().len(), 2);
    }
}
