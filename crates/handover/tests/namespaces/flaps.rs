//! A network that comes and goes ten times a second, at its own pace, whatever the association does.

use tokio::time::MissedTickBehavior;

use super::*;

const FLAPS: usize = 50;

/// The first three flaps are followed, then the interface is damped: add, and six changes of the primary address. The last
/// one may be asked for before the mover hears of the flap that damps.
const MOST_REQUESTS: u64 = 8;

#[test]
fn network_that_flaps_ten_times_a_second_costs_a_bounded_number_of_requests() {
    travel("make-before-break", async |network, mover, talk| {
        mover.set_damping(slow_to_forgive());
        network.join(WLAN);
        until_agreed(mover, Action::SetPrimary(address(WLAN))).await;
        moves_through_flaps(network, WLAN, mover).await;
        moves_while(mover, talk).await;
        let asked = talk.association.statistics().asconf;
        assert!((2..=MOST_REQUESTS).contains(&asked.sent), "{asked:?}");
    });
}

/// There is nothing else, so nobody has to be asked for anything: the peer knows the address already.
#[test]
fn only_network_that_flaps_ten_times_a_second_carries_the_talk_in_between() {
    travel("make-before-break", async |network, mover, talk| {
        moves_through_flaps(network, MOBILE, mover).await;
        moves_while(mover, talk).await;
        let asked = talk.association.statistics().asconf;
        assert_eq!((asked.sent, asked.retransmissions), (0, 0), "{asked:?}");
    });
}

/// Drives the mover while a network flaps; it is there at the end.
async fn moves_through_flaps(network: &Arc<Network>, access: Access, mover: &mut Mover) {
    let world = Arc::clone(network);
    let mut flapping = tokio::task::spawn_blocking(move || run(flap(&world, access)));
    loop {
        tokio::select! {
            over = &mut flapping => return over.unwrap(),
            report = mover.next() => {
                let report = report.unwrap();
                assert!(!matches!(report, Report::NotAsked { .. } | Report::Blind { .. }), "{report}");
            }
        }
    }
}

/// Half of the time there, half of the time away; less often where the machine is too slow.
async fn flap(network: &Network, access: Access) {
    let mut half = tokio::time::interval(Duration::from_millis(50));
    half.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for _ in 0..FLAPS {
        half.tick().await;
        network.leave(access);
        half.tick().await;
        network.join(access);
    }
}
