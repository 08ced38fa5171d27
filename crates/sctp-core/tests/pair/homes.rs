//! Hosts with several addresses: who learns which, what may be sent where.

mod addresses;
