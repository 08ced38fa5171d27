//! What a plan says, and what it says about its errors.

use super::*;

const PLAN: &str = r#"title = "two hosts"
seeds = 3
hosts = ["client", "server"]

[links.wan]
between = ["client", "server"]
delay = "10ms"
loss = "1%"

[flows.sip]
from = "client"
to = "server"
transport = "sctp:1"
rate = 100

[stop]
messages = 100

[factors]
"links.wan.loss" = ["0%", "1%", 0.02]
flows.sip.transport = ["tcp", "udp"]
"#;

fn refusal(from: &str, to: &str) -> PlanError {
    assert!(PLAN.contains(from));
    Plan::parse(&PLAN.replacen(from, to, 1)).unwrap_err()
}

#[test]
fn cells_are_all_combinations_of_levels() {
    let plan = Plan::parse(PLAN).unwrap();
    assert_eq!((plan.seeds.as_slice(), plan.cells.len()), (&[1, 2, 3][..], 6));
    let levels =
        |cell: &Cell| cell.factors.iter().map(|(_, level)| level.to_string()).collect::<Vec<_>>().join(" ");
    let all: Vec<String> = plan.cells.iter().map(levels).collect();
    assert_eq!(all[..3], [r#""0%" "tcp""#, r#""0%" "udp""#, r#""1%" "tcp""#]);
    let (_, flow) = plan.cells[5].scenario.flows.iter().next().unwrap();
    assert_eq!(flow.transport.0.to_string(), "udp");
    let (_, link) = plan.cells[5].scenario.links.iter().next().unwrap();
    assert_eq!(link.request().loss.mean(), 0.02);
}

#[test]
fn errors_name_line_and_key() {
    let at = |error: &PlanError| (error.line, error.key.clone());
    let error = refusal("\"10ms\"", "10");
    assert_eq!(at(&error), (7, "links.wan.delay".to_owned()), "{error}");
    assert!(error.because.contains("unit"), "{error}");
    assert_eq!(at(&refusal("delay =", "dealy =")), (7, "links.wan.dealy".to_owned()));
    let error = refusal("loss = \"1%\"", "mtu = 67");
    assert_eq!(
        (at(&error), &*error.because),
        ((8, "links.wan.mtu".to_owned()), "must be at least 68 octets")
    );
    assert_eq!(at(&refusal("rate = 100\n", "\n")), (10, "flows.sip.rate".to_owned()));
    assert_eq!(at(&refusal("to = \"server\"", "to = \"sevrer\"")), (12, "flows.sip.to".to_owned()));
    assert_eq!(at(&refusal("\"udp\"", "\"upd\"")), (21, "flows.sip.transport".to_owned()));
    assert_eq!(at(&refusal("\"links.wan.loss\"", "\"links.lan.jitter.x\"")).0, 20);
    assert_eq!(refusal("title = \"two hosts\"", "heading = \"x\"").key, "title");
    assert_eq!(at(&refusal("seeds = 3", "seeds = 3 4")).0, 2);
    assert_eq!(at(&refusal("seeds = 3", "seeds = 0")).0, 2);
    assert_eq!(at(&refusal("\"1%\", 0.02", "1")), (20, "links.wan.loss".to_owned()));
}

#[test]
fn cases_change_several_values_at_once() {
    let text = PLAN.replace("flows.sip.transport = [\"tcp\", \"udp\"]\n", "").replace(
        "[factors]",
        "[cases.day]\nflows.sip.rate = 200\nlinks.wan.delay = \"20ms\"\n[cases.night]\n\"flows.sip.rate\" = 2\n[factors]",
    );
    let plan = Plan::parse(&text).unwrap();
    assert_eq!(plan.cells.len(), 6);
    let (name, level) = plan.cells[1].factors.last().unwrap();
    assert_eq!((name.as_str(), level.as_str()), ("case", Some("night")));
}

#[test]
fn the_text_of_a_cell_is_a_plan_of_one_cell_that_says_the_same() {
    let plan = Plan::parse(PLAN).unwrap();
    for cell in &plan.cells {
        let alone = Plan::parse(&format!("title = \"alone\"\n{}", cell.text)).unwrap();
        assert_eq!(alone.cells[0].text, cell.text);
        assert_eq!(format!("{:?}", alone.cells[0].scenario), format!("{:?}", cell.scenario));
    }
}

#[test]
fn the_text_of_a_cell_knows_neither_spaces_nor_the_order_of_keys_but_that_of_flows() {
    let text = |from: &str, to: &str| Plan::parse(&PLAN.replacen(from, to, 1)).unwrap().cells[0].text.clone();
    let swapped = text("delay = \"10ms\"\nloss = \"1%\"", "loss  =  '1%' # as ever\ndelay = \"10ms\"");
    assert_eq!(swapped, text("", ""));
    let (left, right) = ("{ from = \"client\", to = \"server\", transport = \"tcp\", rate = 1 }", "[stop]");
    let two = |first: &str| {
        let other = if first == "a" { "b" } else { "a" };
        text(right, &format!("[flows]\n{first} = {left}\n{other} = {left}\n[stop]"))
    };
    let plain = "[flows.sip]";
    assert!(PLAN.contains(plain));
    assert_ne!(two("a"), two("b"));
}

#[test]
fn a_campaign_says_how_precise_it_wants_to_be() {
    let with =
        |lines: &str| Plan::parse(&PLAN.replacen("[stop]", &format!("[campaign]\n{lines}\n[stop]"), 1));
    let precision = with("half_width = \"2%\"").unwrap().precision.unwrap();
    assert_eq!((precision.figure.as_str(), precision.every), ("response_ms.mean", 10));
    for (lines, key) in [
        ("half_width = 0", "campaign.half_width"),
        ("half_width = 0.02\nevery = 9", "campaign.every"),
        ("every = 10", "campaign"),
    ] {
        let error = with(lines).unwrap_err();
        assert_eq!((error.line, error.key.as_str()), (16, key), "{error}");
    }
}
