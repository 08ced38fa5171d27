//! A function of three variables, known at a few points only: interpolation between Chebyshev nodes.
//!
//! Owns neither the function nor who works out its values, nor how good the interpolation is: whoever needs to know that
//! compares it with the function, at points that are no nodes.
//!
//! ```
//! use models::surface::{Axis, Nodes};
//!
//! let side = Axis { least: 1.0, most: 2.0, nodes: 6 };
//! let nodes = Nodes::new([side; 3]);
//! let values: Vec<f64> = nodes.points().iter().map(|[x, y, z]| (x * y).ln() / z).collect();
//! let surface = nodes.through(&values).unwrap();
//! assert!((surface.at([1.5, 1.2, 1.9]) - 1.8f64.ln() / 1.9).abs() < 1e-4);
//! ```

use core::f64::consts::PI;

/// The points at which a function has to be known to be interpolated within a box.
#[derive(Debug, Clone, PartialEq)]
pub struct Nodes {
    axes: [Axis; 3],
}

/// One side of a box: the range of a variable, and how many nodes are along it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    /// The smallest value of the variable.
    pub least: f64,
    /// The largest value of the variable.
    pub most: f64,
    /// The number of nodes, 1 to [`MOST_NODES`], others are brought to that. One is taken if the variable does not vary.
    pub nodes: u16,
}

impl Nodes {
    /// Creates the nodes of a box.
    #[must_use]
    pub fn new(axes: [Axis; 3]) -> Self {
        Self { axes: axes.map(Axis::sound) }
    }

    /// Returns the nodes, none of which is on the rim of the box; the last variable varies fastest.
    #[must_use]
    pub fn points(&self) -> Vec<[f64; 3]> {
        let [first, second, third] = self.axes.map(Axis::positions);
        let rows = first.iter().flat_map(|&x| second.iter().map(move |&y| (x, y)));
        rows.flat_map(|(x, y)| third.iter().map(move |&z| [x, y, z])).collect()
    }

    /// Returns the polynomial that has these values at the nodes, in the order of [`Self::points`]; `None` if there are
    /// more or fewer values than nodes.
    #[must_use]
    pub fn through(self, values: &[f64]) -> Option<Surface> {
        let counts = self.axes.map(Axis::count);
        if values.len() != counts.iter().product::<usize>() {
            return None;
        }
        // One axis after the other; each turn moves the axis that is transformed from the last place to the first.
        let mut coefficients = values.to_vec();
        for count in counts.into_iter().rev() {
            coefficients = transformed(&coefficients, count);
        }
        let rows = coefficients.chunks_exact(counts[2]).map(|row| {
            let mut padded = [0.0; MOST];
            padded[..row.len()].copy_from_slice(row);
            padded
        });
        Some(Surface { axes: self.axes, rows: rows.collect() })
    }
}

/// A polynomial of three variables, as a sum of products of Chebyshev polynomials.
#[derive(Debug, Clone, PartialEq)]
pub struct Surface {
    axes: [Axis; 3],
    /// The coefficients: those of the last variable in a row, with zeros behind them. Rows of one length are added at once.
    rows: Vec<[f64; MOST]>,
}

impl Surface {
    /// Returns the value at a point of the box.
    #[must_use]
    pub fn at(&self, point: [f64; 3]) -> f64 {
        let [first, second, third] =
            [0, 1, 2].map(|variable| self.axes[variable].polynomials(point[variable]));
        let [firsts, seconds, _] = self.axes.map(Axis::count);
        let mut sums = [0.0; MOST];
        for (rows, x) in self.rows.chunks_exact(seconds).zip(&first[..firsts]) {
            for (row, y) in rows.iter().zip(&second[..seconds]) {
                let weight = x * y;
                for (sum, coefficient) in sums.iter_mut().zip(row) {
                    *sum += weight * coefficient;
                }
            }
        }
        sums.iter().zip(third).map(|(sum, z)| sum * z).sum()
    }

    /// Returns along which variable, 0 to 2, the polynomial is farthest from having converged: the one whose highest
    /// coefficients are largest. A box that is too large is best cut across it.
    #[must_use]
    pub fn roughest(&self) -> usize {
        let counts = self.axes.map(Axis::count);
        let mut highest = [0.0; 3];
        for (index, row) in self.rows.iter().enumerate() {
            for (third, coefficient) in row.iter().enumerate() {
                let orders = [index / counts[1], index % counts[1], third];
                for (highest, (order, count)) in highest.iter_mut().zip(orders.into_iter().zip(counts)) {
                    if count > 1 && order + 2 >= count {
                        *highest += coefficient.abs();
                    }
                }
            }
        }
        let [first, second, third] = highest;
        if first >= second && first >= third { 0 } else { 1 + usize::from(third > second) }
    }
}

impl Axis {
    fn sound(self) -> Self {
        let varies = self.least < self.most;
        Self { nodes: if varies { self.nodes.clamp(1, MOST_NODES) } else { 1 }, ..self }
    }

    fn count(self) -> usize {
        usize::from(self.nodes)
    }

    fn positions(self) -> Vec<f64> {
        let (middle, half) = (f64::midpoint(self.least, self.most), (self.most - self.least) / 2.0);
        (0..self.nodes).map(|node| middle + half * angle(node, self.nodes).cos()).collect()
    }

    /// Returns the values of the Chebyshev polynomials, as many as there are nodes.
    fn polynomials(self, value: f64) -> [f64; MOST] {
        let mut values = [1.0; MOST];
        if self.nodes > 1 {
            let x = (2.0 * value - self.least - self.most) / (self.most - self.least);
            values[1] = x;
            for order in 2..self.count() {
                values[order] = 2.0 * x * values[order - 1] - values[order - 2];
            }
        }
        values
    }
}

/// Returns the coefficients along the last axis, which has `count` nodes, and moves that axis to the first place.
fn transformed(values: &[f64], count: usize) -> Vec<f64> {
    let nodes = u16::try_from(count).unwrap_or(MOST_NODES);
    let mut coefficients = Vec::with_capacity(values.len());
    for order in 0..nodes {
        let share = if order == 0 { 1.0 } else { 2.0 } / f64::from(nodes);
        let cosines: Vec<f64> =
            (0..nodes).map(|node| (f64::from(order) * angle(node, nodes)).cos()).collect();
        let sum_of =
            |row: &[f64]| share * row.iter().zip(&cosines).map(|(value, cosine)| value * cosine).sum::<f64>();
        coefficients.extend(values.chunks_exact(count).map(sum_of));
    }
    coefficients
}

/// Returns the angle whose cosine is the place of a node between −1 and 1.
fn angle(node: u16, nodes: u16) -> f64 {
    PI * (f64::from(node) + 0.5) / f64::from(nodes)
}

/// The largest number of nodes of an axis.
pub const MOST_NODES: u16 = 8;
const MOST: usize = MOST_NODES as usize;

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(counts: [u16; 3]) -> Nodes {
        let mut axes =
            [(0.0, 1.0), (-3.0, 5.0), (2.0, 2.5)].map(|(least, most)| Axis { least, most, nodes: 1 });
        for (axis, nodes) in axes.iter_mut().zip(counts) {
            axis.nodes = nodes;
        }
        Nodes::new(axes)
    }

    fn through(nodes: Nodes, function: impl Fn([f64; 3]) -> f64) -> Surface {
        let values: Vec<f64> = nodes.points().into_iter().map(function).collect();
        nodes.through(&values).unwrap()
    }

    #[test]
    fn polynomials_of_lower_degree_are_met_everywhere() {
        let function = |[x, y, z]: [f64; 3]| 3.0 - x * x * y + z * y.powi(3) + x;
        let surface = through(nodes([3, 4, 2]), function);
        for point in [[0.0, -3.0, 2.0], [1.0, 5.0, 2.5], [0.3, 0.7, 2.2]] {
            assert!((surface.at(point) - function(point)).abs() < 1e-10, "{point:?}");
        }
    }

    #[test]
    fn smooth_functions_are_met_the_better_the_more_nodes_there_are() {
        let function = |[x, y, z]: [f64; 3]| (x - y / 4.0).exp() / z;
        let error = |count| {
            let surface = through(nodes([count; 3]), function);
            (surface.at([0.9, -2.9, 2.1]) - function([0.9, -2.9, 2.1])).abs()
        };
        assert!(error(2) > 1e-2 && error(4) > 1e-4 && error(8) < 1e-6);
    }

    #[test]
    fn a_variable_that_does_not_vary_has_one_node() {
        let axes = [Axis { least: 2.0, most: 2.0, nodes: 8 }, Axis { least: 0.0, most: 1.0, nodes: 3 }];
        let nodes = Nodes::new([axes[0], axes[1], axes[0]]);
        assert_eq!(nodes.points().len(), 3);
        assert!((through(nodes, |[x, y, z]| x * y * y + z).at([2.0, 0.5, 2.0]) - 2.5).abs() < 1e-12);
    }

    #[test]
    fn the_roughest_variable_is_the_one_with_the_kink() {
        for kinked in 0..3 {
            let middles = [0.5, 1.0, 2.25];
            let kink =
                |point: [f64; 3]| point.iter().sum::<f64>() + 8.0 * (point[kinked] - middles[kinked]).abs();
            assert_eq!(through(nodes([8, 8, 8]), kink).roughest(), kinked);
        }
    }

    #[test]
    fn values_that_are_not_one_for_each_node_are_no_surface() {
        assert!(nodes([2, 2, 2]).through(&[0.0; 7]).is_none());
    }
}
