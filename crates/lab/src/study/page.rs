//! What a page says: enough to draw it, and nothing else.

use serde::{Deserialize, Serialize};

/// A rebuilt figure or table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// As on the command line.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// What was simulated, in sentences.
    pub conditions: Vec<String>,
    /// What the study says, and what came out here.
    pub statements: Vec<Statement>,
    /// All curves.
    pub series: Vec<Series>,
    /// How the curves are drawn.
    pub figures: Vec<Figure>,
    /// Tables.
    pub tables: Vec<Table>,
    /// What a reader should know besides.
    pub notes: Vec<String>,
    /// What was to be measured and was not, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// How much was simulated: seeds and messages.
    pub effort: String,
    /// Time on the wall; the only thing two equal runs differ in.
    pub wall_s: f64,
}

/// One statement of a study, put to the test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// What is stated.
    pub text: String,
    /// The study's value, where it has one.
    pub published: Option<f64>,
    /// Ours.
    pub ours: Option<f64>,
    /// Of both.
    pub unit: String,
    /// 95 % interval of ours.
    pub ci95: Option<[f64; 2]>,
    /// Whether ours bears it out.
    pub verdict: Verdict,
    /// Why.
    pub because: String,
}

/// Whether a statement was borne out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// It was.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// It was not.
    #[serde(rename = "not reproduced")]
    NotReproduced,
    /// Not to the letter, for a reason that is known.
    #[serde(rename = "differs")]
    Differs,
    /// The interval of ours is wider than the bar: more runs would tell.
    #[serde(rename = "undecided")]
    Undecided,
}

impl Verdict {
    /// In a word or two.
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

/// One curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Which figure it belongs to.
    pub figure: String,
    /// What it is.
    pub name: String,
    /// How it is drawn.
    pub mark: Mark,
    /// Abscissa and ordinate; for heat maps a third value, the shade.
    pub points: Vec<Vec<f64>>,
    /// 95 % interval of each ordinate, where there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ci95: Vec<Option<[f64; 2]>>,
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// Measured or simulated: points joined by a line.
    Points,
    /// Measured with real packets: marks alone, over what was simulated.
    Measured,
    /// A model: a dashed line.
    Model,
    /// A distribution: steps.
    Steps,
    /// A bar per abscissa.
    Bars,
    /// A shade per point.
    Heat,
}

/// A figure: axes, and which series it shows is in the series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Named by its series.
    pub id: String,
    /// Above it.
    pub title: String,
    /// Abscissa.
    pub x: Axis,
    /// Ordinate.
    pub y: Axis,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What and in which unit.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// From and to; `None`: what the points need.
    pub bounds: Option<[f64; 2]>,
}

/// The division of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal steps.
    Linear,
    /// Equal factors.
    Log,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Above it.
    pub title: String,
    /// Column heads.
    pub head: Vec<String>,
    /// Rows, as many values as there are heads.
    pub rows: Vec<Vec<String>>,
}

impl Statement {
    /// Ours is within `tolerance` (a share) of the published value.
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

    /// A statement without a number of its own: it holds or it does not.
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

    /// With the interval of ours.
    #[must_use]
    pub fn with_ci95(mut self, ci95: Option<[f64; 2]>) -> Self {
        self.ci95 = ci95;
        self
    }

    /// What was not borne out is undecided as long as the interval of ours overlaps what would have borne it out.
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

    /// What was not borne out is undecided if there were fewer messages than it takes to see it.
    #[must_use]
    pub fn given(mut self, messages: u64, enough: u64) -> Self {
        if messages < enough && self.verdict != Verdict::Reproduced {
            self.verdict = Verdict::Undecided;
            let few = format!("; {messages} messages are too few to tell: {enough} would do");
            self.because.push_str(&few);
        }
        self
    }

    /// The share by which ours may be off stands for the bar of [`decided_by`](Self::decided_by).
    #[must_use]
    pub fn decided_within(self, ci95: Option<[f64; 2]>, tolerance: f64) -> Self {
        let published = self.published.unwrap_or(f64::NAN);
        self.decided_by(ci95, [published * (1.0 - tolerance), published * (1.0 + tolerance)])
    }

    /// With a reason in front of the one there is.
    #[must_use]
    pub fn because(mut self, reason: &str) -> Self {
        self.because = format!("{reason} ({})", self.because);
        self
    }
}

impl Axis {
    /// Equal steps.
    #[must_use]
    pub fn linear(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Linear, bounds: None }
    }

    /// Equal factors.
    #[must_use]
    pub fn log(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Log, bounds: None }
    }

    /// From and to.
    #[must_use]
    pub fn between(self, low: f64, high: f64) -> Self {
        Self { bounds: Some([low, high]), ..self }
    }
}

impl Figure {
    /// A figure with these axes.
    #[must_use]
    pub fn new(id: &str, title: &str, x: Axis, y: Axis) -> Self {
        Self { id: id.to_owned(), title: title.to_owned(), x, y }
    }
}

impl Series {
    /// A curve without intervals.
    #[must_use]
    pub fn new(
        figure: &str,
        name: impl Into<String>,
        mark: Mark,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        let points = points.into_iter().map(|(x, y)| vec![x, y]).collect();
        Self { figure: figure.to_owned(), name: name.into(), mark, points, ci95: Vec::new() }
    }
}
