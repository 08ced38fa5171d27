//! HTML from pages: self-contained, figures as inline SVG, nothing but the page's own data.

mod html;
mod scale;
mod svg;

pub use html::{study_page, summary_page};

/// Returns the study a page belongs to: `S1` for `S1-fig4`.
#[must_use]
pub fn study_of(id: &str) -> &str {
    id.split('-').next().unwrap_or(id)
}
