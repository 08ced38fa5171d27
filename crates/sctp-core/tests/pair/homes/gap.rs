//! A host that has no address for half a second: frames, thirty a second, from a round trip of 100 ms to one of 30 ms.

use netem::Impairments;
use sctp_core::{AutomaticAddresses, Offer, StartUp};

use crate::dynamic_addresses::ip;
use crate::net::{End, Pair, Setup, ms, ordered};

const ROUND_TRIP_MS: u64 = 30;
const FRAMES: [u64; 3] = [60, 15, 60];

/// Sends so many frames from this end.
fn show(pair: &mut Pair, from: End, frames: u64) {
    let begun = pair.now_ms();
    for frame in 0..frames {
        pair.send(from, ordered(0, usize::try_from(frame).unwrap(), 1200));
        let next = begun + (frame + 1) * 100 / 3;
        pair.run_ms(next - pair.now_ms());
    }
}

/// The left end moves while `from` sends; gives the milliseconds from its new address to each of the frames that were late, as read.
fn late_frames(from: End, start_up: StartUp, addresses: AutomaticAddresses) -> Vec<u64> {
    let setup = Setup::signalling().homes(&["10.0.0.1", "10.0.1.1"], &["10.0.0.2"]).on_one_link().telling(1);
    let mut setup = setup.configure(|config| {
        config.extensions.authentication = Offer::On;
        config.extensions.dynamic_addresses = Offer::On;
        config.paths.automatic_addresses = addresses;
        config.congestion.start_up = start_up;
    });
    let link = Impairments { delay: ms(50), ..Impairments::default() };
    (setup.request, setup.response) = (link.clone(), link);
    let mut pair = setup.build();
    pair.connect();
    pair.run_ms(500);
    let [before, without, after] = FRAMES;
    show(&mut pair, from, before);
    pair.cut();
    pair.with(End::Left, |side, now| side.endpoint.local_address_down(now, ip("10.0.0.1")));
    show(&mut pair, from, without);
    let there = Impairments { delay: ms(ROUND_TRIP_MS / 2), ..Impairments::default() };
    [End::Left, End::Right].into_iter().for_each(|end| pair.impair(end, there.clone()));
    pair.mend();
    let moved_at = pair.now_ms();
    pair.with(End::Left, |side, now| {
        side.endpoint.local_address_up(now, ip("10.0.1.1"));
        if addresses == AutomaticAddresses::Off {
            let id = side.id.unwrap();
            side.endpoint.add_local_address(now, id, ip("10.0.1.1")).unwrap();
        }
    });
    show(&mut pair, from, after);
    let to = if from == End::Left { End::Right } else { End::Left };
    let read = pair.read_times(to);
    assert_eq!(read.len() as u64, FRAMES.iter().sum::<u64>(), "each once");
    // Those of the last second were sent long after.
    let late = read.iter().zip(0..).filter(|&(at, number)| *at >= moved_at && number < before + without);
    late.map(|(at, _)| at - moved_at).collect()
}

/// The new address is asked for in one round trip (RFC 5061 §5.3), and data leaves with its answer; what the peer sends waits for the
/// HEARTBEAT by which it verifies the address. No timer that ran while there was no way to the peer delays either.
#[test]
fn frames_that_waited_for_an_address_leave_as_soon_as_it_is_agreed_on() {
    for (from, first_ms) in [(End::Left, 3 * ROUND_TRIP_MS / 2), (End::Right, 2 * ROUND_TRIP_MS)] {
        for start_up in [StartUp::SlowStart, StartUp::RESUME] {
            for addresses in [AutomaticAddresses::Off, AutomaticAddresses::On] {
                let late = late_frames(from, start_up, addresses);
                let case = format!("{from:?}, {start_up:?}, {addresses:?}: {late:?}");
                assert!(late.first().is_some_and(|first| *first <= first_ms), "{case}");
                // Sixteen frames from a window of three: slow start takes three round trips.
                assert!(late.last().is_some_and(|last| *last <= first_ms + 3 * ROUND_TRIP_MS), "{case}");
            }
        }
    }
}
