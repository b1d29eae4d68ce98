//! `islands/bindings/wire.ts`: the types that Rust and TypeScript share. `make generate NAME=bindings` writes it.

// Compiled a second time, as a part of the tests: here the types derive `TS`.
#[path = "../../src/wire.rs"]
#[allow(dead_code, unreachable_pub, reason = "it is a part of the program")]
mod wire;

const FILE_HEADER: &str = "// Written by `make generate NAME=bindings`; do not edit.\n";

fn wire_ts() -> String {
    let declarations = wire::typescript().into_iter();
    declarations.fold(FILE_HEADER.to_owned(), |text, declaration| {
        text + "\nexport " + &declaration + "\n"
    })
}

#[test]
fn typescript_types_match_wire_rs() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/islands/bindings/wire.ts");
    if std::env::var_os("WRITE_BINDINGS").is_some() {
        std::fs::write(path, wire_ts()).expect("islands/bindings is writable");
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    let advice = "islands/bindings/wire.ts is stale: run `make generate NAME=bindings`";
    assert_eq!(committed, wire_ts(), "{advice}");
}
