//! Hosts with several addresses: who learns which, what may be sent where, and what happens when paths fail.

mod addresses;
mod break_before_make;
mod failover;
mod flaps;
mod meanwhile;
mod sources;
mod start_up;
