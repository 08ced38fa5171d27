//! The acts in the middle of a conversation: streams reset and added, addresses changed, a command run.

use std::net::IpAddr;
use std::process::Command;

use sctp::{
    AddressChange, AddressOutcome, Association, Event, ReconfigOutcome, ResetDirection, StreamDirection,
    StreamId,
};

use crate::report::Line;

/// An action and when it is due.
#[derive(Clone, Debug)]
pub(crate) struct Action {
    /// The number of messages before it, sent by a client, received by a server.
    pub(crate) after: u64,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Reset(ResetDirection, Vec<StreamId>),
    AddOut(u16),
    AddIn(u16),
    Address(AddressChange),
    Run(String),
}

/// Whether the stack took an action, and whether an event will tell what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acted {
    Done,
    Asked,
    Failed,
}

impl Action {
    /// Acts and prints whether the stack took it.
    pub(crate) async fn act(&self, association: &Association) -> Acted {
        let taken = match &self.what {
            What::Reset(direction, streams) => {
                association.reset_streams(streams, *direction).map_err(|error| error.to_string())
            }
            What::AddOut(count) => association.add_streams(*count, 0).map_err(|error| error.to_string()),
            What::AddIn(count) => association.add_streams(0, *count).map_err(|error| error.to_string()),
            What::Address(change) => change_address(association, *change),
            What::Run(command) => run(command.clone()).await,
        };
        Line::Did { what: self.name(), message: taken.as_ref().err().cloned().unwrap_or_default() }.print();
        match (taken, &self.what) {
            (Err(_), _) => Acted::Failed,
            (Ok(()), What::Run(_)) => Acted::Done,
            (Ok(()), What::Reset(..) | What::AddOut(_) | What::AddIn(_) | What::Address(_)) => Acted::Asked,
        }
    }

    /// Tells, if the event is about it, whether it was done.
    pub(crate) fn outcome(&self, event: &Event) -> Option<bool> {
        if let (What::Reset(asked, _), Event::StreamsReset { direction, result, .. }) = (&self.what, event) {
            let is_outgoing = *direction == StreamDirection::Outgoing;
            let is_it = is_outgoing == (*asked == ResetDirection::Outgoing);
            return is_it.then_some(*result == ReconfigOutcome::Performed);
        }
        if let (What::AddOut(_) | What::AddIn(_), Event::StreamsAdded { result, .. }) = (&self.what, event) {
            return Some(*result == ReconfigOutcome::Performed);
        }
        if let (What::Address(asked), Event::AddressChangeAnswered { change, outcome }) = (&self.what, event)
        {
            return (asked == change).then_some(*outcome == AddressOutcome::Done);
        }
        None
    }

    fn name(&self) -> &'static str {
        match &self.what {
            What::Reset(ResetDirection::Outgoing, _) => "reset-out",
            What::Reset(ResetDirection::Incoming, _) => "reset-in",
            What::Reset(ResetDirection::Both, _) => "reset-both",
            What::AddOut(_) => "add-out",
            What::AddIn(_) => "add-in",
            What::Address(AddressChange::Add(_)) => "add-address",
            What::Address(AddressChange::Delete(_)) => "remove-address",
            What::Address(AddressChange::SetPrimary(_)) => "peer-primary",
            What::Run(_) => "run",
        }
    }
}

fn change_address(association: &Association, change: AddressChange) -> Result<(), String> {
    let taken = match change {
        AddressChange::Add(address) => association.add_local_address(address),
        AddressChange::Delete(address) => association.delete_local_address(address),
        AddressChange::SetPrimary(address) => association.request_peer_primary(address),
    };
    taken.map_err(|error| error.to_string())
}

/// Runs a command; the association lives on meanwhile.
async fn run(command: String) -> Result<(), String> {
    let running = tokio::task::spawn_blocking(move || Command::new("sh").args(["-c", &command]).status());
    let status = running.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(status.to_string()) }
}

/// Parses `N:WHAT=ARGUMENT`, as `peer` has it.
pub(crate) fn parse(text: &str) -> Result<Action, String> {
    let (after, rest) = text.split_once(':').ok_or("must be N:WHAT=ARGUMENT")?;
    let (name, argument) = rest.split_once('=').unwrap_or((rest, ""));
    let number = || argument.parse::<u16>().map_err(|error| format!("{argument}: {error}"));
    let address = || argument.parse::<IpAddr>().map_err(|error| format!("{argument}: {error}"));
    let what = match name {
        "reset-out" => What::Reset(ResetDirection::Outgoing, streams(argument)?),
        "reset-in" => What::Reset(ResetDirection::Incoming, streams(argument)?),
        "add-out" => What::AddOut(number()?),
        "add-in" => What::AddIn(number()?),
        "add-address" => What::Address(AddressChange::Add(address()?)),
        "remove-address" => What::Address(AddressChange::Delete(address()?)),
        "peer-primary" => What::Address(AddressChange::SetPrimary(address()?)),
        "run" => What::Run(argument.to_owned()),
        _ => return Err(format!("there is no action {name}")),
    };
    Ok(Action { after: after.parse().map_err(|error| format!("{after}: {error}"))?, what })
}

/// Parses numbers with commas between them; none stands for all.
fn streams(text: &str) -> Result<Vec<StreamId>, String> {
    let numbers = text.split(',').filter(|number| !number.is_empty());
    numbers
        .map(|number| number.parse().map(StreamId::new).map_err(|error| format!("{number}: {error}")))
        .collect()
}
