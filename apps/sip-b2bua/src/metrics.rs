//! The page that Prometheus reads (text format 0.0.4).

use call_core::{BOUNDS_MS, Calls, Histogram};
use daemon::Page;

use crate::connections::Sockets;
use crate::records::Records;

/// Writes the page.
pub(crate) fn page(
    calls: &Calls,
    sockets: &Sockets,
    records: &Records,
    middleboxes: &[(String, bool)],
) -> String {
    let mut page = Page::default();
    of_calls(&mut page, calls);
    of_firewall(&mut page, calls, middleboxes);
    of_messages(&mut page, calls);
    page.plain("sip_connections", "gauge", "Connections of TCP and SCTP.", sockets.connections());
    page.plain("sip_turned_away_total", "counter", "Connections beyond a limit.", sockets.turned_away);
    page.plain("sip_unsent_total", "counter", "Messages that no socket took.", sockets.unsent);
    page.plain("sip_records_lost_total", "counter", "Call records that could not be written.", records.lost);
    page.into_text()
}

fn of_calls(page: &mut Page, calls: &Calls) {
    let counters = calls.counters();
    page.plain("sip_calls", "gauge", "Calls alive, ringing or answered.", calls.len());
    page.plain("sip_calls_begun_total", "counter", "Calls that began.", counters.begun);
    page.plain("sip_calls_answered_total", "counter", "Calls that were answered.", counters.answered);
    let ended = counters.ended.iter().map(|(cause, count)| ((*cause).to_owned(), *count));
    page.labelled("sip_calls_ended_total", "Calls that ended, by the cause.", "cause", ended);
    let refused = counters.refused.iter().map(|(reason, count)| ((*reason).to_owned(), *count));
    page.labelled(
        "sip_calls_refused_total",
        "New calls that were refused, by the reason.",
        "reason",
        refused,
    );
    page.plain(
        "sip_early_media_refused_total",
        "counter",
        "Provisional responses passed on without their unusable session description.",
        counters.early_media_refused,
    );
    let name = "sip_setup_seconds";
    histogram(page, name, "From INVITE to the answer passed on.", &counters.setup);
    let name = "sip_firewall_seconds";
    histogram(page, name, "How long the firewall held the answer back.", &counters.firewall);
}

fn of_firewall(page: &mut Page, calls: &Calls, middleboxes: &[(String, bool)]) {
    let counters = calls.counters();
    page.plain("sip_pinholes", "gauge", "Pinholes open or asked for.", calls.pinholes());
    page.plain("sip_pinholes_granted_total", "counter", "Pinholes that were opened.", counters.granted);
    let denied = counters.denied.iter().map(|(reason, count)| ((*reason).to_owned(), *count));
    page.labelled("sip_pinholes_denied_total", "Pinholes that were not, by the reason.", "reason", denied);
    page.plain(
        "sip_pinholes_reopened_total",
        "counter",
        "Pinholes that were gone and asked for again.",
        counters.reopened,
    );
    let up = middleboxes.iter().map(|(name, is_up)| (name.clone(), u64::from(*is_up)));
    page.labelled_gauge("sip_middlebox_up", "1 if there is a session with the middlebox.", "middlebox", up);
}

fn of_messages(page: &mut Page, calls: &Calls) {
    let endpoint = calls.endpoint();
    let counters = endpoint.counters();
    page.plain("sip_transactions", "gauge", "Transactions alive.", endpoint.transactions());
    for (name, help, value) in [
        ("sip_requests_total", "Requests that came.", counters.requests),
        ("sip_responses_total", "Responses that came.", counters.responses),
        ("sip_sent_total", "Messages sent.", counters.sent),
        ("sip_repeated_total", "Messages sent once more.", counters.repeated),
        ("sip_repetitions_total", "Messages of peers that came once more.", counters.repetitions),
        ("sip_unreadable_total", "Octets that were no message.", counters.unreadable),
        ("sip_refused_total", "Requests that were refused without a transaction.", counters.refused),
        ("sip_overloaded_total", "Of these, for too many transactions.", counters.overloaded),
        ("sip_unanswerable_total", "Requests that could not be answered.", counters.unanswerable),
        ("sip_stray_responses_total", "Responses to nothing.", counters.stray_responses),
        ("sip_stray_acks_total", "ACKs for nothing.", counters.stray_acks),
        ("sip_unacknowledged_total", "Answers that nobody acknowledged.", counters.unacknowledged),
    ] {
        page.plain(name, "counter", help, value);
    }
}

fn histogram(page: &mut Page, name: &str, help: &str, of: &Histogram) {
    page.histogram(name, help, BOUNDS_MS.into_iter().zip(of.counts), of.count, of.sum);
}
