//! What happened in a call, drawn as a ladder: of characters, or as a page with a picture.

use std::fmt::Write;
use std::time::Duration;

/// Everything that happened, in the order of time.
pub(crate) struct Ladder(Vec<(Duration, Step)>);

/// What happened at a time.
pub(crate) enum Step {
    Arrow { from: usize, to: usize, text: String },
    Note(String),
}

pub(crate) const CALLER: usize = 0;
pub(crate) const AGENT: usize = 1;
pub(crate) const MIDDLE: usize = 2;
pub(crate) const CALLED: usize = 3;
const NAMES: [&str; 4] = ["caller", "sip-b2bua", "middlebox", "called side"];

impl Ladder {
    pub(crate) fn new(mut steps: Vec<(Duration, Step)>) -> Self {
        steps.sort_by_key(|(at, _)| *at);
        Self(steps)
    }

    /// Returns each step with its milliseconds since the first one.
    fn steps(&self) -> impl Iterator<Item = (f64, &Step)> {
        let begin = self.0.first().map(|(at, _)| *at).unwrap_or_default();
        self.0.iter().map(move |(at, step)| ((*at - begin).as_secs_f64() * 1e3, step))
    }

    /// Draws it with characters.
    pub(crate) fn text(&self) -> String {
        let mut text = String::from("\n            ");
        for name in NAMES {
            text.push_str(&format!("{name:<COLUMNS$}"));
        }
        for (at, step) in self.steps() {
            let line = match step {
                Step::Arrow { from, to, text } => arrow(*from, *to, text),
                Step::Note(note) => format!("{} · {note}", rungs()),
            };
            text.push_str(&format!("\n{at:8.1} ms {line}"));
        }
        text
    }

    /// Draws it as a page of HTML with a picture, which needs nothing else.
    pub(crate) fn page(&self) -> String {
        let (width, height) = (place(NAMES.len() - 1) + 110, TOP + ROW * (self.0.len() + 1));
        let mut picture = String::new();
        for (which, name) in NAMES.iter().enumerate() {
            let (x, bottom) = (place(which), height - ROW / 2);
            line(&mut picture, &format!("<text class=name x={x} y=24>{name}</text>"));
            line(&mut picture, &format!("<path class=rung d='M{x} {} V{bottom}'/>", TOP - 20));
        }
        for (row, (at, step)) in self.steps().enumerate() {
            let y = TOP + ROW * row;
            line(&mut picture, &format!("<text class=time x=92 y={}>{at:.1} ms</text>", y + 4));
            match step {
                Step::Arrow { from, to, text } => draw_arrow(&mut picture, *from, *to, y, text),
                Step::Note(note) => draw_note(&mut picture, y, note),
            }
        }
        format!("{HEAD}<svg viewBox='0 0 {width} {height}' role=img>\n{MARKER}{picture}</svg>\n")
    }
}

fn rungs() -> String {
    format!("{}│", format!("│{}", " ".repeat(COLUMNS - 1)).repeat(NAMES.len() - 1))
}

/// Draws an arrow from one line to another with characters, with its text in the middle.
fn arrow(from: usize, to: usize, text: &str) -> String {
    let (left, right) = (from.min(to) * COLUMNS, from.max(to) * COLUMNS);
    let room = right - left - 1;
    let text: String = text.chars().take(room - 4).collect();
    let body = format!("{:─^room$}", format!(" {text} "));
    let mut line: Vec<char> = rungs().chars().collect();
    line.splice(left + 1..right, body.chars());
    if from < to {
        line[right - 1] = '►';
    } else {
        line[left + 1] = '◄';
    }
    line.into_iter().collect()
}

/// Returns where the line of a participant stands in the picture.
fn place(which: usize) -> usize {
    160 + which * BETWEEN
}

/// Draws an arrow into the picture; what is said to the middlebox has a colour of its own.
fn draw_arrow(picture: &mut String, from: usize, to: usize, y: usize, text: &str) {
    let (begin, end) = (place(from), place(to));
    let tip = if from < to { end - 2 } else { end + 2 };
    let class = if to == MIDDLE || from == MIDDLE { "simco" } else { "sip" };
    line(picture, &format!("<path class={class} marker-end='url(#tip)' d='M{begin} {y} H{tip}'/>"));
    let middle = usize::midpoint(begin, end);
    line(picture, &format!("<text class='says {class}' x={middle} y={}>{}</text>", y - 5, escaped(text)));
}

/// Draws a note into the picture, over all lines.
fn draw_note(picture: &mut String, y: usize, note: &str) {
    let (left, right) = (place(0) - 20, place(NAMES.len() - 1) + 20);
    let (top, width) = (y - 13, right - left);
    line(picture, &format!("<rect x={left} y={top} width={width} height=24 rx=12 />"));
    let middle = usize::midpoint(left, right);
    line(picture, &format!("<text class=note x={middle} y={}>{}</text>", y + 4, escaped(note)));
}

fn line(picture: &mut String, element: &str) {
    // Writing to a String does not fail.
    let _ = writeln!(picture, "{element}");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// Characters from one line of the ladder to the next.
const COLUMNS: usize = 26;
/// The same in the picture, the height of a step, and that of the names.
const BETWEEN: usize = 190;
const ROW: usize = 32;
const TOP: usize = 64;
const MARKER: &str = "<marker id=tip viewBox='0 0 8 8' refX=8 refY=4 markerWidth=8 markerHeight=8 orient=auto-start-reverse>\
                      <path d='M0 0 L8 4 L0 8 z'/></marker>\n";
const HEAD: &str = "<!doctype html>
<html lang=en>
<meta charset=utf-8>
<meta name=viewport content='width=device-width'>
<title>A SIP call through a firewall</title>
<style>
:root { color-scheme: light dark; --ink: #1c2733; --faint: #9aa7b4; --sip: #1d5fa8; --simco: #a84a12; --note: #eef2f6; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4eaf0; --faint: #6b7884; --sip: #7fb6ee; --simco: #eea36f; --note: #26313c; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
svg { width: 100%; height: auto; font-size: 13px; }
text { fill: var(--ink); text-anchor: middle; }
.says { paint-order: stroke; stroke: Canvas; stroke-width: 4px; }
.name { font-weight: 600; font-size: 15px; }
.time { fill: var(--faint); text-anchor: end; font-variant-numeric: tabular-nums; }
.rung { stroke: var(--faint); }
path { fill: none; stroke-width: 1.5; }
marker path { fill: context-stroke; }
path.sip { stroke: var(--sip); }
path.simco { stroke: var(--simco); }
text.sip { fill: var(--sip); }
text.simco { fill: var(--simco); }
rect { fill: var(--note); stroke: var(--faint); }
</style>
<h1>A SIP call through a firewall</h1>
<p>Every message as caller and called side saw it, every pinhole as the middlebox wrote it down, and whether datagrams at the ports of
the session descriptions pass: before, during and after the call.</p>
";
