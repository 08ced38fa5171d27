//! How the windows of the flows went, for who wants to know why one has more than another.

use std::time::Duration;

use virtual_time::Instant;

use crate::bottleneck::Cell;
use crate::flow::{End, Stack};
use crate::selection::{self, Selection};

/// Prints a line for each flow and tenth of a second of the first run of each cell: its number, its protocol, the time, octets of its
/// window, of its slow-start threshold (which TCP does not tell), its smoothed round trip, and what it has received until then, by how
/// many recoveries and timeouts.
pub(crate) fn print(selection: &Selection) {
    println!("row,flow,protocol,ms,cwnd,ssthresh,srtt_ms,received,recoveries,timeouts");
    for cell in selection.cells() {
        let name = selection::name(&cell).replace(" | ", ", ");
        watch(&cell, &name, Instant::EPOCH + cell.warm_up + selection.measured);
    }
}

fn watch(cell: &Cell, name: &str, until: Instant) {
    let (mut world, [left, right], _) = cell.world(1);
    while world.now() < until {
        world.run_until(world.now() + EVERY);
        let ms = world.now().as_nanos() / 1_000_000;
        let receivers = &world.host(right).ends;
        for (flow, (sender, receiver)) in world.host(left).ends.iter().zip(receivers).enumerate() {
            if let Some(seen) = sender.seen() {
                let Seen { protocol, cwnd, ssthresh, srtt, recoveries, timeouts } = seen;
                let ssthresh = ssthresh.map(|octets| octets.to_string()).unwrap_or_default();
                let (srtt_ms, received) = (srtt.as_secs_f64() * 1000.0, receiver.received_bytes);
                println!(
                    "\"{name}\",{flow},{protocol},{ms},{cwnd},{ssthresh},{srtt_ms:.1},{received},{recoveries},{timeouts}"
                );
            }
        }
    }
}

/// What a sender tells of its window.
struct Seen {
    protocol: &'static str,
    cwnd: u64,
    ssthresh: Option<u64>,
    srtt: Duration,
    recoveries: u64,
    timeouts: u64,
}

impl End {
    /// Returns what there is to see once the flow has begun.
    fn seen(&self) -> Option<Seen> {
        let octets = |length: usize| u64::try_from(length).unwrap();
        match &self.stack {
            Stack::Sctp(sctp) => {
                let statistics = sctp.endpoint.association(sctp.id?)?.statistics();
                let path = &statistics.paths[0];
                Some(Seen {
                    protocol: "SCTP",
                    cwnd: octets(path.cwnd_bytes),
                    ssthresh: path.ssthresh_bytes.map(octets),
                    srtt: path.srtt.unwrap_or_default(),
                    recoveries: path.counters.recoveries,
                    timeouts: path.counters.timeouts,
                })
            }
            Stack::Tcp(tcp) => {
                let statistics = tcp.connection.as_ref()?.statistics();
                Some(Seen {
                    protocol: "TCP",
                    cwnd: statistics.cwnd_bytes,
                    ssthresh: None,
                    srtt: statistics.srtt.unwrap_or_default(),
                    recoveries: statistics.sender.recoveries,
                    timeouts: statistics.sender.timeouts,
                })
            }
        }
    }
}

const EVERY: Duration = Duration::from_millis(100);
