//! Values on the command line, the same words in every command. Each parser says what is wrong and how to
//! mend it; clap adds the option's name and the value.

mod address;
mod capture;
mod congestion;
mod duration;
mod events;
mod impairments;
mod json_target;
mod load;
mod message;
mod packet_number;
mod probability;
mod rate;
mod seed;
mod share;
mod size;
mod traffic;
mod usage;

pub(crate) use address::{
    ANOTHER_ADDRESS, Address, EncapPort, Place, bind_remedy, parse_address, parse_perf_address,
};
pub(crate) use capture::{CapturePointArguments, check_capture};
pub(crate) use congestion::parse_congestion;
pub(crate) use duration::{format_duration, parse_duration, parse_positive_duration};
pub(crate) use events::EventsArguments;
pub(crate) use impairments::ImpairmentArguments;
pub(crate) use json_target::JsonTarget;
pub(crate) use load::RateArguments;
pub(crate) use message::parse_message;
pub(crate) use packet_number::parse_packet_number;
pub(crate) use probability::{ProbabilityError, parse_probability};
pub(crate) use rate::parse_rate;
pub(crate) use seed::parse_seed;
pub(crate) use share::parse_share;
pub(crate) use size::parse_size;
pub(crate) use traffic::{ProcessingArguments, TrafficArguments};
pub(crate) use usage::UsageError;
