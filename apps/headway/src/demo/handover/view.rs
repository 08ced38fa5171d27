//! The live view on a terminal, and its keys.

use std::io;
use std::sync::mpsc::TryRecvError;
use std::time::Duration;

use emulator::LinkState;
use lab::StopSignal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Paragraph, Row, Sparkline, SparklineBar, Table};
use ratatui::{DefaultTerminal, Frame as Screen};
use sctp::PathState;

use super::end_if_over;
use super::hosts::DEADLINE;
use super::network::Network;
use super::page::because;
use super::record::Record;
use super::scene::Scene;

/// Shows what happens, and does what keys say, until both hosts have ended.
pub(super) fn watch(
    scene: &Scene,
    record: &mut Record,
    length: Option<Duration>,
    stop: &StopSignal,
) -> io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let watched = watch_on(&mut terminal, scene, record, length, stop);
    ratatui::try_restore()?;
    watched
}

fn watch_on(
    terminal: &mut DefaultTerminal,
    scene: &Scene,
    record: &mut Record,
    length: Option<Duration>,
    stop: &StopSignal,
) -> io::Result<()> {
    let mut is_ending = false;
    loop {
        match scene.told.try_recv() {
            Ok(told) => {
                is_ending |= end_if_over(scene, &told);
                record.take_in(told);
                continue;
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Ok(()),
        }
        let now = scene.elapsed();
        terminal.draw(|screen| draw(screen, record, now, is_ending))?;
        let wants_end = event::poll(LOOK_INTERVAL)? && obey(&event::read()?, scene, record, stop);
        let is_time = length.is_some_and(|length| now >= length) || stop.is_raised();
        if !is_ending && (wants_end || is_time) {
            is_ending = true;
            scene.end();
        }
    }
}

/// Does what a key says; returns whether it says to end.
fn obey(event: &Event, scene: &Scene, record: &Record, stop: &StopSignal) -> bool {
    let Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press, .. }) = event else { return false };
    let switch = |network| {
        let state = if record.is_on(network) { LinkState::Down } else { LinkState::Up };
        scene.switch(network, state);
    };
    let is = |key: char| *code == KeyCode::Char(key);
    if is('1') {
        switch(Network::Mobile);
    } else if is('2') {
        switch(Network::Wlan);
    }
    let is_interrupt = is('c') && modifiers.contains(KeyModifiers::CONTROL);
    if is_interrupt {
        stop.raise();
    }
    is_interrupt || is('q') || *code == KeyCode::Esc
}

fn draw(screen: &mut Screen<'_>, record: &Record, now: Duration, is_ending: bool) {
    let heights = [
        Constraint::Length(1),
        Constraint::Length(5),
        Constraint::Length(4),
        Constraint::Length(10),
        Constraint::Length(7),
        Constraint::Min(4),
    ];
    let [head, networks, counts, delays, movements, log] = Layout::vertical(heights).areas(screen.area());
    screen.render_widget(title(now, is_ending), head);
    screen.render_widget(networks_table(record), networks);
    screen.render_widget(counts_text(record, now), counts);
    draw_delays(screen, record, now, delays);
    screen.render_widget(movements_table(record, movements), movements);
    screen.render_widget(log_text(record, log), log);
}

fn title(now: Duration, is_ending: bool) -> Line<'static> {
    let keys = if is_ending {
        "waiting for what is under way".to_owned()
    } else {
        "keys: 1, 2 switch a network off and on, q ends".to_owned()
    };
    Line::from(vec![
        Span::styled(" headway demo handover ", Style::new().add_modifier(Modifier::REVERSED)),
        Span::raw(format!("  {:.1} s   {keys}", now.as_secs_f64())),
    ])
}

fn networks_table(record: &Record) -> Table<'static> {
    let row = |network: Network| {
        let (path, rtt) = match record.paths.paths[network.index()] {
            Some((state, rtt)) => (name(state), rtt.map(|rtt| format!("{} ms", rtt.as_millis()))),
            None => ("not known to the fixed host", None),
        };
        let is_in_use = record.paths.in_use == Some(network);
        let interface = if record.is_on(network) { "on" } else { "off" };
        let style = if is_in_use { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
        let cells = [
            Cell::from(network.name()).style(Style::new().fg(colour(network))),
            Cell::from(interface).style(Style::new().fg(if record.is_on(network) {
                Color::Reset
            } else {
                LATE
            })),
            Cell::from(path),
            Cell::from(if is_in_use { "frames come by it" } else { "" }),
            Cell::from(rtt.unwrap_or_default()),
        ];
        Row::new(cells).style(style)
    };
    let widths = [20, 11, 29, 19, 12].map(Constraint::Length);
    Table::new(Network::BOTH.map(row), widths)
        .header(Row::new(["network", "interface", "path", "", "round trip"]).style(QUIET))
        .block(Block::bordered().title(" paths, as the fixed host sees them "))
}

const fn name(state: PathState) -> &'static str {
    match state {
        PathState::Unconfirmed => "unconfirmed",
        PathState::Active => "active",
        PathState::PotentiallyFailed => "potentially failed",
        PathState::Inactive => "inactive",
        PathState::Removed => "removed",
    }
}

fn counts_text(record: &Record, now: Duration) -> Paragraph<'static> {
    let counts = record.counts();
    let under_way = counts.sent.saturating_sub(counts.arrived);
    let frames = format!(
        "sent {}   arrived {}   late {}   under way {under_way}   twice {}",
        counts.sent, counts.arrived, counts.late, record.duplicates
    );
    let gap = record.longest_gap().map_or(0, |gap| gap.as_millis());
    let silence = record.arrivals.last().map_or(Duration::ZERO, |last| now.saturating_sub(*last));
    let silence_style = if silence > DEADLINE { Style::new().fg(LATE) } else { Style::new() };
    let silent = Span::styled(format!("{} ms", silence.as_millis()), silence_style);
    let times = Line::from(vec![format!("longest gap {gap} ms   last frame before ").into(), silent]);
    Paragraph::new(vec![Line::from(frames), times]).block(Block::bordered().title(" frames "))
}

/// Draws the longest delay of the frames that arrived in each tenth of a second; nothing stands where none arrived.
fn draw_delays(screen: &mut Screen<'_>, record: &Record, now: Duration, area: Rect) {
    let columns = usize::from(area.width.saturating_sub(2));
    let last = tenths(now);
    let first = last.saturating_sub(columns.saturating_sub(1));
    let mut bars: Vec<Option<(Duration, Network)>> = vec![None; last + 1 - first];
    let most = record.frames.len().saturating_sub(columns * FRAMES_A_TENTH * 4);
    for frame in &record.frames[most..] {
        let (Some(at), Some(delay), Some(by)) = (frame.arrived, frame.delay(), frame.by) else { continue };
        if let Some(bar) = tenths(at).checked_sub(first).and_then(|index| bars.get_mut(index))
            && bar.is_none_or(|(longest, _)| delay > longest)
        {
            *bar = Some((delay, by));
        }
    }
    let bar = |bar: Option<(Duration, Network)>| match bar {
        Some((delay, by)) => {
            let colour = if delay > DEADLINE { LATE } else { colour(by) };
            let height = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            SparklineBar::from(height).style(Style::new().fg(colour))
        }
        None => SparklineBar::from(None::<u64>),
    };
    let title = format!(
        " delay of frames, full height {} ms; red is late (more than {} ms), · is a tenth of a second without any ",
        SCALE.as_millis(),
        DEADLINE.as_millis()
    );
    let sparkline = Sparkline::default()
        .data(bars.into_iter().map(bar).collect::<Vec<_>>())
        .max(u64::try_from(SCALE.as_millis()).unwrap_or(u64::MAX))
        .absent_value_symbol("·")
        .block(Block::bordered().title(title));
    screen.render_widget(sparkline, area);
}

fn tenths(time: Duration) -> usize {
    usize::try_from(time.as_millis() / 100).unwrap_or(usize::MAX)
}

fn movements_table(record: &Record, area: Rect) -> Table<'static> {
    let room = usize::from(area.height.saturating_sub(3));
    let first = record.movements.len().saturating_sub(room);
    let rows = record.movements.iter().enumerate().skip(first).map(|(index, movement)| {
        let gap = record.gap_of(index).map(|gap| format!("{} ms", gap.as_millis()));
        Row::new([
            Cell::from(format!("{:.2} s", movement.at.as_secs_f64())),
            Cell::from(movement.to.name()).style(Style::new().fg(colour(movement.to))),
            Cell::from(gap.unwrap_or_default()),
            Cell::from(record.late_of(index).to_string()),
            Cell::from(because(movement)),
        ])
    });
    let widths = [10, 20, 9, 6, 60].map(Constraint::Length);
    Table::new(rows, widths)
        .header(Row::new(["at", "to", "gap", "late", "because"]).style(QUIET))
        .block(Block::bordered().title(" movements "))
}

fn log_text(record: &Record, area: Rect) -> Paragraph<'static> {
    let room = usize::from(area.height.saturating_sub(2));
    let first = record.log.len().saturating_sub(room);
    let line = |(at, line): &(Duration, String)| {
        let style = if line.starts_with(' ') { QUIET } else { Style::new() };
        Line::styled(format!("{:8.3} s  {line}", at.as_secs_f64()), style)
    };
    let lines: Vec<Line<'static>> = record.log[first..].iter().map(line).collect();
    Paragraph::new(lines).block(Block::bordered().title(" events and decisions "))
}

const fn colour(network: Network) -> Color {
    match network {
        Network::Mobile => Color::Yellow,
        Network::Wlan => Color::Cyan,
    }
}

const LATE: Color = Color::Red;
const QUIET: Style = Style::new().fg(Color::DarkGray);
/// The delay that is as high as there is room.
const SCALE: Duration = Duration::from_millis(300);
/// How often the view is drawn anew.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// The most frames that are due in a tenth of a second.
const FRAMES_A_TENTH: usize = 4;
