//! A hub: whatever a client sends goes to all others, and who is too slow holds up nobody.
//!
//! `cargo run -p headway-sctp --example hub -- [UDP address, default [::]:9899] [clients at most, default 1000]`
#![allow(clippy::print_stdout, reason = "its output is what an example is for")]

use sctp::{Association, AssociationId, Endpoint, Message, SctpPort};
use tokio::sync::broadcast::{self, Receiver, Sender};

/// The SCTP port of the hub.
pub(crate) const PORT: u16 = 5000;

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "[::]:9899".into()).parse()?;
    let most = arguments.next().unwrap_or_else(|| "1000".into()).parse()?;
    let endpoint = Endpoint::server(SctpPort::try_from(PORT)?, address).await?;
    println!("SCTP port {PORT} in UDP on {}", endpoint.local_address());
    serve(&endpoint, most).await;
    Ok(())
}

/// Serves until the endpoint is closed.
pub(crate) async fn serve(endpoint: &Endpoint, most: usize) {
    let (hub, _) = broadcast::channel(1024);
    while let Ok(incoming) = endpoint.incoming().await {
        if hub.receiver_count() >= most {
            incoming.refuse("the hub is full");
        } else if let Ok(member) = incoming.accept() {
            tokio::spawn(attend(member, hub.clone(), hub.subscribe()));
        }
    }
}

/// Passes on what one member sends, and to it what the others do, until it leaves.
async fn attend(member: Association, hub: Sender<Said>, mut others: Receiver<Said>) {
    loop {
        tokio::select! {
            received = member.recv() => {
                let Ok(Some(received)) = received else { return };
                // Fails if nobody listens, and this task does.
                let _all = hub.send((member.id(), received.message.into()));
            }
            said = others.recv() => {
                let pass_on = |(speaker, message)| speaker == member.id() || member.try_send(message).is_ok();
                if !said.is_ok_and(pass_on) {
                    // What the member does not read has filled its buffers, or the line of what is said.
                    return member.abort(b"reads too slowly");
                }
            }
        }
    }
}

/// A message and who sent it.
type Said = (AssociationId, Message);
