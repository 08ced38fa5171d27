use super::*;

fn scenario(rate: f64, profile: Profile) -> Scenario {
    Scenario {
        rtt: Duration::from_millis(20),
        loss: Probability::new(0.01).unwrap(),
        rate: Rate::per_second(rate).unwrap(),
        processing: Duration::ZERO,
        profile,
        rto_min: None,
    }
}

fn streams(number: u32) -> Transport {
    Transport::Sctp { streams: NonZeroU32::new(number).unwrap() }
}

#[test]
fn explore() {
    for profile in [Profile::Rfc9260, Profile::Signalling] {
        for rate in [1.0, 100.0, 1000.0] {
            let s = scenario(rate, profile);
            for t in [streams(1), streams(6), streams(1024), Transport::SctpUnordered] {
                let r = response_time(&s, &t).unwrap();
                println!("{profile:?} {rate} {t:?} {:?} det {:?} points {}", r.mean, r.detection, r.ccdf.len());
            }
            println!("{:?}", sufficient_streams(&s));
        }
    }
    for rate in [1.0, 100.0, 1000.0] {
        for n in [1, 4] {
            let r = response_time(&scenario(rate, Profile::Rfc9260), &Transport::Tcp { connections: NonZeroU32::new(n).unwrap() }).unwrap();
            println!("tcp {n} {rate} {:?} det {:?}", r.mean, r.detection);
        }
    }
}
