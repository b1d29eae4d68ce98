#![no_main]

#[path = "../tests/made.rs"]
mod made;
mod properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::forwarded(bytes));
