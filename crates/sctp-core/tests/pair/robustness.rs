//! Attacks and misuse against a whole endpoint, by the rows of docs/robustness.md. Rows that a test elsewhere shows
//! are named there.

mod crowds;
mod events;
mod options;
mod persist;
mod reconfig_work;
mod replays;
mod storms;
mod strangers;
