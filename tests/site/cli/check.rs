//! `check`.

use serde_json::json;

use super::{Owner, many, printed, served, told, with_three};
use crate::process::Place;

#[test]
fn a_list_that_is_right_is_counted() {
    for owner in with_three() {
        assert_eq!(owner.printed(&["check"]), "3 on the list, nothing wrong\n");
        assert_eq!(
            owner.json(&["check"]),
            json!({ "entries": 3, "faults": [] })
        );
    }
}

/// In a directory and in a database, with and without a server.
#[test]
fn to_repair_a_count_that_is_right_changes_nothing() {
    for owner in with_three() {
        assert_eq!(
            owner.printed(&["check", "--repair"]),
            "the count was correct, nothing was changed\n3 on the list, nothing wrong\n"
        );
        assert_eq!(
            owner.json(&["check", "--repair"]),
            json!({ "entries": 3, "faults": [], "count_corrected_by": 0 })
        );
    }
}

#[test]
fn it_is_right_also_while_people_join() {
    let owner = served();
    let server = owner.server.as_ref().expect("it runs");
    std::thread::scope(|scope| {
        let joining = scope.spawn(|| {
            for number in 0..300 {
                assert_eq!(server.join(&format!("{number}@example.com")), "201");
            }
        });
        while !joining.is_finished() {
            owner.printed(&["check"]);
        }
    });
    assert_eq!(
        owner.printed(&["check"]),
        "300 on the list, nothing wrong\n"
    );
}

#[test]
fn it_is_right_also_while_people_are_erased() {
    let owner = served();
    owner.run_with(&["import"], many(8_000)).success();
    std::thread::scope(|scope| {
        let erasing = scope.spawn(|| {
            for number in (0..300).step_by(20) {
                let people = number..number + 20;
                let people = people.map(|number| format!("person{number}@example.com"));
                let args: Vec<_> = ["erase".to_owned()].into_iter().chain(people).collect();
                owner
                    .run(&args.iter().map(String::as_str).collect::<Vec<_>>())
                    .success();
            }
        });
        while !erasing.is_finished() {
            let checked = owner.json(&["check"]);
            assert_eq!(checked["faults"], json!([]), "{checked}");
        }
    });
    assert_eq!(
        owner.printed(&["check"]),
        "7700 on the list, nothing wrong\n"
    );
}

/// A list in which somebody else has written.
fn spoilt() -> Place {
    let place = Place::new();
    place.serve().join("ann@example.com");
    let database = sled::open(place.path().join("data/waitlist")).expect("sled opens");
    let entries = database.open_tree("entries").expect("it is there");
    let [long_ago, to_come] = [1u64, 1 << 42].map(u64::to_be_bytes);
    let record = [
        &[7],
        &long_ago[..],
        b"no mail",
        &[15],
        &to_come,
        b"bob@example.com",
        &[15],
        &to_come,
        b"BOB@example.com",
    ];
    let written = entries.insert(0u64.to_be_bytes(), record.concat());
    written.expect("writable");
    place
}

#[test]
fn addresses_that_are_none_times_to_come_and_doubles_are_told() {
    for is_served in [false, true] {
        let place = spoilt();
        let server = is_served.then(|| place.serve());
        let owner = Owner {
            place,
            server,
            database: None,
        };
        let done = owner.run(&["check"]).code(1);
        let at = |number: u8| format!("entry {number}, in the order of joining");
        assert_eq!(
            printed(&done),
            format!(
                "{}: an address needs an @\n{}: its time is before there was e-mail\n\
                 {}: its time is to come\n{}: its time is to come\n{}: it is on the list twice\n",
                at(1),
                at(1),
                at(2),
                at(3),
                at(3)
            )
        );
        let told = told(&done);
        assert!(
            told.contains("things are wrong with the 3 on the list"),
            "{told}"
        );
        assert!(!told.contains("bob"), "addresses are not printed: {told}");
        let faults = owner.json(&["check"])["faults"].as_array().map(Vec::len);
        assert_eq!(faults, Some(5));
        // What is no address can be got rid of, and who is there twice is erased twice.
        owner
            .run(&["erase", "no mail", "bob@example.com"])
            .success();
        assert_eq!(owner.printed(&["check"]), "0 on the list, nothing wrong\n");
    }
}
