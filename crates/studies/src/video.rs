//! Frames of a video: read from a public trace, or drawn with a mean.

use workload::{FrameSizes, MessageSize};

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

    /// Generates `frames` frames as [`FrameSizes`] draws them, scaled so that their mean is exactly this.
    #[must_use]
    pub fn generate(mean_bytes: u32, frames: usize, seed: u64) -> Self {
        let mut sizes = FrameSizes::new(MessageSize::new(mean_bytes).unwrap_or(MessageSize::MAX), seed);
        let drawn: Vec<f64> = (0..frames).map(|_| f64::from(sizes.next_size().get())).collect();
        let scale = f64::from(mean_bytes) * frames as f64 / drawn.iter().sum::<f64>();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few times the mean")]
        let size = |octets: f64| (octets * scale).round() as u32;
        Self { frames: drawn.into_iter().map(size).collect() }
    }

    /// Returns the mean size of the frames, in octets.
    #[must_use]
    pub fn mean_bytes(&self) -> f64 {
        self.frames.iter().copied().map(f64::from).sum::<f64>() / self.frames.len().max(1) as f64
    }
}

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
