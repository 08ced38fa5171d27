//! Frames of a video: read from a public trace, or made with a mean and a pattern of pictures.

use netem::derive_indexed_seed;

/// Sizes of the frames of a video, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VideoTrace {
    /// The number of octets of each frame.
    pub frames: Vec<u32>,
}

/// The reason why a text is no trace of a video.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VideoTraceError {
    /// A line has no size of a frame.
    #[error(
        "line {line}: `{text}` has no size of a frame: write the size alone, or number, type, time in ms and size"
    )]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// The whole text of the line.
        text: String,
    },
    /// The text has comments only.
    #[error("there is no frame in it")]
    Empty,
}

impl VideoTrace {
    /// Reads the text format of the public trace libraries: a line per frame, either number, type (`I`, `P`, `B`), time in ms, size in
    /// octets and perhaps more, or the size alone; `#` begins a comment.
    ///
    /// # Errors
    /// [`VideoTraceError`] with the line.
    pub fn parse(text: &str) -> Result<Self, VideoTraceError> {
        let mut frames = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let fields: Vec<&str> = text.split('#').next().unwrap_or_default().split_whitespace().collect();
            let size = match fields[..] {
                [] => continue,
                [size] => size,
                [_, kind, _, size, ..] if kind.chars().all(char::is_alphabetic) => size,
                _ => "",
            };
            let size = size.parse().map_err(|_| VideoTraceError::Line { line, text: text.to_owned() })?;
            frames.push(size);
        }
        if frames.is_empty() { Err(VideoTraceError::Empty) } else { Ok(Self { frames }) }
    }

    /// Generates `frames` frames of a mean size, in groups of twelve pictures (IBBPBBPBBPBB): intra-coded
    /// pictures are five times, predicted ones two and a half times as long as bidirectional ones, and each
    /// varies by a third.
    #[must_use]
    pub fn generate(mean_bytes: u32, frames: usize, seed: u64) -> Self {
        let weight = |index: usize| {
            let kind = match index % PICTURES {
                0 => 5.0,
                position if position % 3 == 0 => 2.5,
                _ => 1.0,
            };
            // The sum of three uniform numbers is bell-shaped, with a standard deviation of a half.
            let bell: f64 = ["a", "b", "c"].map(|label| uniform(seed, label, index) - 0.5).iter().sum();
            kind * (bell * 2.0 / 3.0).exp()
        };
        let weights: Vec<f64> = (0..frames).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        let octets = f64::from(mean_bytes) * frames as f64 / sum;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few times the mean")]
        let size = |weight: f64| (weight * octets).round() as u32;
        Self { frames: weights.into_iter().map(size).collect() }
    }

    /// Returns the mean size of the frames, in octets.
    #[must_use]
    pub fn mean_bytes(&self) -> f64 {
        self.frames.iter().copied().map(f64::from).sum::<f64>() / self.frames.len().max(1) as f64
    }
}

/// Returns a random number from 0 to 1.
fn uniform(seed: u64, label: &str, index: usize) -> f64 {
    let drawn = derive_indexed_seed(seed, label, u64::try_from(index).unwrap_or(u64::MAX));
    u32::try_from(drawn >> 32).map_or(0.0, f64::from) / f64::from(u32::MAX)
}

/// Pictures of a group.
const PICTURES: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_the_public_format_are_read() {
        let verbose =
            "# Frame Type Time Length\n0 I 0.0 41000 38.1\n1 B 33.3 900\n\n2 P 66.7 12000 36 # dark\n";
        assert_eq!(VideoTrace::parse(verbose).map(|trace| trace.frames), Ok(vec![41_000, 900, 12_000]));
        assert_eq!(VideoTrace::parse("100\n200\n").map(|trace| trace.frames), Ok(vec![100, 200]));
    }

    #[test]
    fn what_is_no_trace_is_refused_with_its_line() {
        let error = VideoTrace::parse("100\n0 I 33\n").map_err(|error| error.to_string());
        assert!(error.is_err_and(|text| text.starts_with("line 2: `0 I 33`")));
        assert_eq!(VideoTrace::parse("# nothing\n"), Err(VideoTraceError::Empty));
    }

    #[test]
    fn generated_frames_have_the_mean_and_groups_that_begin_with_a_long_one() {
        let trace = VideoTrace::generate(6395, 1200, 7);
        assert!((trace.mean_bytes() / 6395.0 - 1.0).abs() < 1e-3);
        let mean = |positions: &[usize]| {
            let chosen =
                trace.frames.iter().enumerate().filter(|(index, _)| positions.contains(&(index % 12)));
            let sizes: Vec<f64> = chosen.map(|(_, size)| f64::from(*size)).collect();
            sizes.iter().sum::<f64>() / sizes.len() as f64
        };
        let ratio = mean(&[0]) / mean(&[1, 2, 4, 5, 7, 8, 10, 11]);
        assert!((4.0..6.0).contains(&ratio), "{ratio}");
        assert_eq!(trace, VideoTrace::generate(6395, 1200, 7));
    }
}
