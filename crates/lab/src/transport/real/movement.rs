//! The movement of a client whose host goes on in another network, as whoever moves the host tells it.

use std::net::IpAddr;

use tokio::sync::watch;

use crate::handover::Handover;

/// The knowledge of a client that moves.
#[derive(Clone, Debug)]
pub(crate) struct Movement {
    /// The handover that is to happen.
    pub(crate) handover: Handover,
    /// The client's address in the new network.
    pub(crate) local: IpAddr,
    /// The server's address in the new network.
    pub(crate) peer: IpAddr,
    /// The networks that the client's host is in.
    pub(crate) networks: watch::Receiver<Networks>,
}

/// The networks that a host is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Networks {
    /// Whether it is in the network that it began in.
    pub(crate) has_old: bool,
    /// Whether it is in the network that it goes to.
    pub(crate) has_new: bool,
}

impl Networks {
    /// The networks of a host before it moves.
    pub(crate) const AT_FIRST: Self = Self { has_old: true, has_new: false };
}

impl Movement {
    /// Waits until the host has lost or found a network; for ever once nobody moves it any more.
    pub(crate) async fn changed(&mut self) -> Networks {
        if self.networks.changed().await.is_err() {
            return std::future::pending().await;
        }
        *self.networks.borrow_and_update()
    }

    /// Waits until the host is in its new network; for ever if it does not get there.
    pub(crate) async fn arrival(&mut self) {
        if self.networks.wait_for(|networks| networks.has_new).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Waits until a client that moves is in its new network; for ever where none moves.
pub(crate) async fn arrival(movement: Option<&mut Movement>) {
    match movement {
        Some(movement) => movement.arrival().await,
        None => std::future::pending().await,
    }
}
