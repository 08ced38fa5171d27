//! The result as people and programs get it: a page with a picture, and JSON.

use std::time::Duration;

use emulator::LinkState;
use lab::Origin;
use lab::report::{Axis, Figure, Mark, Page, Series, Table};
use mobility::Rule;
use serde::Serialize;
use workload::Spread;

use super::hosts::{DEADLINE, FRAME_BYTES, FRAME_INTERVAL};
use super::network::Network;
use super::record::{Movement, Record};

/// The result, as JSON.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    headway: &'static str,
    commit: String,
    command: Vec<String>,
    started: String,
    frames: Frames,
    delay_ms: Delays,
    longest_gap_ms: Option<f64>,
    movements: Vec<Moved>,
    switches: Vec<Switched>,
}

#[derive(Debug, Serialize)]
struct Frames {
    sent: usize,
    arrived: usize,
    missing: usize,
    duplicates: u64,
    late: usize,
    deadline_ms: f64,
}

#[derive(Debug, Serialize)]
struct Delays {
    p50: Option<f64>,
    p99: Option<f64>,
    max: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Moved {
    at_s: f64,
    from: Network,
    to: Network,
    rule: Option<Rule>,
    gap_ms: Option<f64>,
    late: usize,
}

#[derive(Debug, Serialize)]
struct Switched {
    at_s: f64,
    network: Network,
    on: bool,
}

impl Answer {
    pub(super) fn new(record: &Record, origin: &Origin) -> Self {
        let counts = record.counts();
        let movements = record.movements.iter().enumerate().map(|(index, movement)| Moved {
            at_s: movement.at.as_secs_f64(),
            from: movement.from,
            to: movement.to,
            rule: movement.rule,
            gap_ms: record.gap_of(index).map(millis),
            late: record.late_of(index),
        });
        let switches = record.switches.iter().map(|(at, network, state)| Switched {
            at_s: at.as_secs_f64(),
            network: *network,
            on: *state == LinkState::Up,
        });
        Self {
            headway: env!("CARGO_PKG_VERSION"),
            commit: origin.commit.clone(),
            command: origin.command.clone(),
            started: origin.started.clone(),
            frames: Frames {
                sent: counts.sent,
                arrived: counts.arrived,
                missing: counts.sent.saturating_sub(counts.arrived),
                duplicates: record.duplicates,
                late: counts.late,
                deadline_ms: millis(DEADLINE),
            },
            delay_ms: delays(record),
            longest_gap_ms: record.longest_gap().map(millis),
            movements: movements.collect(),
            switches: switches.collect(),
        }
    }
}

fn delays(record: &Record) -> Delays {
    let mut spread = Spread::new();
    record.frames.iter().filter_map(super::record::Frame::delay).for_each(|delay| spread.record(delay));
    let max = (spread.count() > 0).then(|| millis(spread.max()));
    Delays { p50: spread.told_quantile_ms(0.5, 0), p99: spread.told_quantile_ms(0.99, 0), max }
}

/// Returns the page, of which the terminal shows the words and tables.
pub(super) fn page(record: &Record, origin: &Origin) -> Page {
    let conditions = format!(
        "Frames of {FRAME_BYTES} octets in the mean, 30 a second, as in study S5, over SCTP from a fixed host to a mobile one; round trip {} ms by \
         network 1, {} ms by network 2. A frame is late after {} ms. Data begins on another path with what it used before (StartUp::RESUME). Real packets \
         in network namespaces.",
        Network::Mobile.round_trip().as_millis(),
        Network::Wlan.round_trip().as_millis(),
        DEADLINE.as_millis(),
    );
    let facts = [
        ("Command", format!("headway {}", origin.command.join(" "))),
        ("Started", origin.started.clone()),
        ("Headway", format!("{}, commit {}", env!("CARGO_PKG_VERSION"), origin.commit)),
        ("Policy of the mobile host", super::scene::POLICY.trim().replace('\n', " · ")),
    ];
    Page {
        id: "handover".to_owned(),
        conditions: vec![conditions],
        reading: reading(record),
        series: series(record),
        figures: vec![figure(record)],
        tables: vec![movements(record), log(record)],
        facts: facts.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        notes: vec!["--json FILE writes the numbers.".to_owned()],
        ..Page::default()
    }
}

fn reading(record: &Record) -> Vec<String> {
    let counts = record.counts();
    let missing = counts.sent.saturating_sub(counts.arrived);
    let first = if missing == 0 && record.duplicates == 0 {
        format!("All {} frames arrived, each once, over {} movements.", counts.sent, record.movements.len())
    } else {
        format!(
            "Of {} frames {} arrived, and {} came once more; {missing} were still under way at the end.",
            counts.sent, counts.arrived, record.duplicates
        )
    };
    let gap = record.longest_gap().map(|gap| {
        format!(
            "The longest time without a frame was {:.0} ms (two frames are {:.0} ms apart), and {} frames were late.",
            millis(gap),
            millis(FRAME_INTERVAL),
            counts.late
        )
    });
    [Some(first), gap].into_iter().flatten().collect()
}

fn figure(record: &Record) -> Figure {
    let end = record.arrivals.last().map_or(1.0, Duration::as_secs_f64);
    let x = Axis::linear("s").between(0.0, end);
    let y = Axis::log("ms until a frame was there").between(FLOOR_MS, top(record));
    let mut figure = Figure::new("delay", "Delay of each frame", x, y);
    figure.hint = "A frame has the colour of the network that was in use when it was sent; what was under way in a network that was lost came \
                   by the other one. Arrows at the top: a network is switched on (upwards) or off. Arrows below: frames go over another network. The association begins in slow start."
        .to_owned();
    figure
}

fn series(record: &Record) -> Vec<Series> {
    let top = top(record);
    let sent_by = |network: Network| {
        let frames = record.frames.iter().filter(move |frame| frame.by == Some(network));
        let points = frames.filter_map(|frame| Some((frame.due?.as_secs_f64(), millis(frame.delay()?))));
        coloured(Series::new("delay", network.name(), Mark::Dots, points), COLOURS[network.index()])
    };
    let switched_at = |network: Network| {
        let switches = record.switches.iter().filter(move |(_, switched, _)| *switched == network);
        let points = switches.flat_map(|(at, _, state)| {
            let (at, ends) = (at.as_secs_f64(), [top / 1.6, top]);
            let [from, to] = if *state == LinkState::Up { ends } else { [ends[1], ends[0]] };
            [(at, from), (at, to)]
        });
        let name = format!("{} on or off", network.name());
        coloured(Series::new("delay", name, Mark::Arrows, points), COLOURS[network.index()])
    };
    let moves = record.movements.iter().flat_map(|movement| {
        let at = movement.at.as_secs_f64();
        [(at, FLOOR_MS), (at, FLOOR_MS * 1.6)]
    });
    let end = record.arrivals.last().map_or(1.0, Duration::as_secs_f64);
    let deadline = [(0.0, millis(DEADLINE)), (end, millis(DEADLINE))];
    let mut all = vec![sent_by(Network::Mobile), sent_by(Network::Wlan)];
    all.push(coloured(Series::new("delay", "movement", Mark::Arrows, moves), 9));
    all.push(coloured(Series::new("delay", "deadline", Mark::Model, deadline), 8));
    all.extend(Network::BOTH.map(switched_at).into_iter().filter(|series| !series.points.is_empty()));
    all
}

fn coloured(series: Series, colour: usize) -> Series {
    Series { colour: Some(colour), ..series }
}

/// Returns the upper end of the axis, in ms.
fn top(record: &Record) -> f64 {
    let longest = record.frames.iter().filter_map(super::record::Frame::delay).max();
    2.5 * longest.map_or(0.0, millis).max(millis(DEADLINE))
}

fn movements(record: &Record) -> Table {
    let row = |(index, movement): (usize, &Movement)| {
        vec![
            format!("{:.2}", movement.at.as_secs_f64()),
            movement.from.name().to_owned(),
            movement.to.name().to_owned(),
            record.gap_of(index).map(|gap| format!("{:.0}", millis(gap))).unwrap_or_default(),
            record.late_of(index).to_string(),
            because(movement).to_owned(),
        ]
    };
    let rows = record.movements.iter().enumerate().map(row).collect();
    let head = ["at s", "from", "to", "gap ms", "late frames", "because"];
    let mut table = Table::new("Movements", &head, rows);
    table.hint =
        "Gap: the longest time without a frame in the second after the movement, with what had begun before."
            .to_owned();
    table
}

/// Returns the reason for a movement, in words.
pub(super) fn because(movement: &Movement) -> &'static str {
    movement.rule.map_or("the fixed host had no answer on the other path", Rule::reason)
}

fn log(record: &Record) -> Table {
    let rows = record.log.iter().map(|(at, line)| vec![format!("{:.3}", at.as_secs_f64()), line.clone()]);
    Table::new(LOG, &["at s", "what"], rows.collect())
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The table that lines have told already.
pub(super) const LOG: &str = "What happened";
pub(super) const TITLE: &str = "A video that goes from network to network";
/// The lower end of the axis, in ms.
const FLOOR_MS: f64 = 6.0;
/// The colours of the networks in the style sheet.
const COLOURS: [usize; 2] = [0, 4];
