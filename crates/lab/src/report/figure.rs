//! A figure as SVG: axes with ticks, marks that differ without colour. Colours are those of the style sheet, so that one drawing serves
//! light and dark pages.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::scale::{Layout, rounded};
use crate::page::{Figure, Mark, Series};

/// Draws one figure with its series.
pub(super) fn figure(figure: &Figure, series: &[&Series]) -> String {
    let points = || series.iter().flat_map(|series| &series.points);
    let bounds = |series: &&Series| series.ci95.iter().flatten().flatten().copied().collect::<Vec<_>>();
    let zero = series.iter().any(|series| series.mark == Mark::Bars).then_some(0.0);
    let ordinates = points().filter_map(|point| point.get(1).copied()).chain(series.iter().flat_map(bounds));
    let mut canvas = Canvas {
        svg: format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
            escaped(&figure.title)
        ),
        x: Layout::new(&figure.x, points().filter_map(|point| point.first().copied()), LEFT, RIGHT),
        y: Layout::new(&figure.y, ordinates.chain(zero), BOTTOM, TOP),
    };
    canvas.axes(figure);
    let shades = strongest(series).unwrap_or_default().max(1e-9);
    for (kind, series) in kinds(series).into_iter().zip(series) {
        canvas.put(format_args!("<g class=\"k{}\">", colour(kind, series)));
        match series.mark {
            Mark::Heat => canvas.heat(series, shades),
            Mark::Bars => canvas.bars(series, kind),
            Mark::Steps => canvas.steps(series),
            Mark::Missing => canvas.dashes(series),
            Mark::Arrows => canvas.arrows(series),
            Mark::Dots => canvas.path(series, "dots", |x, y| format!("M{x:.1} {y:.1}h0")),
            Mark::Model => canvas.path(series, "line model", |x, y| format!("L{x:.1} {y:.1}")),
            Mark::Points if !figure.x.names.is_empty() => canvas.marks(series, kind),
            Mark::Points => {
                canvas.path(series, "line", |x, y| format!("L{x:.1} {y:.1}"));
                canvas.marks(series, kind);
            }
            Mark::Measured | Mark::Published => canvas.marks(series, kind),
        }
        canvas.put(format_args!("</g>\n"));
    }
    canvas.svg + "</svg>"
}

/// Returns the greatest value that shades stand for, if there are any.
fn strongest(series: &[&Series]) -> Option<f64> {
    let points = series.iter().flat_map(|series| &series.points);
    points.filter_map(|point| point.get(2).copied()).reduce(f64::max)
}

/// A sign and what it means.
pub(super) type Meaning = (String, Cow<'static, str>);

/// The entry of the legend for one thing: everything that is drawn of it has one colour.
#[derive(Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) colour: usize,
    pub(super) name: String,
    /// The sign it is drawn with, as SVG.
    pub(super) signs: String,
}

/// Returns the legend of a figure, and a key to what its marks mean: what is simulated, predicted, measured or published of the same thing
/// has one entry.
pub(super) fn legend(figure: &Figure, series: &[&Series]) -> (Vec<Entry>, Vec<Meaning>) {
    let (mut entries, mut keys): (Vec<Entry>, Vec<Meaning>) = (Vec::new(), Vec::new());
    let drawn = |series: &Series| !matches!(series.mark, Mark::Heat | Mark::Missing);
    for (kind, series) in kinds(series).into_iter().zip(series).filter(|(_, series)| drawn(series)) {
        let (colour, (prefix, name)) = (colour(kind, series), parts(&series.name));
        let mark = if prefix == "model" { Mark::Model } else { series.mark };
        let sign = sign(mark, kind);
        match entries.iter_mut().find(|entry| entry.name == name) {
            Some(entry) if entry.signs.contains(&sign) => {}
            Some(entry) => entry.signs.push_str(&sign),
            None => entries.push(Entry { colour, name: name.to_owned(), signs: sign }),
        }
        if !prefix.is_empty() && !keys.iter().any(|(_, known)| *known == prefix) {
            keys.push((sign_of_key(mark), prefix.into()));
        }
    }
    let has_marks =
        |series: &&&Series| matches!(series.mark, Mark::Points | Mark::Measured | Mark::Published);
    let mut marked = series.iter().filter(has_marks).flat_map(|series| pairs(series));
    if marked.any(|(a, b)| figure.x.leaves_out(a) || figure.y.leaves_out(b)) {
        keys.push((as_sign(&arrow(13.0, 1.0, 0)), "beyond the axis".into()));
    }
    if let Some(strongest) = strongest(series) {
        let shade = format!("<g class=\"k{}\"><path d=\"M6 2h14v10h-14z\"/></g>", ORDER[0]);
        keys.push((as_sign(&shade), rounded(strongest).into()));
    }
    (entries, keys)
}

fn sign(mark: Mark, kind: usize) -> String {
    let inner = match mark {
        Mark::Points => format!("<path class=\"line\" d=\"M0 7h26\"/>{}", shape(13.0, 7.0, mark, kind)),
        Mark::Model => "<path class=\"line model\" d=\"M0 7h26\"/>".to_owned(),
        Mark::Steps => "<path class=\"line\" d=\"M0 7h26\"/>".to_owned(),
        Mark::Arrows => "<path class=\"line\" d=\"M0 7h24m-6 -4l6 4l-6 4\"/>".to_owned(),
        Mark::Bars => "<path class=\"bar\" d=\"M6 2h14v10h-14z\"/>".to_owned(),
        Mark::Dots => "<path class=\"dots\" d=\"M5 9h0M13 5h0M21 9h0\"/>".to_owned(),
        Mark::Measured | Mark::Published | Mark::Heat | Mark::Missing => shape(13.0, 7.0, mark, kind),
    };
    as_sign(&inner)
}

fn as_sign(inner: &str) -> String {
    format!("<svg class=\"sign\" viewBox=\"0 0 26 14\" aria-hidden=\"true\">{inner}</svg>")
}

/// Returns the sign without the form that tells one thing from another.
fn sign_of_key(mark: Mark) -> String {
    sign(if mark == Mark::Points { Mark::Steps } else { mark }, 0)
}

/// Returns the word before the name of the thing itself, such as `model`, and that name.
pub(super) fn parts(name: &str) -> (&'static str, &str) {
    let prefixed = |prefix: &&'static str| Some((*prefix, name.strip_prefix(*prefix)?.strip_prefix(", ")?));
    PREFIXES.iter().find_map(prefixed).unwrap_or(("", name))
}

/// Returns a number for each series, equal where they are about the same thing.
fn kinds(series: &[&Series]) -> Vec<usize> {
    let mut seen: Vec<&str> = Vec::new();
    let mut kinds = Vec::with_capacity(series.len());
    for series in series {
        let name = parts(&series.name).1;
        kinds.push(seen.iter().position(|known| *known == name).unwrap_or(seen.len()));
        if kinds.last() == Some(&seen.len()) {
            seen.push(name);
        }
    }
    kinds
}

fn colour(kind: usize, series: &Series) -> usize {
    series.colour.unwrap_or(ORDER[kind % ORDER.len()])
}

/// Returns a mark that differs from others without colour.
fn shape(at: f64, up: f64, mark: Mark, kind: usize) -> String {
    let (left, top) = (at - 3.5, up - 3.5);
    match (mark, kind % 4) {
        (Mark::Published, _) => {
            format!(
                "<path class=\"published\" d=\"M{:.1} {up:.1}h12M{at:.1} {:.1}v12\"/>",
                at - 6.0,
                up - 6.0
            )
        }
        (Mark::Measured, _) => {
            format!("<path class=\"hollow\" d=\"M{at:.1} {:.1}l5 5l-5 5l-5 -5z\"/>", up - 5.0)
        }
        (_, 0) => format!("<circle cx=\"{at:.1}\" cy=\"{up:.1}\" r=\"3.5\"/>"),
        (_, 1) => format!("<path class=\"hollow\" d=\"M{left:.1} {top:.1}h7v7h-7z\"/>"),
        (_, 2) => format!("<path d=\"M{at:.1} {:.1}l4 7h-8z\"/>", up - 4.0),
        _ => format!("<path class=\"line\" d=\"M{left:.1} {top:.1}l7 7m0 -7l-7 7\"/>"),
    }
}

/// Returns an arrow with its tip at a point, turned by so many degrees from upwards: what is there lies beyond the axis.
fn arrow(at: f64, up: f64, degrees: u16) -> String {
    let (left, below) = (at - 4.0, up + 5.0);
    format!(
        "<path class=\"line\" transform=\"rotate({degrees} {at:.1} {up:.1})\" d=\"M{left:.1} {below:.1}l4 -5l4 5m-4 -5v12\"/>"
    )
}

/// A drawing with its axes.
struct Canvas {
    svg: String,
    x: Layout,
    y: Layout,
}

impl Canvas {
    fn axes(&mut self, figure: &Figure) {
        let mut grid = String::new();
        let mut labels = String::new();
        for (value, text) in self.x.ticks() {
            let (at, under) = (self.x.at(value), BOTTOM + 19.0);
            grid += &format!("M{at:.1} {BOTTOM}V{TOP}");
            // A long label at the right end would be cut off.
            let is_cut = at + 6.0 * text.chars().count() as f64 > WIDTH;
            let (at, class) = if is_cut { (WIDTH, "end") } else { (at, "middle") };
            labels +=
                &format!("<text x=\"{at:.1}\" y=\"{under}\" class=\"{class}\">{}</text>", escaped(&text));
        }
        for (value, text) in self.y.ticks() {
            let (up, beside) = (self.y.at(value), LEFT - 7.0);
            grid += &format!("M{LEFT} {up:.1}H{RIGHT}");
            labels += &format!("<text x=\"{beside}\" y=\"{:.1}\" class=\"end\">{text}</text>", up + 4.5);
        }
        let (middle, centre) = (f64::midpoint(TOP, BOTTOM), f64::midpoint(LEFT, RIGHT));
        let (x, y) = (escaped(&figure.x.label), escaped(&figure.y.label));
        self.put(format_args!(
            "<path class=\"grid\" d=\"{grid}\"/><path class=\"axis\" d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\"/>{labels}\
             <text x=\"{centre}\" y=\"{:.1}\" class=\"middle\">{x}</text>\
             <text transform=\"translate(15 {middle}) rotate(-90)\" class=\"middle\">{y}</text>\n",
            HEIGHT - 6.0,
        ));
    }

    /// Draws all points as one path, of which what lies beyond the axes is not seen.
    fn path(&mut self, series: &Series, class: &str, step: impl Fn(f64, f64) -> String) {
        let path: String = pairs(series).map(|(a, b)| step(self.x.reach(a), self.y.reach(b))).collect();
        let path = path.strip_prefix('L').map_or(path.clone(), |rest| format!("M{rest}"));
        self.put_within(class, &path);
    }

    /// Draws a path that ends where the axes end.
    fn put_within(&mut self, class: &str, path: &str) {
        // With room for half the width of a line, and for the ends of intervals that stand at the sides.
        let (left, top, width, height) = (LEFT - 4.0, TOP - 1.0, RIGHT - LEFT + 8.0, BOTTOM - TOP + 2.0);
        self.put(format_args!(
            "<svg x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" viewBox=\"{left} {top} {width} {height}\">\
             <path class=\"{class}\" d=\"{path}\"/></svg>"
        ));
    }

    /// Draws a distribution: it begins at the upper edge, and what is left at its end goes on.
    fn steps(&mut self, series: &Series) {
        let mut path = String::new();
        for (a, b) in pairs(series) {
            let (at, up) = (self.x.reach(a), self.y.reach(b));
            path += &if path.is_empty() {
                format!("M{at:.1} {TOP}V{up:.1}")
            } else {
                format!("H{at:.1}V{up:.1}")
            };
        }
        let is_model = parts(&series.name).0 == "model";
        if !is_model && pairs(series).last().is_some_and(|(_, left)| left > 0.0) {
            path += &format!("H{RIGHT}");
        }
        self.put_within(if is_model { "line model" } else { "line" }, &path);
    }

    fn marks(&mut self, series: &Series, kind: usize) {
        // Marks that touch each other hide the curve.
        let is_dense = series.points.len() > MOST_MARKS;
        for (index, (a, b)) in pairs(series).enumerate() {
            let at = self.x.at(a);
            let ci95 = series.ci95.get(index).copied().flatten();
            if let Some([low, high]) = ci95 {
                let (low, high, left) = (self.y.reach(low), self.y.reach(high), at - 3.0);
                self.put_within("line", &format!("M{left:.1} {low:.1}h6m-3 0V{high:.1}m-3 0h6"));
            }
            let told = ci95
                .map(|[low, high]| format!(" ({} … {})", rounded(low), rounded(high)))
                .unwrap_or_default();
            let up = self.y.at(b);
            let (shape, told) = match self.beyond(a, b) {
                Some(degrees) => (arrow(at, up, degrees), format!("{told}, beyond the axis")),
                None if is_dense => (format!("<circle cx=\"{at:.1}\" cy=\"{up:.1}\" r=\"1.5\"/>"), told),
                None => (shape(at, up, series.mark, kind), told),
            };
            let name = escaped(&series.name);
            self.put(format_args!(
                "<g>{shape}<title>{name}: {} at {}{told}</title></g>",
                rounded(b),
                rounded(a)
            ));
        }
    }

    /// Returns where a point is that lies beyond the axes, in degrees from upwards; `None` for one that is to be seen.
    fn beyond(&self, a: f64, b: f64) -> Option<u16> {
        let ways = [
            self.y.reach(b) < TOP,
            self.x.reach(a) > RIGHT,
            self.y.reach(b) > BOTTOM,
            self.x.reach(a) < LEFT,
        ];
        ways.into_iter().zip([0, 90, 180, 270]).find_map(|(is_there, degrees)| is_there.then_some(degrees))
    }

    fn dashes(&mut self, series: &Series) {
        let path: String = pairs(series).map(|(a, _)| format!("M{:.1} {TOP}v10", self.x.at(a))).collect();
        self.put(format_args!("<path class=\"missing\" d=\"{path}\"/>"));
    }

    /// Draws an arrow for every two points, with its head at the second.
    fn arrows(&mut self, series: &Series) {
        let mut path = String::new();
        let points: Vec<(f64, f64)> = pairs(series).collect();
        for pair in points.chunks_exact(2) {
            let [(from, begin), (to, end)] =
                [pair[0], pair[1]].map(|(a, b)| (self.x.reach(a), self.y.reach(b)));
            let back = (begin - end).atan2(from - to);
            path += &format!("M{from:.1} {begin:.1}L{to:.1} {end:.1}");
            for turn in [-HEAD_ANGLE, HEAD_ANGLE] {
                let (sin, cos) = (back + turn).sin_cos();
                path += &format!("M{to:.1} {end:.1}l{:.1} {:.1}", HEAD * cos, HEAD * sin);
            }
        }
        self.put_within("line", &path);
    }

    fn bars(&mut self, series: &Series, kind: usize) {
        let offset = (u32::try_from(kind).map_or(0.0, f64::from) - 1.0) * BAR;
        for (a, b) in pairs(series) {
            let (at, up) = (self.x.at(a) + offset, self.y.at(b));
            self.put(format_args!("<path class=\"bar\" d=\"M{at:.1} {BOTTOM}V{up:.1}h{BAR}V{BOTTOM}z\"/>"));
        }
    }

    fn heat(&mut self, series: &Series, most: f64) {
        let edges = |index: usize| {
            let mut values: Vec<f64> =
                series.points.iter().filter_map(|point| point.get(index).copied()).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        };
        let (columns, rows) = (edges(0), edges(1));
        for point in &series.points {
            let [a, b, z] = point[..] else { continue };
            let ((left, width), (top, height)) = (span(&columns, a, &self.x), span(&rows, b, &self.y));
            self.put(format_args!(
                "<path class=\"heat\" d=\"M{left:.1} {top:.1}h{width:.1}v{height:.1}h-{width:.1}z\" fill-opacity=\"{:.2}\">\
                 <title>{}</title></path>",
                (z / most).clamp(0.0, 1.0).sqrt(),
                rounded(z)
            ));
        }
    }

    fn put(&mut self, what: core::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.svg.write_fmt(what);
    }
}

/// Returns where the field of a value begins, and how long it is: halfway to its neighbours.
fn span(values: &[f64], value: f64, layout: &Layout) -> (f64, f64) {
    let position = values.partition_point(|other| *other < value);
    let halfway = |other: Option<&f64>| other.map_or(value, |other| f64::midpoint(*other, value));
    let before = halfway(position.checked_sub(1).and_then(|index| values.get(index)));
    let (one, two) = (layout.at(before), layout.at(halfway(values.get(position + 1))));
    (one.min(two), (one - two).abs().max(2.0))
}

fn pairs(series: &Series) -> impl Iterator<Item = (f64, f64)> + '_ {
    let pair = |point: &Vec<f64>| Some((*point.first()?, *point.get(1)?));
    series.points.iter().filter_map(pair).filter(|(a, b)| a.is_finite() && b.is_finite())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 546.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 292.0;
const BAR: f64 = 9.0;
/// The length of the head of an arrow, and the angle of its sides in radians.
const HEAD: f64 = 7.0;
const HEAD_ANGLE: f64 = 0.45;
/// The points of a curve that can have a mark each.
const MOST_MARKS: usize = 60;
/// The words that come before the name of the thing itself in the name of a series.
const PREFIXES: [&str; 9] =
    ["model", "measured", "simulated", "published", "seeds", "simulator", "namespaces", "first", "second"];
/// The colours of the style sheet in the order in which things get them.
const ORDER: [usize; 11] = [4, 0, 5, 6, 1, 7, 2, 3, 8, 9, 10];
