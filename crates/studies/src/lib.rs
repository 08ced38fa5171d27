//! The studies S1–S5 rebuilt: pages of statements, tables and figures, ours beside the published values.
//!
//! ```text
//! PageSpec ─► make(Effort) ─► Page ─► JSON ─► HTML, CSV, text
//!   id, plan, analysis         everything that is shown; pages are drawn from it alone
//! ```
//!
//! The plans are in `plans/studies`; a page is a function of plan, effort and program, but for its wall time.

#![forbid(unsafe_code)]

mod cells;
mod effort;
mod error;
#[cfg(test)]
mod lies;
mod measure;
mod measurement;
mod now;
mod response;
mod s1;
mod s2;
mod s3;
mod s4;
mod s5;
mod store;
mod video;

pub use effort::Effort;
pub use error::StudyError;
pub use measurement::Measurement;
pub use store::{StoreError, Stored, write_all};
pub use video::{VideoTrace, VideoTraceError};

use lab::report::Page;

/// A figure or table of a study, and how it is rebuilt.
#[derive(Clone, Copy, Debug)]
pub struct PageSpec {
    /// The name on the command line: `S1-fig4`.
    pub id: &'static str,
    /// The title: what the page shows.
    pub title: &'static str,
    make: fn(&Effort) -> Result<Page, StudyError>,
}

impl PageSpec {
    /// Rebuilds the page from simulations and models.
    ///
    /// # Errors
    /// When a plan cannot be run, or a model has no answer.
    pub fn make(&self, effort: &Effort) -> Result<Page, StudyError> {
        let begin = std::time::Instant::now();
        let mut page = (self.make)(effort)?;
        self.id.clone_into(&mut page.id);
        self.title.clone_into(&mut page.title);
        measure::add(&mut page, effort)?;
        page.effort = if page.left_out.is_empty() { self.effort(effort) } else { effort.describe() };
        page.wall_s = begin.elapsed().as_secs_f64();
        Ok(page)
    }

    /// Returns what is written on the page about `effort`.
    #[must_use]
    pub fn effort(&self, effort: &Effort) -> String {
        effort.describe() + &measure::described(self.id, effort)
    }
}

/// Every page there is, in the order of the studies.
pub const PAGES: &[PageSpec] = &[
    PageSpec { id: "S1-fig1", title: "Head-of-line blocking on one stream, drawn", make: s1::fig1 },
    PageSpec { id: "S1-fig2", title: "Head-of-line blocking with three streams, drawn", make: s1::fig2 },
    PageSpec { id: "S1-fig4", title: "Response time of SCTP over loss", make: s1::fig4 },
    PageSpec {
        id: "S1-fig5",
        title: "Response time of one TCP connection over loss, Linux and Solaris",
        make: s1::fig5,
    },
    PageSpec { id: "S1-fig6", title: "Distribution of the response time at 1 % loss", make: s1::fig6 },
    PageSpec { id: "S1-fig7", title: "Response time of SCTP over the rate of requests", make: s1::fig7 },
    PageSpec {
        id: "S1-fig8",
        title: "Linux TCP: response time over the rate of each connection",
        make: s1::fig8,
    },
    PageSpec {
        id: "S1-fig9",
        title: "Solaris TCP: response time over the rate of each connection",
        make: s1::fig9,
    },
    PageSpec {
        id: "S2-table1",
        title: "Ordered and unordered delivery, losses of the buffer",
        make: s2::table1,
    },
    PageSpec { id: "S2-table2", title: "Ordered and unordered delivery, induced loss", make: s2::table2 },
    PageSpec { id: "S2-table3", title: "Ordered and unordered delivery beside TCP flows", make: s2::table3 },
    PageSpec { id: "S2-fig5", title: "One dropped packet over UDP and SCTP", make: s2::fig5 },
    PageSpec { id: "S2-fig6", title: "Delivery behind a loss with and without order", make: s2::fig6 },
    PageSpec { id: "S2-load", title: "Delays over the load, up to the edge of stability", make: s2::load },
    PageSpec { id: "S2-order", title: "What order costs over loss", make: s2::order },
    PageSpec {
        id: "S2-idle",
        title: "A burst after silence, with and without window validation",
        make: s2::idle,
    },
    PageSpec { id: "S2-timer", title: "The timer of UDP: 500 ms, or from the round trip", make: s2::timer },
    PageSpec {
        id: "S2-fragments",
        title: "Requests in fragments, and a path MTU that falls",
        make: s2::fragments,
    },
    PageSpec { id: "S3-fig2", title: "Throughput of SCTP over message size", make: s3::fig2 },
    PageSpec { id: "S3-fig3", title: "Throughput of SCTP over delay, 100-octet messages", make: s3::fig3 },
    PageSpec { id: "S3-fig4", title: "Throughput of SCTP over delay, 1000-octet messages", make: s3::fig4 },
    PageSpec { id: "S3-fig5", title: "Nagle on and off", make: s3::fig5 },
    PageSpec { id: "S3-fig6", title: "TCP and SCTP, 1000-octet messages", make: s3::fig6 },
    PageSpec { id: "S3-fig7", title: "TCP and SCTP, 100-octet messages", make: s3::fig7 },
    PageSpec {
        id: "S3-beyond",
        title: "Messages beyond the MTU, IPv6, and the delays of TCP",
        make: s3::beyond,
    },
    PageSpec { id: "S4-table1", title: "Response times of firewall control by transport", make: s4::table1 },
    PageSpec { id: "S4-fig16", title: "Response time over loss, SCTP and TCP", make: s4::fig16 },
    PageSpec { id: "S4-fig17", title: "Response time over the number of streams", make: s4::fig17 },
    PageSpec { id: "S4-fig18", title: "Distribution of the response time", make: s4::fig18 },
    PageSpec { id: "S4-fig19", title: "Response time over the rate of transactions", make: s4::fig19 },
    PageSpec { id: "S4-calls", title: "Calls over the path of the study", make: s4::calls },
    PageSpec { id: "S4-answer", title: "The answer of a call behind a firewall", make: s4::answer },
    PageSpec {
        id: "S5-table1",
        title: "The start-up model against the simulator, constant bit rate",
        make: s5::table1,
    },
    PageSpec {
        id: "S5-moved",
        title: "Start-up after a handover: an association that moves",
        make: s5::moved,
    },
    PageSpec { id: "S5-fig3", title: "Video of variable bit rate on a new path", make: s5::fig3 },
    PageSpec {
        id: "S5-fig4",
        title: "Start-up penalty over interval, round-trip time and size",
        make: s5::fig4,
    },
    PageSpec {
        id: "S5-resumed",
        title: "After a handover, a start-up that knows what is wanted",
        make: s5::resumed,
    },
    PageSpec {
        id: "now-streams",
        title: "Streams of SCTP, streams of QUIC, parallel TCP connections",
        make: now::streams,
    },
    PageSpec { id: "now-timer", title: "The rule or the timer", make: now::timer },
    PageSpec {
        id: "now-large",
        title: "A large message before small ones: who waits at the sender",
        make: now::large,
    },
    PageSpec {
        id: "now-path",
        title: "A path dies: multihomed SCTP, TCP that connects again, QUIC that migrates",
        make: now::path,
    },
    PageSpec {
        id: "now-blocked",
        title: "What the blocked-time counter says about a path",
        make: now::blocked,
    },
    PageSpec { id: "now-burst", title: "A burst of INVITEs into a short queue", make: now::burst },
    PageSpec {
        id: "now-redundancy",
        title: "Messages that travel twice: a loss costs the time until the next one",
        make: now::redundancy,
    },
];

/// Searches for what S2 does not publish, with the seeds of `effort`; the nearest settings in words.
///
/// # Errors
/// When a run cannot be made, or somebody wants to stop.
pub fn search(effort: &Effort) -> Result<String, StudyError> {
    s2::search(effort)
}

/// Returns the page with this id, in any case.
#[must_use]
pub fn page(id: &str) -> Option<&'static PageSpec> {
    PAGES.iter().find(|page| page.id.eq_ignore_ascii_case(id))
}

/// Returns where a study was published.
fn source(study: &str) -> &'static str {
    match study {
        "S1" => "Scharf, Kiesel: Head-of-line Blocking in TCP and SCTP, GLOBECOM 2006",
        "S2" => {
            "Camarillo, Kantola, Schulzrinne: Evaluation of Transport Protocols for SIP, IEEE Network 2003"
        }
        "S3" => "Copaciu, Dobrota, Blaga, Moraru: Performance Analysis of SCTP, 2004",
        "S4" => {
            "Kiesel, Scharf: Modeling and performance evaluation of transport protocols for firewall control, Computer Networks 2007"
        }
        "S5" => "Eklund, Grinnemo, Brunstrom and others: Delay Penalty during SCTP Handover, 2011",
        "now" => "Questions of today, answered with the stacks of today: a study of our own",
        _ => "",
    }
}
