//! The hosts of clients that move: devices that are switched off and on in the clients' namespace, and who is told of it.

use emulator::{EmulatorError, LinkState, SideLink, route_by_source, switch_device};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;

use super::links::{HostOrder, Links, Step};
use crate::handover::Handover;
use crate::transport::{Movement, Networks};

/// A client's host in two networks, of which it has the first one.
#[derive(Debug)]
pub(super) struct Host {
    old: SideLink,
    new: SideLink,
    networks: watch::Sender<Networks>,
}

impl Host {
    /// Puts a host into its first network alone; `None` where it stays there. For a thread in the clients' namespace.
    pub(super) fn of(links: Links, side: &[SideLink]) -> Result<Option<Self>, EmulatorError> {
        let Some((old, Some(new))) = links.among(side) else { return Ok(None) };
        let (networks, _) = watch::channel(Networks::AT_FIRST);
        let host = Self { old: old.clone(), new: new.clone(), networks };
        switch_device(&host.new.device, LinkState::Down)?;
        host.route(&host.old)?;
        Ok(Some(host))
    }

    /// Returns what the clients on this host have to know.
    pub(super) fn movement(&self, handover: &Handover) -> Movement {
        Movement {
            handover: handover.clone(),
            local: self.new.local_v4.into(),
            peer: self.new.peer_v4.into(),
            networks: self.networks.subscribe(),
        }
    }

    /// Leads to the server's first address over a network from the address there.
    fn route(&self, over: &SideLink) -> Result<(), EmulatorError> {
        route_by_source(&over.device, over.end.link, over.local_v4, self.old.peer_v4)
    }

    /// Takes a step, and then tells of it.
    fn take(&self, step: Step) -> Result<(), EmulatorError> {
        match step {
            Step::Leave => switch_device(&self.old.device, LinkState::Down)?,
            Step::Arrive => {
                switch_device(&self.new.device, LinkState::Up)?;
                self.route(&self.new)?;
            }
        }
        self.networks.send_modify(|networks| match step {
            Step::Leave => networks.has_old = false,
            Step::Arrive => networks.has_new = true,
        });
        Ok(())
    }
}

/// Carries out the orders to hosts, which are there by the number of their run; returns only if one cannot be.
pub(super) async fn obey(hosts: &[Option<Host>], mut orders: UnboundedReceiver<HostOrder>) -> EmulatorError {
    while let Some(HostOrder { run, step }) = orders.recv().await {
        if let Some(Err(error)) = hosts.get(run).and_then(Option::as_ref).map(|host| host.take(step)) {
            return error;
        }
    }
    std::future::pending().await
}
