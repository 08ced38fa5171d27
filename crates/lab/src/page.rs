//! The content of a page: enough to draw it, and nothing else. Comparisons, plans, studies and differences all make pages.

use serde::{Deserialize, Serialize};

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

/// One statement of a study, put to the test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// The statement of the study, in words.
    pub text: String,
    /// The study's value, where it has one.
    pub published: Option<f64>,
    /// The value that came out here.
    pub ours: Option<f64>,
    /// The unit of the published value and ours.
    pub unit: String,
    /// The 95 % interval of our value.
    pub ci95: Option<[f64; 2]>,
    /// Whether ours bears it out.
    pub verdict: Verdict,
    /// The reason for the verdict.
    pub because: String,
}

/// Whether a statement was borne out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The statement was reproduced.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// The statement was not reproduced.
    #[serde(rename = "not reproduced")]
    NotReproduced,
    /// The statement does not hold to the letter, for a reason that is known.
    #[serde(rename = "differs")]
    Differs,
    /// The interval of ours is wider than the bar: more runs would tell.
    #[serde(rename = "undecided")]
    Undecided,
}

impl Verdict {
    /// Returns the verdict in a word or two.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::NotReproduced => "not reproduced",
            Self::Differs => "differs",
            Self::Undecided => "undecided",
        }
    }
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

impl Statement {
    /// Creates a statement that holds if ours is within `tolerance` (a share) of the published value.
    #[must_use]
    pub fn within(text: impl Into<String>, published: f64, ours: f64, tolerance: f64, unit: &str) -> Self {
        let off = ours / published - 1.0;
        let verdict = if off.abs() <= tolerance { Verdict::Reproduced } else { Verdict::Differs };
        Self {
            text: text.into(),
            published: Some(published),
            ours: Some(ours),
            unit: unit.to_owned(),
            ci95: None,
            verdict,
            because: format!("{:+.1} % off; the bar is {} %", off * 100.0, tolerance * 100.0),
        }
    }

    /// Creates a statement without a number of its own: it holds or it does not.
    #[must_use]
    pub fn holds(text: impl Into<String>, does: bool, because: impl Into<String>) -> Self {
        let verdict = if does { Verdict::Reproduced } else { Verdict::NotReproduced };
        let (published, ours, ci95) = (None, None, None);
        Self {
            text: text.into(),
            published,
            ours,
            unit: String::new(),
            ci95,
            verdict,
            because: because.into(),
        }
    }

    /// Returns the statement with the published value and ours.
    #[must_use]
    pub fn beside(self, published: f64, ours: f64, unit: &str) -> Self {
        Self { published: Some(published), ..self.with_ours(ours, unit) }
    }

    /// Returns the statement with our value, where none is published.
    #[must_use]
    pub fn with_ours(self, ours: f64, unit: &str) -> Self {
        Self { ours: Some(ours), unit: unit.to_owned(), ..self }
    }

    /// Returns the statement as one that differs, if it does so for the reason that it gives.
    #[must_use]
    pub fn differs_if(self, does: bool) -> Self {
        Self { verdict: if does { Verdict::Differs } else { self.verdict }, ..self }
    }

    /// Returns the statement with the interval of our value.
    #[must_use]
    pub fn with_ci95(mut self, ci95: Option<[f64; 2]>) -> Self {
        self.ci95 = ci95;
        self
    }

    /// Returns the statement, undecided instead of not borne out as long as the interval of ours overlaps what
    /// would have borne it out.
    #[must_use]
    pub fn decided_by(mut self, ci95: Option<[f64; 2]>, [low, high]: [f64; 2]) -> Self {
        self.ci95 = ci95;
        let is_open = ci95.is_none_or(|ci95| ci95[0] <= high && ci95[1] >= low);
        if is_open && self.verdict != Verdict::Reproduced {
            self.verdict = Verdict::Undecided;
            self.because.push_str("; the interval is too wide to tell: more runs would");
        }
        self
    }

    /// Returns the statement, undecided instead of not borne out if there were fewer messages than it takes to
    /// see it.
    #[must_use]
    pub fn given(mut self, messages: u64, enough: u64) -> Self {
        if messages < enough && self.verdict != Verdict::Reproduced {
            self.verdict = Verdict::Undecided;
            let few = format!("; {messages} messages are too few to tell: {enough} would do");
            self.because.push_str(&few);
        }
        self
    }

    /// Returns the statement decided as by [`decided_by`](Self::decided_by), with the share by which ours may
    /// be off for the bar.
    #[must_use]
    pub fn decided_within(self, ci95: Option<[f64; 2]>, tolerance: f64) -> Self {
        let published = self.published.unwrap_or(f64::NAN);
        self.decided_by(ci95, [published * (1.0 - tolerance), published * (1.0 + tolerance)])
    }

    /// Returns the statement with a reason in front of the one there is.
    #[must_use]
    pub fn because(mut self, reason: &str) -> Self {
        self.because = format!("{reason} ({})", self.because);
        self
    }
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
