//! Hosts with several addresses: who learns which, what may be sent where, and what happens when paths fail.

mod addresses;
mod failover;
mod flaps;
mod gap;
mod sources;
mod start_up;
