//! What the models say about a transport under the conditions of a comparison.
//!
//! A prediction is given only where the models' assumptions hold: Poisson arrivals, messages of one packet, constant
//! delay, independent losses of the same probability in both directions. The processing time is that of the run, in
//! our model and in the studies' formulas (where δ = 0.5 ms is the studies' own constant).

use std::time::Duration;

use lab::{CompareConfig, Prediction, TransportSpec, milliseconds};
use models::resequencing::{self, Profile, Scenario, Transport};
use models::studies::{Conditions, Flow, s4};
use models::{ModelError, Probability, Rate};
use netem::{Impairments, Loss};

use crate::predict::{STUDY_RTO, s4_equation};

/// The prediction, where there is an honest one.
pub(super) fn predict(config: &CompareConfig, transport: TransportSpec) -> Option<Prediction> {
    let loss = common_loss(config)?;
    let is_poisson = config.traffic.arrivals.law == workload::Arrivals::Poisson;
    // Requests of an unreliable transport do not know of each other, so that their arrivals do not matter.
    if !is_poisson && !transport.is_unreliable() {
        return None;
    }
    if config.traffic.message_bytes.get() > ONE_PACKET_BYTES {
        return None;
    }
    let carrier = transport.model().ok()?;
    let rate = Rate::from_interval(config.traffic.interval).ok()?;
    let scenario = Scenario {
        rtt: config.rtt(),
        loss,
        rate,
        processing: config.processing,
        profile: profile(&config.profile)?,
        rto_min: None,
    };
    let model = resequencing::response_time(&scenario, &carrier).ok()?;
    let (study_ms, study) = match study(&scenario, carrier) {
        Ok((time, equations)) => (Some(milliseconds(time)), Some(equations.to_owned())),
        Err(_no_answer) => (None, None),
    };
    let ccdf = model.ccdf.iter().map(|point| (point.response_ms, point.probability)).collect();
    Some(Prediction { model_ms: milliseconds(model.mean), study_ms, study, ccdf })
}

/// The loss probability, if the path does nothing else than delay and lose, alike in both directions.
fn common_loss(config: &CompareConfig) -> Option<Probability> {
    let (request, response) = (&config.request_path, &config.response_path);
    let delay_and_loss_only = |path: &Impairments| {
        let plain = Impairments { delay: path.delay, loss: path.loss, ..Impairments::default() };
        *path == plain
    };
    if !delay_and_loss_only(request) || !delay_and_loss_only(response) || request.loss != response.loss {
        return None;
    }
    match request.loss {
        Loss::None => Some(Probability::ZERO),
        Loss::Bernoulli(p) => Probability::new(p.value()).ok(),
        Loss::GilbertElliott(_) => None,
    }
}

fn profile(name: &str) -> Option<Profile> {
    match name.parse::<sctp_core::Profile>().ok()? {
        sctp_core::Profile::Signalling | sctp_core::Profile::WebRtc => Some(Profile::Signalling),
        sctp_core::Profile::Rfc9260 => Some(Profile::Rfc9260),
        // Repeated fast retransmission is not modelled; the studies' own formulas are for it.
        sctp_core::Profile::Studies => None,
    }
}

/// The mean response time by S4, and its equations.
fn study(scenario: &Scenario, carrier: Transport) -> Result<(Duration, &'static str), ModelError> {
    let Scenario { rtt, loss, rate, processing, .. } = *scenario;
    let flow = match carrier {
        Transport::Tcp { connections } => Flow::Connections(connections),
        Transport::Sctp { streams } => Flow::Streams(streams),
        Transport::SctpUnordered => Flow::Unordered,
        Transport::Udp { first_timeout } => {
            let time = s4::udp_response_time(rtt, loss, first_timeout, processing)?;
            return Ok((time, "S4 (5)"));
        }
    };
    let conditions = Conditions { rtt, loss, rate, rto: STUDY_RTO, processing };
    Ok((s4::response_time(&conditions, flow)?.response_time, s4_equation(flow)))
}

/// The largest message that every transport carries in one packet of 1500 octets, a little rounded down.
const ONE_PACKET_BYTES: u32 = 1400;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(transport: &str, config: &CompareConfig) -> Option<Prediction> {
        predict(config, transport.parse().unwrap())
    }

    #[test]
    fn defaults_are_predicted_for_every_transport_by_model_and_study() {
        let config = CompareConfig::default();
        for transport in config.transports.as_slice() {
            let prediction = predict(&config, *transport).unwrap();
            assert!(prediction.model_ms > 20.0 && !prediction.ccdf.is_empty(), "{transport}");
            assert!(prediction.study.unwrap().starts_with("S4 ("), "{transport}");
        }
    }

    #[test]
    fn study_values_are_those_of_its_table_without_its_processing_time() {
        let config = CompareConfig::default();
        let study_ms = |transport| of(transport, &config).unwrap().study_ms.unwrap();
        assert!((study_ms("sctp:1") - (23.573 - 0.5)).abs() < 0.001);
        assert!((study_ms("sctp:1024") - (21.512 - 0.5)).abs() < 0.001);
        assert!((study_ms("udp") - (30.862 - 0.5)).abs() < 0.001);
        let held = CompareConfig { processing: Duration::from_micros(500), ..config.clone() };
        assert!((of("udp", &held).unwrap().study_ms.unwrap() - 30.862).abs() < 0.001);
    }

    #[test]
    fn where_assumptions_do_not_hold_there_is_no_prediction() {
        let mut asymmetric = CompareConfig::default();
        asymmetric.response_path.loss = Loss::None;
        assert_eq!(of("sctp:6", &asymmetric), None);
        let mut bursty = CompareConfig::default();
        bursty.request_path.loss = "ge:1%,30%".parse().unwrap();
        bursty.response_path.loss = bursty.request_path.loss;
        assert_eq!(of("udp", &bursty), None);
        let mut limited = CompareConfig::default();
        limited.request_path.rate = Some("1mbit".parse().unwrap());
        assert_eq!(of("tcp", &limited), None);
        let mut large = CompareConfig::default();
        large.traffic.message_bytes = "4KiB".parse().unwrap();
        assert_eq!(of("sctp:1", &large), None);
    }

    #[test]
    fn arrivals_matter_but_to_udp() {
        let mut constant = CompareConfig::default();
        constant.traffic.arrivals.law = workload::Arrivals::Constant;
        assert_eq!(of("sctp:6", &constant), None);
        assert!(of("udp", &constant).is_some());
    }

    #[test]
    fn udp_has_no_mean_where_waits_double_faster_than_retries_succeed() {
        let mut heavy = CompareConfig::default();
        heavy.request_path.loss = "30%".parse().unwrap();
        heavy.response_path.loss = heavy.request_path.loss;
        assert_eq!(of("udp", &heavy), None);
    }
}
