//! `islands/bindings/`: the types and the texts that Rust and TypeScript share. `make generate NAME=bindings` writes it.

use serde_json::Value;
use ts_rs::{Config, TS};

// Compiled a second time, as a part of the tests: here the types derive `TS`.
#[path = "../../src/wire.rs"]
#[allow(dead_code, unreachable_pub, reason = "it is a part of the program")]
mod wire;

use wire::{
    ConfirmedBody, ContactLinksProps, CountBody, CountState, ErrorBody, FormOutcome, IslandName,
    NoProps, SignUpBody, WaitlistFormProps,
};

const FILE_HEADER: &str = "// Written by `make generate NAME=bindings`; do not edit.\n";

fn wire_ts() -> String {
    let config = Config::default();
    [
        SignUpBody::decl(&config),
        CountBody::decl(&config),
        ConfirmedBody::decl(&config),
        ErrorBody::decl(&config),
        IslandName::decl(&config),
        NoProps::decl(&config),
        CountState::decl(&config),
        FormOutcome::decl(&config),
        WaitlistFormProps::decl(&config),
        ContactLinksProps::decl(&config),
    ]
    .iter()
    .fold(FILE_HEADER.to_owned(), |text, decl| {
        text + "\nexport " + decl + "\n"
    })
}

/// Returns every text of the islands under its name.
fn copy() -> Value {
    use landing::copy::islands::*;
    macro_rules! by_name {
        ($($name:ident),* $(,)?) => { [$((stringify!($name), serde_json::json!($name))),*] };
    }
    by_name!(
        DEMO_LINES,
        DEMO_LABEL,
        DEMO_DIRECTORY,
        DEMO_BUTTON,
        EMAIL_LABEL,
        EMAIL_PLACEHOLDER,
        PROMISE,
        LEAVE_EMPTY,
        SUBMIT,
        SUBMITTING,
        COUNT,
        JOINED_TITLE,
        JOINED,
        ERROR_TITLE,
        ALREADY_LISTED,
        INVALID_EMAIL,
        EMPTY_EMAIL,
        FAILED,
        CODE_LABEL,
        CODE_SUBMIT,
        CONFIRMED,
        WRONG_CODE,
        CODE_FAILED,
        CONTACT_LABEL,
        CONTACT_TIP,
        SOCIAL_LABEL,
        SOCIAL_TIP,
        TOASTS_LABEL,
        TOAST_CLOSE,
    )
    .into_iter()
    .collect()
}

fn copy_ts() -> String {
    let copy = copy();
    let copy = serde_json::to_string_pretty(&copy).expect("constants are JSON");
    format!("{FILE_HEADER}\nexport const COPY = {copy} as const;\n")
}

fn compare_or_write(file: &str, expected: &str) {
    let path = format!("{}/islands/bindings/{file}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("WRITE_BINDINGS").is_some() {
        std::fs::write(&path, expected).expect("islands/bindings is writable");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        committed, expected,
        "{file} is stale: run `make generate NAME=bindings`"
    );
}

#[test]
fn typescript_types_match_wire_rs() {
    compare_or_write("wire.ts", &wire_ts());
}

#[test]
fn typescript_copy_matches_copy_islands() {
    compare_or_write("copy.ts", &copy_ts());
}

#[test]
fn island_names_match_in_rust_and_json() {
    for island in [
        IslandName::DemoTerminal,
        IslandName::WaitlistForm,
        IslandName::ContactLinks,
        IslandName::Toaster,
    ] {
        let serialized = serde_json::to_value(island).expect("a name is JSON");
        assert_eq!(serialized, island.as_str());
    }
}
