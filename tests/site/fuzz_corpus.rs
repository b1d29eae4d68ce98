//! Replays the fuzzing corpus: inputs that together cover all code the fuzzer has reached, and some written by
//! hand.

use std::{fs, path::Path};

use crate::fixtures;

#[path = "../../fuzz/properties.rs"]
mod properties;

/// Checks a property with every input of a corpus.
fn replay(name: &str, property: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(name);
    let inputs: Vec<_> = fs::read_dir(corpus).expect("a corpus").flatten().collect();
    assert!(inputs.len() > 20, "{} inputs", inputs.len());
    for input in inputs {
        property(&fs::read(input.path()).expect("readable"));
    }
}

#[test]
fn email_corpus_satisfies_its_property() {
    replay("email", properties::email);
}

#[test]
fn body_corpus_satisfies_its_property() {
    replay("body", properties::body);
}

#[test]
fn forwarded_corpus_satisfies_its_property() {
    replay("forwarded", properties::forwarded);
}

#[test]
fn record_corpus_satisfies_its_property() {
    replay("record", properties::record);
}
