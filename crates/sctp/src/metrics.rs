//! Statistics in the registry of the program: one that the crate `metrics` knows as its recorder.
//!
//! Nothing is recorded unless the program says so, and when: [`Endpoint::record_metrics`] and
//! [`Association::record_metrics`] hand over what stands in the statistics at that moment. A program does that whenever its
//! registry is read, or every few seconds. Counters are told by their absolute value, so that calling twice counts nothing
//! twice.
//!
//! Names are `sctp.` and the path to the field of the statistics, `sctp.sender.retransmissions` for
//! [`SenderStatistics::retransmissions`](crate::SenderStatistics::retransmissions); the labels are the caller's, who knows
//! whether associations are to be told apart. For registries of another kind there is
//! [`AssociationStatistics::each_counter`](crate::AssociationStatistics::each_counter).
//!
//! | gauge | meaning |
//! |---|---|
//! | `sctp.buffered.unsent_bytes`, `sctp.buffered.unacknowledged_bytes` | octets handed in that wait, and those in flight |
//! | `sctp.peer_window_bytes` | the window that the peer advertised last |
//! | `sctp.path.cwnd_bytes`, `sctp.path.flight_bytes`, `sctp.path.mtu_bytes` | of each path, with the label `path` |
//! | `sctp.path.srtt_seconds`, `sctp.path.rto_seconds` | the round trip, once it was measured, and the timeout |

pub use metrics::Label;
use metrics::{counter, gauge};

use crate::{Association, Endpoint, PathStatistics};

impl Endpoint {
    /// Records the counters of the endpoint and of its socket, with these labels.
    ///
    /// ```
    /// use sctp::metrics::Label;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let endpoint = sctp::Endpoint::client("127.0.0.1:0".parse()?).await?;
    /// endpoint.record_metrics(&[Label::new("endpoint", "uplink")]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn record_metrics(&self, labels: &[Label]) {
        let tell = |name, value| count(name, value, labels);
        self.statistics().each_counter(tell);
        self.io_statistics().each_counter(tell);
    }
}

impl Association {
    /// Records the counters of the association and of its paths, and how it stands now, with these labels; the paths have
    /// the label `path` besides, which is the peer's address. After the end of the association, what its counters were.
    pub fn record_metrics(&self, labels: &[Label]) {
        let statistics = self.statistics();
        statistics.each_counter(|name, value| count(name, value, labels));
        for path in &statistics.paths {
            record_path(path, labels);
        }
        if let Ok(status) = self.status() {
            set("sctp.buffered.unsent_bytes", octets(status.buffered.unsent_bytes), labels);
            set("sctp.buffered.unacknowledged_bytes", octets(status.buffered.unacknowledged_bytes), labels);
            set("sctp.peer_window_bytes", octets(status.peer_window_bytes), labels);
        }
    }
}

fn record_path(path: &PathStatistics, labels: &[Label]) {
    let mut labels = labels.to_vec();
    labels.push(Label::new("path", path.address.to_string()));
    path.each_counter(|name, value| count(name, value, &labels));
    set("sctp.path.cwnd_bytes", octets(path.cwnd_bytes), &labels);
    set("sctp.path.flight_bytes", octets(path.flight_bytes), &labels);
    set("sctp.path.mtu_bytes", octets(path.mtu_bytes), &labels);
    set("sctp.path.rto_seconds", path.rto.as_secs_f64(), &labels);
    if let Some(srtt) = path.srtt {
        set("sctp.path.srtt_seconds", srtt.as_secs_f64(), &labels);
    }
}

fn count(name: &'static str, value: u64, labels: &[Label]) {
    counter!(format!("sctp.{name}"), labels.to_vec()).absolute(value);
}

fn set(name: &'static str, value: f64, labels: &[Label]) {
    gauge!(name, labels.to_vec()).set(value);
}

#[allow(clippy::cast_precision_loss, reason = "a gauge is a float; octets in memory are exact in it")]
fn octets(bytes: usize) -> f64 {
    bytes as f64
}
