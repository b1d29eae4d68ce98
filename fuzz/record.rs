#![no_main]
// Each fuzz target uses one of the properties.
#![allow(dead_code)]

#[path = "../tests/site/fixtures.rs"]
mod fixtures;
mod properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::record(bytes));
