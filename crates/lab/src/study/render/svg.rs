//! A figure as SVG, in the manner of the originals: black axes with ticks on a white ground, marks that differ without
//! colour, a legend inside.

use std::fmt::Write as _;

use super::super::page::{Figure, Mark, Series};
use super::html::escaped;
use super::scale::{Layout, label};

/// Draws one figure with its series.
pub(super) fn figure(figure: &Figure, series: &[&Series]) -> String {
    let named = series.iter().filter(|series| series.mark != Mark::Heat);
    let longest = named.map(|series| series.name.chars().count()).max().unwrap_or(0);
    let width = WIDTH.max(WIDTH - RIGHT + LEGEND + LETTER * count(longest));
    let height = HEIGHT.max(TOP + BOTTOM + 16.0 * count(series.len()));
    let points = || series.iter().flat_map(|series| &series.points);
    let x = Layout::new(&figure.x, points().filter_map(|point| point.first().copied()), LEFT, WIDTH - RIGHT);
    let is_bars = series.iter().any(|series| series.mark == Mark::Bars);
    let zero = is_bars.then_some(0.0);
    let y = Layout::new(
        &figure.y,
        points().filter_map(|point| point.get(1).copied()).chain(zero),
        height - BOTTOM,
        TOP,
    );
    let mut svg = format!(
        "<svg width=\"{width:.0}\" viewBox=\"0 0 {width:.0} {height}\" role=\"img\" aria-label=\"{}\"><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        escaped(&figure.title)
    );
    axes(&mut svg, figure, &x, &y, height);
    let shades = shades(series);
    let kinds = kinds(series);
    for (index, series) in series.iter().enumerate() {
        let colour = COLOURS[kinds[index] % COLOURS.len()];
        match series.mark {
            Mark::Points => {
                line(&mut svg, series, &x, &y, colour, "");
                intervals(&mut svg, series, &x, &y, colour);
                marks(&mut svg, series, &x, &y, colour, kinds[index]);
            }
            Mark::Measured => {
                intervals(&mut svg, series, &x, &y, colour);
                for (a, b) in pairs(series) {
                    put(&mut svg, format_args!("{}\n", diamond(x.at(a), y.at(b), colour)));
                }
            }
            Mark::Model => line(&mut svg, series, &x, &y, colour, " stroke-dasharray=\"6 4\""),
            Mark::Steps => steps(&mut svg, series, &x, &y, colour),
            Mark::Bars => bars(&mut svg, series, (&x, &y), colour, (index, height)),
            Mark::Heat => heat(&mut svg, series, &x, &y, shades),
        }
    }
    legend(&mut svg, series, &kinds);
    svg.push_str("</svg>\n");
    svg
}

fn axes(svg: &mut String, figure: &Figure, x: &Layout, y: &Layout, height: f64) {
    let (right, bottom) = (WIDTH - RIGHT, height - BOTTOM);
    for tick in x.ticks() {
        let at = x.at(tick);
        put(
            svg,
            format_args!(
                "<path d=\"M{at:.1} {bottom}v6M{at:.1} {bottom}V{TOP}\" stroke=\"#ccc\" stroke-width=\".5\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
                bottom + 18.0,
                label(tick)
            ),
        );
    }
    for tick in y.ticks() {
        let at = y.at(tick);
        put(
            svg,
            format_args!(
                "<path d=\"M{LEFT} {at:.1}h-6M{LEFT} {at:.1}H{right}\" stroke=\"#ccc\" stroke-width=\".5\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
                LEFT - 8.0,
                at + 4.0,
                label(tick)
            ),
        );
    }
    let middle = f64::midpoint(TOP, bottom);
    put(
        svg,
        format_args!(
            "<path d=\"M{LEFT} {TOP}V{bottom}H{right}V{TOP}Z\" fill=\"none\" stroke=\"#000\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
         <text transform=\"translate(16 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
            f64::midpoint(LEFT, right),
            height - 12.0,
            escaped(&figure.x.label),
            escaped(&figure.y.label),
        ),
    );
}

fn line(svg: &mut String, series: &Series, x: &Layout, y: &Layout, colour: &str, dashes: &str) {
    let points: String = pairs(series).map(|(a, b)| format!("{:.1},{:.1} ", x.at(a), y.at(b))).collect();
    put(
        svg,
        format_args!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"{dashes}/>\n"
        ),
    );
}

fn intervals(svg: &mut String, series: &Series, x: &Layout, y: &Layout, colour: &str) {
    for ((a, _), ci95) in pairs(series).zip(&series.ci95) {
        let Some([low, high]) = ci95 else { continue };
        let (at, low, high) = (x.at(a), y.at(*low), y.at(*high));
        put(
            svg,
            format_args!(
                "<path d=\"M{:.1} {low:.1}h6m-3 0V{high:.1}m-3 0h6\" fill=\"none\" stroke=\"{colour}\"/>\n",
                at - 3.0
            ),
        );
    }
}

fn marks(svg: &mut String, series: &Series, x: &Layout, y: &Layout, colour: &str, index: usize) {
    for (a, b) in pairs(series) {
        put(svg, format_args!("{}\n", shape(x.at(a), y.at(b), colour, index)));
    }
}

/// Returns a mark that differs from others without colour.
fn shape(at: f64, up: f64, colour: &str, kind: usize) -> String {
    let (left, top) = (at - 3.5, up - 3.5);
    match kind % 4 {
        0 => format!("<circle cx=\"{at:.1}\" cy=\"{up:.1}\" r=\"3.5\" fill=\"{colour}\"/>"),
        1 => format!(
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"7\" height=\"7\" fill=\"#fff\" stroke=\"{colour}\"/>"
        ),
        2 => format!("<path d=\"M{at:.1} {:.1}l4 7h-8z\" fill=\"{colour}\"/>", up - 4.0),
        _ => {
            format!(
                "<path d=\"M{left:.1} {top:.1}l7 7m0 -7l-7 7\" stroke=\"{colour}\" stroke-width=\"1.5\"/>"
            )
        }
    }
}

/// Returns the mark of what was measured.
fn diamond(at: f64, up: f64, colour: &str) -> String {
    format!(
        "<path d=\"M{at:.1} {:.1}l5.5 5.5l-5.5 5.5l-5.5 -5.5z\" fill=\"#fff\" stroke=\"{colour}\" stroke-width=\"2\"/>",
        up - 5.5
    )
}

/// Returns which colour and mark each series has: what is simulated, predicted, measured or published of the
/// same thing shares one.
fn kinds(series: &[&Series]) -> Vec<usize> {
    let (mut seen, mut kinds) = (Vec::new(), Vec::new());
    for series in series {
        let name =
            PREFIXES.iter().find_map(|prefix| series.name.strip_prefix(prefix)).unwrap_or(&series.name);
        kinds.push(seen.iter().position(|known| *known == name).unwrap_or(seen.len()));
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    kinds
}

fn steps(svg: &mut String, series: &Series, x: &Layout, y: &Layout, colour: &str) {
    let mut path = String::new();
    for (index, (a, b)) in pairs(series).enumerate() {
        let (at, up) = (x.at(a), y.at(b));
        put(
            &mut path,
            format_args!(
                "{}{at:.1} V{up:.1} ",
                if index == 0 { format!("M{at:.1} {:.1} H", y.at(1.0)) } else { "H".to_owned() }
            ),
        );
    }
    put(svg, format_args!("<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>\n"));
}

fn bars(
    svg: &mut String,
    series: &Series,
    (x, y): (&Layout, &Layout),
    colour: &str,
    (index, height): (usize, f64),
) {
    let offset = (count(index) - 1.0) * BAR;
    for (a, b) in pairs(series) {
        let (at, up) = (x.at(a) + offset, y.at(b));
        put(
            svg,
            format_args!(
                "<rect x=\"{at:.1}\" y=\"{up:.1}\" width=\"{BAR}\" height=\"{:.1}\" fill=\"{colour}\" fill-opacity=\".75\" stroke=\"#000\" stroke-width=\".5\"/>\n",
                (height - BOTTOM - up).max(0.0)
            ),
        );
    }
}

/// Returns the largest shade of all heat series.
fn shades(series: &[&Series]) -> f64 {
    let values = series.iter().flat_map(|series| &series.points).filter_map(|point| point.get(2).copied());
    values.fold(1e-9, f64::max)
}

fn heat(svg: &mut String, series: &Series, x: &Layout, y: &Layout, most: f64) {
    let edges = |index: usize| {
        let mut values: Vec<f64> =
            series.points.iter().filter_map(|point| point.get(index).copied()).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    };
    let (columns, rows) = (edges(0), edges(1));
    let span = |values: &[f64], value: f64, layout: &Layout| {
        let position = values.partition_point(|other| *other < value);
        let before = position
            .checked_sub(1)
            .and_then(|index| values.get(index))
            .map_or(value, |other| f64::midpoint(*other, value));
        let after = values.get(position + 1).map_or(value, |other| f64::midpoint(*other, value));
        let (one, two) = (layout.at(before), layout.at(after));
        (one.min(two), (one - two).abs().max(2.0))
    };
    for point in &series.points {
        let [a, b, z] = point[..] else { continue };
        let ((left, width), (top, height)) = (span(&columns, a, x), span(&rows, b, y));
        put(
            svg,
            format_args!(
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{}\"><title>{}</title></rect>\n",
                shade(z / most),
                label(z)
            ),
        );
    }
    put(
        svg,
        format_args!("<text x=\"{LEFT}\" y=\"16\">white 0, darkest {} ms</text>\n", label(most.round())),
    );
}

/// Returns a colour from white over orange to dark red.
fn shade(share: f64) -> String {
    let share = share.clamp(0.0, 1.0).sqrt();
    format!("hsl({:.0} 85% {:.0}%)", 45.0 - 45.0 * share, 97.0 - 67.0 * share)
}

fn legend(svg: &mut String, series: &[&Series], kinds: &[usize]) {
    let named = series.iter().enumerate().filter(|(_, series)| series.mark != Mark::Heat);
    for (row, (index, series)) in named.enumerate() {
        let colour = COLOURS[kinds[index] % COLOURS.len()];
        let up = TOP + 14.0 + 16.0 * count(row);
        let (at, middle) = (WIDTH - RIGHT + 10.0, WIDTH - RIGHT + 22.0);
        let dash = |dashes: &str| {
            format!("<path d=\"M{at} {up:.1}h24\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>")
        };
        let sign = match series.mark {
            Mark::Points => dash("") + &shape(middle, up, colour, kinds[index]),
            Mark::Measured => diamond(middle, up, colour),
            Mark::Model => dash(" stroke-dasharray=\"6 4\""),
            Mark::Steps | Mark::Bars | Mark::Heat => dash(""),
        };
        let (right, down) = (at + 30.0, up + 4.0);
        put(
            svg,
            format_args!("{sign}<text x=\"{right}\" y=\"{down:.1}\">{}</text>\n", escaped(&series.name)),
        );
    }
}

fn pairs(series: &Series) -> impl Iterator<Item = (f64, f64)> + '_ {
    let pair = |point: &Vec<f64>| Some((*point.first()?, *point.get(1)?));
    series.points.iter().filter_map(pair).filter(|(a, b)| a.is_finite() && b.is_finite())
}

fn put(text: &mut String, what: core::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = text.write_fmt(what);
}

fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(0.0, f64::from)
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 220.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 48.0;
const BAR: f64 = 9.0;
/// The width that a legend takes before its text, and the most that a letter of it takes, in pixels.
const LEGEND: f64 = 50.0;
const LETTER: f64 = 7.0;
/// The words that come before the name of the thing itself in the name of a series.
const PREFIXES: [&str; 5] = ["model, ", "measured, ", "simulated, ", "published, ", "seeds, "];
const COLOURS: [&str; 8] =
    ["#1b4f8f", "#b5381b", "#2f7d32", "#7b3fa0", "#8a6d00", "#00707a", "#a0216c", "#444444"];
