//! The predictions of the models for a transport under the conditions of a comparison.
//!
//! A prediction is given only where the models' assumptions hold: Poisson arrivals, messages of one packet, constant
//! delay, losses in both directions alike, independent or (over SCTP) in bursts that come and go with time. The processing time is that of the run, in
//! our model and in the studies' formulas (where δ = 0.5 ms is the studies' own constant).

use std::time::Duration;

use lab::{CompareConfig, Prediction, TransportSpec, milliseconds};
use models::resequencing::{self, Profile, Scenario, Transport, bursts};
use models::studies::{Conditions, s4};
use models::{ModelError, Probability, Rate};
use netem::{Bursts, Impairments, Loss};

use crate::predict::{STUDY_RTO, channel_in_time, s4_equation};

/// Returns the prediction, where there is an honest one, or why there is none.
pub(super) fn predict(config: &CompareConfig, transport: TransportSpec) -> Result<Prediction, String> {
    if config.handover.is_some() {
        return Err("the models are of one network".to_owned());
    }
    let losses = losses(config)?;
    let is_poisson = config.traffic.arrivals.law == workload::Arrivals::Poisson;
    // Requests of an unreliable transport do not know of each other, so that their arrivals do not matter.
    if !is_poisson && !transport.is_unreliable() {
        return Err("the models are of Poisson arrivals".to_owned());
    }
    if !config.workload.is_one_exchange() {
        return Err("the models are of one request and one response".to_owned());
    }
    if config.traffic.message_bytes.get() > ONE_PACKET_BYTES {
        return Err("the models are of messages of one packet".to_owned());
    }
    let carrier = transport.model()?;
    let in_words = |error: ModelError| error.to_string();
    let scenario = Scenario {
        rtt: config.rtt(),
        loss: Probability::new(config.request_path.loss.mean()).map_err(in_words)?,
        rate: Rate::from_interval(config.traffic.interval).map_err(in_words)?,
        processing: config.processing,
        profile: profile(&config.profile).ok_or("there is no model of this profile")?,
        rto_min: None,
    };
    let model = match losses {
        Losses::Independent => resequencing::response_time(&scenario, &carrier),
        Losses::Bursts(bursts) => channel_in_time(bursts, scenario.rate)
            .and_then(|channel| bursts::response_time(&scenario, &channel, &carrier)),
    };
    let model = model.map_err(in_words)?;
    let study = study(&scenario, carrier).ok().filter(|_| losses == Losses::Independent);
    let ccdf = model.ccdf.iter().map(|point| (point.response_ms, point.probability)).collect();
    Ok(Prediction {
        model_ms: milliseconds(model.mean),
        study_ms: study.map(|(time, _)| milliseconds(time)),
        study: study.map(|(_, equations)| equations.to_owned()),
        ccdf,
    })
}

/// Losses that there is a model of.
#[derive(Clone, Copy, PartialEq)]
enum Losses {
    Independent,
    Bursts(Bursts),
}

/// Returns the losses, if the path does nothing else than delay and lose, alike in both directions.
fn losses(config: &CompareConfig) -> Result<Losses, String> {
    let (request, response) = (&config.request_path, &config.response_path);
    let delay_and_loss_only = |path: &Impairments| {
        let plain = Impairments { delay: path.delay, loss: path.loss, ..Impairments::default() };
        *path == plain
    };
    if !delay_and_loss_only(request) || !delay_and_loss_only(response) {
        return Err("the models are of paths that do nothing else than delay and lose packets".to_owned());
    }
    if request.loss != response.loss {
        return Err("the models are of paths that lose alike in both directions".to_owned());
    }
    match request.loss {
        Loss::None | Loss::Bernoulli(_) => Ok(Losses::Independent),
        Loss::Bursts(bursts) => Ok(Losses::Bursts(bursts)),
        Loss::GilbertElliott(_) => {
            Err("a channel that steps with packets stands still while a sender waits, \
                                        which no model knows: there is one of bursts:GOOD,BAD"
                .to_owned())
        }
    }
}

fn profile(name: &str) -> Option<Profile> {
    match name.parse::<sctp_core::Profile>().ok()? {
        sctp_core::Profile::Signalling | sctp_core::Profile::WebRtc => Some(Profile::Signalling),
        sctp_core::Profile::Rfc9260 => Some(Profile::Rfc9260),
        // `studies` repeats fast retransmissions, which is not modelled; the studies' own formulas are for it.
        sctp_core::Profile::Studies | _ => None,
    }
}

/// Returns the mean response time by S4, and its equations.
fn study(scenario: &Scenario, carrier: Transport) -> Result<(Duration, &'static str), ModelError> {
    let Scenario { rtt, loss, rate, processing, .. } = *scenario;
    if let Transport::Udp { first_timeout } = carrier {
        return Ok((s4::udp_response_time(rtt, loss, first_timeout, processing)?, "S4 (10)"));
    }
    let flow = carrier.flow().ok_or(ModelError::NotModelled { what: "QUIC" })?;
    let conditions = Conditions { rtt, loss, rate, rto: STUDY_RTO, processing };
    Ok((s4::response_time(&conditions, flow)?.response_time, s4_equation(flow)))
}

/// The largest message that every transport carries in one packet of 1500 octets, a little rounded down.
const ONE_PACKET_BYTES: u32 = 1400;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(transport: &str, config: &CompareConfig) -> Option<Prediction> {
        predict(config, transport.parse().unwrap()).ok()
    }

    #[test]
    fn defaults_are_predicted_for_every_transport_by_model_and_but_for_quic_by_study() {
        let config = CompareConfig::default();
        for transport in config.transports.as_slice() {
            let prediction = predict(&config, *transport).unwrap();
            assert!(prediction.model_ms > 20.0 && !prediction.ccdf.is_empty(), "{transport}");
            let study = prediction.study.filter(|equations| equations.starts_with("S4 ("));
            assert_eq!(study.is_some(), transport.protocol() != "quic", "{transport}");
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
        let because = predict(&bursty, "udp".parse().unwrap()).unwrap_err();
        assert!(because.contains("bursts:GOOD,BAD"), "{because}");
        let mut limited = CompareConfig::default();
        limited.request_path.rate = Some("1mbit".parse().unwrap());
        assert_eq!(of("tcp", &limited), None);
        let mut large = CompareConfig::default();
        large.traffic.message_bytes = "4KiB".parse().unwrap();
        assert_eq!(of("sctp:1", &large), None);
    }

    #[test]
    fn bursts_are_predicted_over_sctp_and_elsewhere_it_is_said_that_they_are_not() {
        let mut bursty = CompareConfig::default();
        bursty.request_path.loss = "bursts:1980ms,20ms".parse().unwrap();
        bursty.response_path.loss = bursty.request_path.loss;
        let prediction = of("sctp:1", &bursty).unwrap();
        assert!(prediction.model_ms > 20.0 && prediction.study.is_none());
        let because = predict(&bursty, "tcp".parse().unwrap()).unwrap_err();
        assert!(because.contains("bursts"), "{because}");
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
