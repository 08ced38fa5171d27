//! `p_n` and `Δ_n` in closed form: what S5 uses and does not print. `docs/startup.md` derives it.

use core::num::NonZeroU32;
use core::time::Duration;

use super::{MessageTransfer, Startup, WindowRule};
use crate::error::ModelError;

/// Returns the transfer of the `number`-th message if the window is used up from the first packet on.
///
/// With `w` packets in the first flight, each acknowledgment releasing two, and `k` packets per message, the last
/// packet of message `n` is packet `m = n·k − 1`, counted from zero. Then `p_n = ⌊log₂(m/w + 1)⌋`, and the chain of
/// acknowledgments that releases it begins at packet `⌊(m − w(2^p_n − 1))/2^p_n⌋` of the first flight, which left when its
/// message arrived: at `Δ_n`. `D_n = max(0, p_n·RTT + Δ_n − α_n)`.
///
/// Equal to [`predict`](super::predict) for messages of one size of packet until the source runs out of data, the worst
/// message included; from then on too short, for a window that is not used does not grow. Messages of several sizes
/// of packet count as packets of the mean size.
///
/// # Errors
/// [`ModelError::ZeroDuration`] if the interval is zero, [`ModelError::MtuTooSmall`] if no user data fits,
/// [`ModelError::TooLarge`] if a time does not fit.
pub fn closed_form(startup: &Startup, number: NonZeroU32) -> Result<MessageTransfer, ModelError> {
    if startup.interval.is_zero() {
        return Err(ModelError::ZeroDuration { quantity: "the message interval" });
    }
    let packets = u64::from(startup.message_bytes.get().div_ceil(startup.fragment_bytes()?));
    let first_flight = first_flight(startup, packets);
    let last_packet = u64::from(number.get()) * packets - 1;
    let rounds = ((last_packet + first_flight) / first_flight).ilog2();
    let in_round = last_packet - first_flight * ((1 << rounds) - 1);
    let root = (in_round >> rounds) / packets;
    let too_large = ModelError::TooLarge { quantity: "the arrival of the message" };
    let arrival_of = |index: u64| {
        let index = u32::try_from(index).map_err(|_| too_large)?;
        startup.interval.checked_mul(index).ok_or(too_large)
    };
    let arrival = arrival_of(u64::from(number.get()) - 1)?;
    let offset = arrival_of(root)?;
    let released = startup.rtt.checked_mul(rounds).and_then(|rounds| rounds.checked_add(offset));
    let waiting = released.ok_or(too_large)?.saturating_sub(arrival);
    let transfer = startup.rtt / 2 + waiting;
    Ok(MessageTransfer { number: number.get(), arrival, rounds, offset, waiting, transfer })
}

/// Returns `w`, the packets that leave before the first acknowledgment is needed, at least one.
fn first_flight(startup: &Startup, packets_per_message: u64) -> u64 {
    let window = u64::from(startup.initial_window_bytes.get()) * packets_per_message;
    let counted = u64::from(startup.message_bytes.get());
    match startup.window_rule {
        WindowRule::WithinWindow => (window / counted).max(1),
        WindowRule::Overbooking => {
            window.div_ceil(counted + packets_per_message * u64::from(super::CHUNK_HEADER_BYTES))
        }
    }
}

/// Returns the penalty that the closed form gives: the largest `D_n`, and the message that has it.
///
/// # Errors
/// As [`closed_form`].
pub fn closed_form_penalty(startup: &Startup) -> Result<(NonZeroU32, Duration), ModelError> {
    let mut worst = (NonZeroU32::MIN, Duration::ZERO);
    let mut number = NonZeroU32::MIN;
    loop {
        let message = closed_form(startup, number)?;
        if message.waiting > worst.1 {
            worst = (number, message.waiting);
        }
        // From here on a round takes in more messages than arrive in it: nobody waits longer than before.
        let arrived = message.arrival.saturating_sub(message.offset);
        let is_past = message.waiting.is_zero() && arrived > startup.rtt.saturating_mul(message.rounds);
        if is_past || number.get() >= MOST {
            return Ok(worst);
        }
        number = number.saturating_add(1);
    }
}

/// No start-up with a finite penalty is longer.
const MOST: u32 = 100_000;
