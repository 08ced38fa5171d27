//! Data that moves when the peer has measured the new way: the order of what the mover reports, and the trains that the peer has sent.

use sctp::{Event, StartUp};

use super::*;

/// The trains that the fixed host has sent to each address of the roaming one.
type Trains = Vec<(IpAddr, u64)>;

/// Echoes requests, and counts trains.
fn serve_and_measure(start_up: StartUp) -> (u32, Trains) {
    run(async {
        let at = FIXED.map(|address| address.parse().unwrap());
        let config = config_with(7, &at, start_up);
        let endpoint = Endpoint::builder(config).bind_addresses(&at, UDP_PORT).await.unwrap();
        let association = endpoint.accept().await.unwrap();
        let (mut requests, mut trains) = (0, Trains::new());
        while let Some(received) = association.recv().await.unwrap() {
            requests += 1;
            let paths = association.statistics().paths;
            trains = paths.iter().map(|path| (path.address, path.congestion.trains)).collect();
            association.send(received.message).await.unwrap();
        }
        (requests, trains)
    })
}

/// The roaming host finds a WLAN, and data moves there: the reports until the peer has agreed to that, and the trains to the WLAN.
fn move_to_wlan(handing: &'static str, fixed: StartUp) -> Option<(Vec<Report>, u64)> {
    let network = Network::new().map(Arc::new)?;
    network.join(MOBILE);
    let serving = network.spawn(Side::Fixed, move || serve_and_measure(fixed));
    let world = Arc::clone(&network);
    let roaming = network.spawn(Side::Roaming, move || {
        run(async {
            let (association, mut mover) = connect_with(handing, StartUp::PROBE).await;
            let mut talk = Talk::begin(association.clone());
            talk.goes_on().await;
            world.join(WLAN);
            let mut reports = Vec::new();
            let moved =
                Report::Answered { action: Action::SetPrimary(address(WLAN)), outcome: AddressOutcome::Done };
            while reports.last() != Some(&moved) {
                reports.push(mover.next().await.unwrap());
            }
            talk.goes_on().await;
            let answered = talk.end().await;
            association.shutdown().await.unwrap();
            (reports, answered)
        })
    });
    let ((reports, answered), (requests, trains)) = (roaming.join().unwrap(), serving.join().unwrap());
    assert_eq!(answered, requests, "nothing lost, nothing twice");
    let to_wlan = trains.iter().filter(|(to, _)| *to == address(WLAN)).map(|(_, trains)| *trains);
    Some((reports, to_wlan.sum()))
}

fn place(reports: &[Report], wanted: impl Fn(&Report) -> bool) -> Option<usize> {
    reports.iter().position(wanted)
}

fn awaits(report: &Report) -> bool {
    matches!(report, Report::Awaits { address: to } if *to == address(WLAN))
}

fn train(report: &Report) -> bool {
    matches!(report, Report::Association(Event::TrainReceived { local }) if *local == address(WLAN))
}

#[test]
fn data_moves_when_the_train_of_the_peer_has_come() {
    let Some((reports, trains)) = move_to_wlan("make-before-break", StartUp::PROBE) else { return };
    let order = [
        place(
            &reports,
            |report| matches!(report, Report::Decided(one) if one.action == Action::SetPrimary(address(WLAN))),
        ),
        place(&reports, awaits),
        place(&reports, train),
    ];
    assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{reports:#?}");
    assert_eq!(trains, 1, "what was measured before is not measured again");
}

#[test]
fn a_peer_that_does_not_measure_is_not_waited_for_for_ever() {
    let Some((reports, trains)) = move_to_wlan("make-before-break", StartUp::SlowStart) else { return };
    assert!(place(&reports, awaits).is_some() && place(&reports, train).is_none(), "{reports:#?}");
    assert_eq!(trains, 0);
}

#[test]
fn who_breaks_before_he_makes_does_not_wait() {
    let Some((reports, _)) = move_to_wlan("break-before-make", StartUp::PROBE) else { return };
    assert_eq!(place(&reports, awaits), None, "{reports:#?}");
}
