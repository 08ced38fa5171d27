//! Means of very many points, of which few are worked out: the rest lie on a surface through these, which is compared with the
//! model at some of the points that were asked for, and cut until it is near enough.

use lab::StopSignal;
use models::surface::{Axis, Nodes, Surface};

use crate::predict::Point;
use crate::shares::{Means, in_shares};

/// A model, where it is too slow for as many points.
pub(crate) struct Approximation<'a> {
    /// The points that were asked for, all with a round-trip time and a load.
    pub(crate) points: &'a [Point],
    /// The processing time of both ends together.
    pub(crate) processing_ms: f64,
    /// How far a mean may be from that of the model, as a share of it.
    pub(crate) tolerance: f64,
    /// The round-trip times between which the model is smooth, in ascending order.
    pub(crate) bends_ms: &'a [f64],
    /// The model itself, which is asked for few points.
    pub(crate) exact: &'a (dyn Fn(&[Point]) -> Means + Sync),
    pub(crate) stop: &'a StopSignal,
}

impl Approximation<'_> {
    /// Returns the mean of each point; of no meaning once the signal is raised.
    pub(crate) fn means(&self) -> Means {
        let mut means = vec![0.0; self.points.len()];
        let mut pieces = self.between_bends();
        while let Some(piece) = pieces.pop()
            && !self.stop.is_raised()
        {
            match self.look_at(&piece)? {
                Found::Means(found) => {
                    for (index, mean) in piece.into_iter().zip(found) {
                        means[index] = mean;
                    }
                }
                Found::TooLarge(parts) => pieces.extend(parts),
            }
        }
        Ok(means)
    }

    /// Puts the indices of points together between which there is no bend.
    fn between_bends(&self) -> Vec<Vec<usize>> {
        let mut pieces = vec![Vec::new(); self.bends_ms.len() + 1];
        for (index, point) in self.points.iter().enumerate() {
            pieces[self.bends_ms.partition_point(|bend_ms| *bend_ms <= point.rtt_ms)].push(index);
        }
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }

    /// Finds the means of the points with these indices, if one surface is enough for them.
    fn look_at(&self, piece: &[usize]) -> Result<Found, String> {
        let bounds = Bounds::of(self.points, piece);
        let checked = bounds.checked(piece);
        let mut known = None;
        let mut roughest = 0;
        for counts in NODES {
            let nodes = Nodes::new(bounds.axes(self.points, counts));
            if piece.len() <= nodes.points().len() + CHECKED {
                return self.work_out(piece).map(Found::Means);
            }
            // Nodes without value: the signal was raised.
            let Some(surface) = self.through(nodes)? else { return Ok(Found::TooLarge(Vec::new())) };
            let means = match known.take() {
                Some(means) => means,
                None => self.work_out(&checked)?,
            };
            if self.is_near(&surface, &checked, &means) {
                return self.read_off(&surface, piece).map(Found::Means);
            }
            known = Some(means);
            roughest = surface.roughest();
        }
        let parts = bounds.cut(self.points, piece, roughest);
        if parts.iter().any(Vec::is_empty) {
            return self.work_out(piece).map(Found::Means);
        }
        Ok(Found::TooLarge(parts.into()))
    }

    fn through(&self, nodes: Nodes) -> Result<Option<Surface>, String> {
        let places: Vec<Point> = nodes.points().into_iter().map(point_at).collect();
        let means = (self.exact)(&places)?;
        let by_loss = |(point, mean): (&Point, f64)| {
            ((mean - self.fixed_ms(*point)).max(RESOLUTION_MS) / point.loss.max(LEAST_LOSS)).ln()
        };
        let values: Vec<f64> = places.iter().zip(means).map(by_loss).collect();
        Ok(nodes.through(&values))
    }

    /// Asks the model for each of these points.
    fn work_out(&self, piece: &[usize]) -> Means {
        (self.exact)(&piece.iter().map(|&index| self.points[index]).collect::<Vec<_>>())
    }

    fn read_off(&self, surface: &Surface, piece: &[usize]) -> Means {
        in_shares(piece, |_, part| {
            Ok(part.iter().map(|&index| self.on(surface, self.points[index])).collect())
        })
    }

    /// Says whether the surface is so near to the means of the model at these points that it may be used for their neighbours.
    fn is_near(&self, surface: &Surface, checked: &[usize], means: &[f64]) -> bool {
        checked.iter().zip(means).all(|(&index, mean)| {
            (self.on(surface, self.points[index]) / mean - 1.0).abs() <= self.tolerance * SHARE_WHERE_CHECKED
        })
    }

    fn on(&self, surface: &Surface, point: Point) -> f64 {
        self.fixed_ms(point) + point.loss * surface.at(place_of(point)).exp()
    }

    /// Returns what a transaction takes without loss. What losses add is nearly in proportion to them, and it is that
    /// proportion which is interpolated.
    fn fixed_ms(&self, point: Point) -> f64 {
        point.rtt_ms + self.processing_ms
    }
}

/// The outcome of a look at some of the points.
enum Found {
    Means(Vec<f64>),
    /// The parts in which they have to be looked at.
    TooLarge(Vec<Vec<usize>>),
}

/// The outermost of some points: for each variable the index of one with the least and of one with the largest value.
struct Bounds([[usize; 2]; 3]);

impl Bounds {
    fn of(points: &[Point], piece: &[usize]) -> Self {
        let first = piece.first().copied().unwrap_or(0);
        let mut bounds = [[first; 2]; 3];
        for &index in piece {
            let values = points[index].variables();
            for (variable, [least, most]) in bounds.iter_mut().enumerate() {
                if values[variable] < points[*least].variables()[variable] {
                    *least = index;
                }
                if values[variable] > points[*most].variables()[variable] {
                    *most = index;
                }
            }
        }
        Self(bounds)
    }

    fn axes(&self, points: &[Point], nodes: [u16; 3]) -> [Axis; 3] {
        let side = |variable: usize| self.0[variable].map(|index| place_of(points[index])[variable]);
        let axis = |variable: usize| {
            let [least, most] = side(variable);
            Axis { least, most, nodes: nodes[variable] }
        };
        [axis(0), axis(1), axis(2)]
    }

    /// Returns the indices at which a surface is compared with the model: the outermost ones, where it is worst as a rule,
    /// and some from everywhere, in no step with a grid.
    fn checked(&self, piece: &[usize]) -> Vec<usize> {
        let outermost = self.0.iter().flatten().copied();
        outermost.chain((0..SPREAD).map(|number| piece[spread(number, piece.len())])).collect()
    }

    /// Cuts the points in two across the middle of a variable.
    fn cut(&self, points: &[Point], piece: &[usize], variable: usize) -> [Vec<usize>; 2] {
        let [least, most] = self.0[variable].map(|index| place_of(points[index])[variable]);
        let middle = f64::midpoint(least, most);
        let (low, high) = piece.iter().partition(|&&index| place_of(points[index])[variable] <= middle);
        [low, high]
    }
}

/// Returns where a point is on a surface.
fn place_of(point: Point) -> [f64; 3] {
    [point.rtt_ms.ln(), point.loss, point.rate.ln()]
}

fn point_at([rtt, loss, rate]: [f64; 3]) -> Point {
    Point { rtt_ms: rtt.exp(), loss, rate: rate.exp() }
}

/// Returns one of `places`, for successive numbers from everywhere, whatever the order of rows and columns: the fractions of
/// multiples of the golden ratio lie evenly at any scale.
fn spread(number: u64, places: usize) -> usize {
    let fraction = u128::from(number.wrapping_mul(GOLDEN));
    usize::try_from((fraction * places as u128) >> u64::BITS).unwrap_or(0)
}

/// 2⁶⁴ over the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// The nodes of a surface along round-trip time, loss and rate: first few are tried, then more.
const NODES: [[u16; 3]; 2] = [[8, 3, 8], [8, 5, 8]];
/// The step in which the models give means.
const RESOLUTION_MS: f64 = 1e-6;
/// The loss that a proportion is taken to where there is none: it counts for nothing there.
const LEAST_LOSS: f64 = 1e-12;
/// The points from everywhere at which a surface is compared with the model.
const SPREAD: u64 = 64;
/// All points at which it is compared.
const CHECKED: usize = 70;
/// The share of the tolerance that is allowed where the surface is compared: elsewhere it may be a little farther away.
const SHARE_WHERE_CHECKED: f64 = 0.5;
