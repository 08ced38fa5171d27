//! The content of a page: enough to draw it, and nothing else. Comparisons, plans, studies and differences all make pages.

mod criterion;
mod evidence;
mod statement;

pub use criterion::Criterion;
pub use evidence::{Estimate, Evidence};
use serde::{Deserialize, Serialize};
pub use statement::{Statement, Verdict};

/// A result as people see it, in the order in which it is drawn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// The name on the command line, or of the place on the page.
    pub id: String,
    /// The title: what the page shows.
    pub title: String,
    /// The conditions, in sentences: path, load, world.
    pub conditions: Vec<String>,
    /// The result in plain words, the most important sentence first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reading: Vec<String>,
    /// More of it, for which there is no room on a terminal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// The statements of the study, and what came out here.
    pub statements: Vec<Statement>,
    /// The curves of all figures.
    pub series: Vec<Series>,
    /// The figures, in which the curves are drawn.
    pub figures: Vec<Figure>,
    /// The tables below the figures.
    pub tables: Vec<Table>,
    /// The notes that a reader should know besides.
    pub notes: Vec<String>,
    /// The cells that were to be measured and were not, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The circumstances by name, such as command line, commit, date and host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<(String, String)>,
    /// How much was simulated: seeds and messages.
    pub effort: String,
    /// Time on the wall; the only thing two equal runs differ in.
    pub wall_s: f64,
}

/// A curve of a figure, with its points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The figure that the curve belongs to.
    pub figure: String,
    /// The name of the curve in the legend.
    pub name: String,
    /// The way in which the curve is drawn.
    pub mark: Mark,
    /// Abscissa and ordinate; for heat maps a third value, the shade.
    pub points: Vec<Vec<f64>>,
    /// 95 % interval of each ordinate, where there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ci95: Vec<Option<[f64; 2]>>,
    /// The number of its colour in the style sheet; `None`: the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colour: Option<usize>,
}

/// The way in which a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// Measured or simulated: points joined by a line.
    Points,
    /// Measured with real packets: marks alone, over what was simulated.
    Measured,
    /// A model, drawn as a dashed line.
    Model,
    /// A distribution, drawn as steps.
    Steps,
    /// A value per abscissa, drawn as a bar.
    Bars,
    /// A value per point, drawn as a shade.
    Heat,
    /// A value of the publication.
    Published,
    /// Many points, drawn as dots.
    Dots,
    /// Abscissas of what never came, marked at the upper edge.
    Missing,
    /// Points by twos, each two joined by an arrow from the first to the second.
    Arrows,
}

/// A figure: axes, and which series it shows is in the series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The name by which series refer to the figure.
    pub id: String,
    /// The title above the figure.
    pub title: String,
    /// The axis of the abscissa.
    pub x: Axis,
    /// The axis of the ordinate.
    pub y: Axis,
    /// The facts a reader should know to read it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
}

/// An axis of a figure, with its label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// The quantity on the axis, and its unit.
    pub label: String,
    /// The division: linear or logarithmic.
    pub scale: Scale,
    /// The first and last value; `None`: what the points need.
    pub bounds: Option<[f64; 2]>,
    /// The names of the values 0, 1, 2, …, on an axis of things instead of numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

/// The way in which an axis is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal steps are equally long.
    Linear,
    /// Equal factors are equally long.
    Log,
}

/// A table of a page, with its rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The title above the table.
    pub title: String,
    /// The heads of the columns.
    pub head: Vec<String>,
    /// Rows, as many values as there are heads.
    pub rows: Vec<Vec<String>>,
    /// The facts a reader should know to read it; not on a terminal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
    /// Columns that a narrow terminal does without, in the order in which they are given up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spare: Vec<usize>,
}

impl Axis {
    /// Creates an axis on which equal steps are equally long.
    #[must_use]
    pub fn linear(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Linear, bounds: None, names: Vec::new() }
    }

    /// Creates an axis on which equal factors are equally long.
    #[must_use]
    pub fn log(label: &str) -> Self {
        Self { scale: Scale::Log, ..Self::linear(label) }
    }

    /// Creates an axis of things, which have the abscissas 0, 1, 2, ….
    #[must_use]
    pub fn of_names(label: &str, names: Vec<String>) -> Self {
        let bounds = Some([-0.5, names.len() as f64 - 0.5]);
        Self { bounds, names, ..Self::linear(label) }
    }

    /// Returns whether a value lies beyond its bounds.
    pub(super) fn leaves_out(&self, value: f64) -> bool {
        self.bounds.is_some_and(|[low, high]| value < low || value > high)
    }

    /// Returns the axis from `low` to `high`.
    #[must_use]
    pub fn between(self, low: f64, high: f64) -> Self {
        Self { bounds: Some([low, high]), ..self }
    }
}

impl Figure {
    /// Creates a figure with these axes.
    #[must_use]
    pub fn new(id: &str, title: &str, x: Axis, y: Axis) -> Self {
        Self { id: id.to_owned(), title: title.to_owned(), x, y, hint: String::new() }
    }
}

impl Series {
    /// Creates a curve without intervals.
    #[must_use]
    pub fn new(
        figure: &str,
        name: impl Into<String>,
        mark: Mark,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        let points = points.into_iter().map(|(x, y)| vec![x, y]).collect();
        Self { figure: figure.to_owned(), name: name.into(), mark, points, ci95: Vec::new(), colour: None }
    }

    /// Creates the points that a study published of what has this name in the figure.
    #[must_use]
    pub fn published(figure: &str, name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self::new(figure, format!("published, {name}"), Mark::Published, points)
    }
}

impl Table {
    /// Creates a table of rows below a head.
    #[must_use]
    pub fn new(title: &str, head: &[&str], rows: Vec<Vec<String>>) -> Self {
        let head = head.iter().map(|head| (*head).to_owned()).collect();
        Self { title: title.to_owned(), head, rows, ..Self::default() }
    }

    /// Returns the table without the columns that have no value in any row.
    pub(super) fn without_empty(mut self) -> Self {
        let is_empty =
            |column: &usize| self.rows.iter().all(|row| row.get(*column).is_none_or(String::is_empty));
        let empty: Vec<usize> = (0..self.head.len()).filter(is_empty).collect();
        for column in empty.into_iter().rev() {
            core::iter::once(&mut self.head)
                .chain(&mut self.rows)
                .for_each(|row| drop((column < row.len()).then(|| row.remove(column))));
        }
        self
    }

    /// Returns whether a column has numbers only, which stand at the right.
    pub(super) fn is_numeric(&self, column: usize) -> bool {
        let is_number = |cell: &String| {
            cell.is_empty()
                || cell.starts_with(|first: char| first.is_ascii_digit() || "–+-−∞±<≤".contains(first))
        };
        self.rows.iter().filter_map(|row| row.get(column)).all(is_number)
    }
}

impl Page {
    /// Returns the series of a figure.
    pub(super) fn series_of(&self, figure: &Figure) -> Vec<&Series> {
        self.series.iter().filter(|series| series.figure == figure.id).collect()
    }
}
