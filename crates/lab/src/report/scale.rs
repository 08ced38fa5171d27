//! The places of values on an axis, and the values that get a label.

use crate::page::{Axis, Scale};

/// An axis laid out over pixels.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    scale: Scale,
    names: Vec<String>,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Layout {
    /// Creates the layout from `from` to `to` pixels, for these values.
    pub(super) fn new(axis: &Axis, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let usable = |value: &f64| value.is_finite() && (axis.scale == Scale::Linear || *value > 0.0);
        let (mut low, mut high) = values
            .filter(usable)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if let Some(bounds) = axis.bounds {
            [low, high] = bounds;
        }
        if low >= high || !low.is_finite() {
            let middle = if low.is_finite() { low } else { 1.0 };
            (low, high) = (middle * 0.9, middle * 1.1 + f64::from(middle == 0.0));
        }
        Self { scale: axis.scale, names: axis.names.clone(), low, high, from, to }
    }

    /// Returns the pixel of a value; outside values are put at the edge.
    pub(super) fn at(&self, value: f64) -> f64 {
        self.place(self.share(value).clamp(0.0, 1.0))
    }

    /// Returns where the pixel of a value would be if the axis went on, so that a line to it leaves the figure at the right place.
    pub(super) fn reach(&self, value: f64) -> f64 {
        let share = self.share(value);
        // A bound at which an axis ends is on it, whatever the arithmetic makes of it.
        let is_edge = |edge: f64| (share - edge).abs() < 1e-9;
        let edge = [0.0, 1.0].into_iter().find(|edge| is_edge(*edge));
        self.place(edge.unwrap_or(share).clamp(-FAR, FAR))
    }

    /// Returns how far along the axis a value is: 0 at its beginning, 1 at its end.
    fn share(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.max(1e-300).ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
        }
    }

    fn place(&self, share: f64) -> f64 {
        self.from + share * (self.to - self.from)
    }

    /// Returns the values that get a label, and the labels.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let values = match self.scale {
            Scale::Linear if !self.names.is_empty() => {
                return (0..).map(f64::from).zip(self.names.iter().cloned()).collect();
            }
            Scale::Linear => linear_ticks(self.low, self.high),
            Scale::Log => log_ticks(self.low, self.high),
        };
        values.into_iter().map(|value| (value, label(value))).collect()
    }
}

/// Times the length of an axis, as far as lines are drawn beyond it.
const FAR: f64 = 1000.0;

fn linear_ticks(low: f64, high: f64) -> Vec<f64> {
    let raw = (high - low) / 6.0;
    let power = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= raw);
    let step = step.unwrap_or(raw);
    let first = (low / step - 1e-9).ceil();
    (0..20)
        .map(|index| (first + f64::from(index)) * step)
        .take_while(|tick| *tick <= high + step * 1e-9)
        .collect()
}

fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let decades = (high / low).log10();
    let factors: &[f64] = if decades < 2.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let mut ticks = Vec::new();
    let mut power = 10_f64.powf(low.log10().floor());
    while power <= high {
        ticks.extend(
            factors
                .iter()
                .map(|factor| factor * power)
                .filter(|tick| *tick >= low * 0.999 && *tick <= high * 1.001),
        );
        power *= 10.0;
    }
    ticks
}

/// Returns a value without needless zeros.
pub(super) fn label(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.abs() >= 1e6 || value.abs() < 1e-3 {
        return format!("{value:.0e}");
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns a value with four significant digits.
pub(super) fn rounded(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return label(value);
    }
    let digits = 10_f64.powf(3.0 - value.abs().log10().floor());
    label((value * digits).round() / digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        assert_eq!(linear_ticks(0.0, 10.0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(log_ticks(1.0, 1000.0), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!([0.0, 0.05, 20.0, 1e-4, 2e6].map(label), ["0", "0.05", "20", "1e-4", "2e6"]);
    }

    #[test]
    fn values_outside_stay_at_the_edge() {
        let layout = Layout::new(&Axis::linear("x").between(0.0, 10.0), [].into_iter(), 50.0, 150.0);
        assert_eq!([-5.0, 0.0, 5.0, 20.0].map(|value| layout.at(value)), [50.0, 50.0, 100.0, 150.0]);
        assert_eq!([-5.0, 0.0, 5.0, 20.0].map(|value| layout.reach(value)), [0.0, 50.0, 100.0, 250.0]);
    }
}
