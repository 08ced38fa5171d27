//! What losses cost where messages travel twice: the next message brings what the last one lost.
//!
//! A packet of new data carries what is not acknowledged once more, so that nothing has to find a loss. Our own model, for messages
//! that come as a Poisson process and do not wait for each other.

use core::time::Duration;

use crate::{Probability, Rate};

/// Returns the mean response time less the round trip, of requests that are echoed at once over a path that loses packets
/// independently both ways.
///
/// A lost message waits for the first of three: the next message, after `Exp(λ)`; where the last one was four round trips ago or more
/// (`q = e^(−4λ·RTT)`), its early copy after `RTT/4`; the probe, after `2·RTT`. What brings it is lost itself with the probability `p`,
/// and then the next one does:
///
/// `E = 2·p/(1−p)·((1−q)·w(2·RTT) + q·w(RTT/4))`, where `w(t) = (1 − e^(−λt))/λ` is the mean of the shorter of `Exp(λ)` and `t`.
///
/// Good where a loss of what mends is rare or the next message is near; for thin flows at several percent too low, because
/// then a probe has to mend what the early copy did not.
#[must_use]
pub fn excess(rtt: Duration, loss: Probability, rate: Rate) -> Duration {
    let (rtt, rate) = (rtt.as_secs_f64(), rate.value());
    let shorter = |time: f64| -(-rate * time).exp_m1() / rate;
    let alone = (-PAUSE * rate * rtt).exp();
    let wait = (1.0 - alone) * shorter(PROBE * rtt) + alone * shorter(EARLY * rtt);
    Duration::from_secs_f64(2.0 * loss.value() / loss.complement() * wait)
}

/// Round trips without a message after which the next one is copied early.
const PAUSE: f64 = 4.0;
/// Round trips until an early copy.
const EARLY: f64 = 0.25;
/// Round trips until a probe.
const PROBE: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn excess_ms(loss: f64, rate: f64) -> f64 {
        let (loss, rate) = (Probability::new(loss).unwrap(), Rate::per_second(rate).unwrap());
        excess(Duration::from_millis(20), loss, rate).as_secs_f64() * 1e3
    }

    #[test]
    fn busy_flow_waits_for_its_next_message_and_a_thin_one_for_its_early_copy() {
        let near = |value: f64, wanted: f64| (value - wanted).abs() < 0.02 * wanted;
        // Ten milliseconds between messages, for 2 % of the requests.
        assert!(near(excess_ms(0.01, 100.0), 0.2 / 0.99 * (1.0 - (-4.0_f64).exp())));
        // Five milliseconds for nearly all.
        assert!(near(excess_ms(0.01, 0.01), 0.1 / 0.99));
    }

    #[test]
    fn nothing_is_lost_without_losses_and_many_messages_leave_nothing_to_wait_for() {
        assert!(excess_ms(0.0, 100.0) < 1e-9);
        assert!(excess_ms(0.05, 100_000.0) < 0.002);
    }
}
