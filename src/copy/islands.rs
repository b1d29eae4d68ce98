//! The texts of the islands, which are in `islands/*/copy.json`: one module for each.

// Written by `build.rs`.
include!(concat!(env!("OUT_DIR"), "/islands_copy.rs"));
