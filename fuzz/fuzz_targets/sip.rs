#![no_main]

libfuzzer_sys::fuzz_target!(|octets: &[u8]| headway_fuzz::sip::message(octets));
