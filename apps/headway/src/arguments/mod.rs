//! Values on the command line, the same words in every command. Each parser says what is wrong and how to
//! mend it; clap adds the option's name and the value.

mod duration;
mod json_target;
mod load;
mod probability;
mod rate;
mod size;

pub(crate) use duration::{format_duration, parse_duration, parse_positive_duration};
pub(crate) use json_target::JsonTarget;
pub(crate) use load::LoadArguments;
pub(crate) use probability::parse_probability;
pub(crate) use rate::parse_rate;
pub(crate) use size::parse_size;
