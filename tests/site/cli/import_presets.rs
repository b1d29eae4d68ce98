//! `landing import`: the table of presets, value by value.

use std::collections::BTreeMap;

use landing::cli::Verdict;
use serde_json::Value;

use super::dry_run;

const PRESETS: &str = include_str!("../../../src/cli/import/presets.json");

/// Returns the texts of an array in an object, or none.
fn texts<'a>(object: &'a Value, key: &str) -> Vec<&'a str> {
    let array = object[key].as_array().into_iter().flatten();
    array.filter_map(Value::as_str).collect()
}

/// Returns the columns and the values of `COLUMN=VALUE`. `*` is some other value.
fn pairs<'a>(options: &'a Value, key: &str) -> Vec<(&'a str, &'a str)> {
    let pairs = texts(options, key).into_iter();
    let pairs = pairs.map(|text| text.split_once('=').expect("COLUMN=VALUE"));
    pairs
        .map(|(column, value)| (column, if value == "*" { "x" } else { value }))
        .collect()
}

/// Returns what an import with these options makes of a person with these cells.
fn verdict(cells: &BTreeMap<&str, &str>, options: &[&str]) -> Result<Verdict, String> {
    let row = |texts: Vec<&&str>| {
        let quoted = texts.iter().map(|it| format!("\"{it}\""));
        quoted.collect::<Vec<_>>().join(",") + "\n"
    };
    let file = row(cells.keys().collect()) + &row(cells.values().collect());
    let rows = dry_run(file, options).map_err(|error| error.to_string())?;
    Ok(rows[0].verdict)
}

#[test]
fn each_value_of_each_preset_means_what_the_table_says() {
    let presets: Value = serde_json::from_str(PRESETS).expect("JSON");
    for preset in presets.as_array().expect("presets") {
        let name = preset["name"].as_str().expect("a name");
        for file in preset["files"].as_array().expect("files") {
            let options = &file["options"];
            let mut given = Vec::new();
            if file["is_ambiguous"] == true {
                given.extend(["--preset", name]);
            }
            if file["is_incomplete"] == true {
                given.push("--nobody-left");
            }
            let given = &given[..];
            let (left, stay) = (pairs(options, "left"), pairs(options, "stay"));
            // A person who stays by every column.
            let always = texts(file, "always").into_iter();
            let mut cells: BTreeMap<_, _> = always.map(|column| (column, "")).collect();
            for (column, value) in stay.iter().rev() {
                if cells.contains_key(column) {
                    cells.insert(column, value);
                }
            }
            let map = pairs(options, "map");
            let (_, email) = map
                .iter()
                .find(|(field, _)| *field == "email")
                .expect("an address");
            cells.insert(email, "ann@people.example");
            if options["everybody_left"] == true {
                assert_eq!(
                    verdict(&cells, given),
                    Ok(Verdict::Left),
                    "{name} {cells:?}"
                );
                continue;
            }
            if left.is_empty() {
                let error = verdict(&cells, given).expect_err(name);
                assert!(
                    error.contains("has anybody in the file left, or said no to mail?"),
                    "{name}: {error}"
                );
                continue;
            }
            for (kind, expected) in [
                ("left", Verdict::Left),
                ("stay", Verdict::Stays),
                ("undecided", Verdict::Undecided),
            ] {
                for (column, value) in pairs(options, kind) {
                    let mut cells = cells.clone();
                    cells.insert(column, value);
                    assert_eq!(
                        verdict(&cells, given),
                        Ok(expected),
                        "{name}: {column}={value}"
                    );
                }
            }
        }
    }
}
