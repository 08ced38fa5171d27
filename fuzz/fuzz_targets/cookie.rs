#![no_main]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| sctp_core::fuzzing::cookie(octets));
