//! The scenarios that run on real packets, and the reasons why not the others.

use crate::simulation::{AddressFamily, Scenario, SimulationError};
use crate::traffic::Workload;
use crate::transport::FlowSeed;

/// Returns whether a scenario can run.
///
/// # Errors
/// The first thing that namespaces do not have, by its key in the plan.
pub(crate) fn can_run(scenario: &Scenario) -> Result<(), SimulationError> {
    let refuse = |key: &str, because: &str| Err(SimulationError::new(key, format!("{because}; {REMEDY}")));
    if !scenario.routers.is_empty() {
        return refuse("routers", "namespaces are joined by one link, without routers");
    }
    if scenario.addresses == AddressFamily::Ipv6 {
        return refuse("addresses", "the emulated link has IPv4 addresses");
    }
    if scenario.switch_after.is_some() {
        return refuse("switch_after", "each namespace has one address");
    }
    scenario.check_handover()?;
    let mut links = scenario.links.iter();
    let (Some((_, link)), None) = (links.next(), links.next()) else {
        return refuse("links", "namespaces are joined by one link");
    };
    for (index, (name, flow)) in scenario.flows.iter().enumerate() {
        let refuse_flow = |key: &str, because: &str| refuse(&format!("flows.{name}.{key}"), because);
        if [&flow.from, &flow.to] != [&link.between[0], &link.between[1]] {
            return refuse_flow(
                "from",
                "on real packets flows go from the first end of the link to the second",
            );
        }
        if !flow.workload.is_answered() {
            let because = format!("on real packets response times are measured: {}", Workload::answered());
            return refuse_flow("workload", &because);
        }
        if !flow.start.0.is_zero() {
            return refuse_flow("start", "on real packets flows begin at once");
        }
        if let Some((key, because)) = flow.transport.0.transport().refused_on_real_packets(flow) {
            return refuse_flow(key, because);
        }
        let number = u8::try_from(index + 1).map_err(|_| SimulationError::TooMany { what: "flows" })?;
        let plan = flow.client_plan(&scenario.stop, FlowSeed { run: 1, number });
        plan.map_err(|error| SimulationError::new(format!("flows.{name}.{}", error.key), error.because))?;
    }
    Ok(())
}

const REMEDY: &str = "leave it out, or run it in the simulator";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    const PLAN: &str = include_str!("../../../../../plans/response-time.toml");

    fn refusal(from: &str, to: &str) -> Option<String> {
        let plan = Plan::parse(&PLAN.replace(from, to)).unwrap();
        plan.cells.iter().find_map(|cell| can_run(&cell.scenario).err()).map(|error| error.parts().0)
    }

    #[test]
    fn what_namespaces_do_not_have_is_refused_by_its_key() {
        assert_eq!(refusal("", ""), None, "every transport of the plan runs");
        let key = |from, to| refusal(from, to).unwrap();
        assert_eq!(key("[flows.requests]", "[flows.requests]\nstart = \"1s\""), "flows.requests.start");
        assert_eq!(key("\"echo\"", "\"messages\""), "flows.requests.workload");
        assert_eq!(
            key("from = \"client\"\nto = \"server\"", "from = \"server\"\nto = \"client\""),
            "flows.requests.from"
        );
        let routers = "hosts = [\"client\", \"server\"]\nrouters = [\"middle\"]";
        assert_eq!(key("hosts = [\"client\", \"server\"]", routers), "routers");
        let tcp = "[flows.requests.tcp]\nnagle = true\n[stop]";
        assert_eq!(key("[stop]", tcp), "flows.requests.tcp");
        let carrier = "[flows.requests.sctp]\ncarrier = \"ip\"\n[stop]";
        assert_eq!(key("[stop]", carrier), "flows.requests.sctp.carrier");
    }

    #[test]
    fn the_kernels_congestion_control_can_be_chosen() {
        assert_eq!(refusal("[stop]", "[flows.requests.tcp]\ncongestion = \"reno\"\n[stop]"), None);
    }
}
