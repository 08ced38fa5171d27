//! The mover: a loop around host, handover and association.
//!
//! Owns the watch of interfaces, and what is known and decided. The association is its user's; of its events the mover takes those
//! about addresses and hands on the others.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::IpAddr;

use interface_watch::{LiveWatch, Told};
use mobility::{Action, Answer, Damping, Decision, Event as Fact, Handing, Handover, Host, Policy, Rule};
use sctp::{AddressChange, AddressOutcome, Association, Endpoint, Event, StartUp, UnknownAssociation};
use virtual_time::Instant;

use crate::measuring::{Circumstances, Measuring};
use crate::report::Report;

/// Moves one association from network to network, as a policy wants it.
///
/// Where the association has [`StartUp::Probe`] and the policy makes before it breaks, data moves to an address that the peer has
/// learnt of a moment ago when the peer's packet train has come there ([`Event::TrainReceived`]), so that the peer knows what the new way
/// carries; a second after the peer has agreed to the address at the latest, and at once when the address in use is gone.
///
/// It works while [`next`](Self::next) is awaited, so it belongs in a task of its own. It takes the events of the
/// association ([`Association::next_event`]) and reports those that are not its own.
#[derive(Debug)]
pub struct Mover {
    endpoint: Endpoint,
    association: Association,
    /// `None` once the kernel has failed.
    watch: Option<LiveWatch>,
    host: Host,
    handover: Handover,
    handing: Handing,
    measuring: Measuring,
    /// The addresses that the peer knows and that could not be sent from when last looked at.
    down: BTreeSet<IpAddr>,
    reports: VecDeque<Report>,
}

/// The reason why an association cannot be moved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MoveError {
    /// The kernel gives no netlink socket, or does not answer.
    #[error("the interfaces of this host cannot be watched: {0}")]
    Watch(#[from] io::Error),
    /// The peer was told no address by name, so that none could be taken back later.
    #[error("EndpointConfig::local_addresses is empty: list the addresses that the association begins with")]
    NoLocalAddress,
    /// The association is over, so that there is nothing to move.
    #[error(transparent)]
    UnknownAssociation(#[from] UnknownAssociation),
}

impl Mover {
    /// Creates the mover of an association, and reads what interfaces there are in the network namespace of this thread.
    ///
    /// # Errors
    ///
    /// The interfaces cannot be watched, the association is over, or its peer knows no address of this side by name.
    pub fn new(endpoint: &Endpoint, association: &Association, policy: Policy) -> Result<Self, MoveError> {
        let status = association.status()?;
        let primary = status.path.source.or(status.local_addresses.first().copied());
        if status.local_addresses.is_empty() {
            return Err(MoveError::NoLocalAddress);
        }
        let mut watch = LiveWatch::open()?;
        let mut host = Host::new(Damping::default());
        host.read_anew(endpoint.now(), watch.read_all()?);
        Ok(Self {
            endpoint: endpoint.clone(),
            association: association.clone(),
            watch: Some(watch),
            host,
            handing: policy.handing,
            measuring: Measuring::default(),
            handover: Handover::new(policy, status.local_addresses, primary),
            down: BTreeSet::new(),
            reports: VecDeque::new(),
        })
    }

    /// Sets the measures by which interfaces that flap are held back; those of [`Damping::default`] until then.
    pub fn set_damping(&mut self, damping: Damping) {
        self.host.set_damping(damping);
    }

    /// Tells of a fact that the kernel does not know: a signal, a measurement, that an address was answered or was not.
    pub fn tell(&mut self, fact: Fact) {
        // At a bound it is counted, and made up for by reading anew.
        let _refused = self.host.handle_event(self.endpoint.now(), fact);
    }

    /// Returns the handover as it stands: what the peer knows, and the primary address.
    #[must_use]
    pub fn handover(&self) -> &Handover {
        &self.handover
    }

    /// Waits for the next thing that happens, and does what follows from it; `None` once the association is over.
    ///
    /// Cancellation-safe: what has happened is reported by the next call.
    pub async fn next(&mut self) -> Option<Report> {
        loop {
            self.turn();
            if let Some(report) = self.reports.pop_front() {
                return Some(report);
            }
            let now = self.endpoint.now();
            let wakes =
                [self.handover.poll_timeout(), self.host.poll_timeout(), self.measuring.poll_timeout(now)];
            let wake = wakes.into_iter().flatten().min();
            tokio::select! {
                told = told(&mut self.watch) => self.take_in(told),
                event = self.association.next_event() => self.on_event(event?),
                () = reached(now, wake) => {}
            }
        }
    }

    /// Takes in what the kernel has told. Once it fails, nothing more is to come from it.
    fn take_in(&mut self, told: io::Result<Told>) {
        let now = self.endpoint.now();
        let taken = told.and_then(|told| match told {
            Told::Events(events) => {
                for event in events {
                    // At a bound it is counted, and made up for by reading anew.
                    let _refused = self.host.handle_event(now, event);
                }
                if self.host.needs_reading() { self.read_anew(now) } else { Ok(()) }
            }
            Told::Missed => self.read_anew(now),
        });
        if let Err(error) = taken {
            self.watch = None;
            self.reports.push_back(Report::Blind { because: error.to_string() });
        }
    }

    fn read_anew(&mut self, now: Instant) -> io::Result<()> {
        let Some(watch) = &mut self.watch else { return Ok(()) };
        self.host.read_anew(now, watch.read_all()?);
        Ok(())
    }

    fn on_event(&mut self, event: Event) {
        if let Event::TrainReceived { local } = event {
            self.measuring.on_settled(local);
        }
        let Event::AddressChangeAnswered { change, outcome } = &event else {
            return self.reports.push_back(Report::Association(event));
        };
        let action = match *change {
            AddressChange::Add(address) => Action::Add(address),
            AddressChange::Delete(address) => Action::Delete(address),
            AddressChange::SetPrimary(address) => Action::SetPrimary(address),
        };
        let answer = if *outcome == AddressOutcome::Done { Answer::Done } else { Answer::Refused };
        self.reports.push_back(Report::Answered { action, outcome: *outcome });
        let now = self.endpoint.now();
        match (action, answer) {
            (Action::Add(address), Answer::Done) => self.measuring.on_agreed(now, address),
            (Action::Add(address), Answer::Refused) | (Action::Delete(address), Answer::Done) => {
                self.measuring.on_settled(address);
            }
            (Action::Delete(_) | Action::SetPrimary(_) | Action::Probe(_) | Action::Hold { .. }, _) => {}
        }
        self.handover.handle_answer(&self.host.settle(now), action, answer);
    }

    /// Closes the instant and does what follows from it.
    fn turn(&mut self) {
        let now = self.endpoint.now();
        let host = self.host.settle(now);
        self.handover.handle_host(&host);
        self.tell_endpoint();
        while let Some(decision) = self.handover.poll_decision() {
            let (action, may_wait) = (decision.action, self.may_wait(&decision));
            self.reports.push_back(Report::Decided(decision));
            match action {
                Action::SetPrimary(to) if may_wait && self.measuring.begin(now, to) => {
                    self.reports.push_back(Report::Awaits { address: to });
                }
                Action::SetPrimary(_) | Action::Delete(_) => {
                    self.give_way(action);
                    self.carry_out(action);
                }
                Action::Add(_) | Action::Probe(_) | Action::Hold { .. } => self.carry_out(action),
            }
        }
        self.move_if_due();
    }

    /// Returns whether a decision may wait for the peer's measurement: the address in use is there, and the peer measures.
    fn may_wait(&self, decision: &Decision) -> bool {
        let measures = |start_up| matches!(start_up, StartUp::Probe { .. });
        self.handing == Handing::MakeBeforeBreak
            && matches!(decision.rule, Rule::Cheaper | Rule::PrimaryUnfit)
            && self.association.config().is_ok_and(|config| measures(config.congestion.start_up))
    }

    /// A change of the primary address that waits is overtaken by another one. Before the address in use is deleted it is made.
    fn give_way(&mut self, action: Action) {
        let Some(to) = self.measuring.take() else { return };
        if matches!(action, Action::Delete(address) if address != to) {
            self.carry_out(Action::SetPrimary(to));
        }
    }

    /// Makes the change of the primary address that waits, if it waits no longer.
    fn move_if_due(&mut self) {
        let Some(to) = self.measuring.waiting() else { return };
        let now = self.endpoint.now();
        let host = self.host.settle(now);
        let is_usable = |address: IpAddr| host.usable().any(|usable| usable == address);
        let can_stay = self.handover.primary().is_some_and(is_usable);
        let circumstances = Circumstances { now, can_stay, can_move: is_usable(to) };
        if let Some(to) = self.measuring.take_due(circumstances) {
            self.carry_out(Action::SetPrimary(to));
        }
    }

    /// Tells the endpoint which of the addresses that the peer knows cannot be sent from any more, and which can again.
    fn tell_endpoint(&mut self) {
        let usable: BTreeSet<IpAddr> = self.host.settle(self.endpoint.now()).usable().collect();
        let down: BTreeSet<IpAddr> = self.handover.known().filter(|known| !usable.contains(known)).collect();
        down.difference(&self.down).for_each(|address| self.endpoint.local_address_down(*address));
        let back = self.down.difference(&down).filter(|address| usable.contains(address));
        back.for_each(|address| self.endpoint.local_address_up(*address));
        self.down = down;
    }

    fn carry_out(&mut self, action: Action) {
        let asked = match action {
            Action::Add(address) => {
                self.measuring.on_told(address);
                self.association.add_local_address(address)
            }
            Action::SetPrimary(address) => self.association.request_peer_primary(address),
            Action::Delete(address) => self.association.delete_local_address(address),
            Action::Probe(_) | Action::Hold { .. } => return,
        };
        if let Err(error) = asked {
            if let Action::Add(address) = action {
                self.measuring.on_settled(address);
            }
            self.reports.push_back(Report::NotAsked { action, error });
            let now = self.endpoint.now();
            self.handover.handle_answer(&self.host.settle(now), action, Answer::Refused);
        }
    }
}

/// Waits until the kernel has told something; for ever once it has failed.
async fn told(watch: &mut Option<LiveWatch>) -> io::Result<Told> {
    match watch {
        Some(watch) => watch.told().await,
        None => std::future::pending().await,
    }
}

/// Waits until a time on the clock of the endpoint; for ever without one.
async fn reached(now: Instant, wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep(wake.since(now)).await,
        None => std::future::pending().await,
    }
}
