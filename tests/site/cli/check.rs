//! `check`.

use serde_json::json;

use super::{TestCli, people_csv, stderr, stdout, with_server, with_three_people};
use crate::process::Sandbox;

#[test]
fn counts_a_valid_list() {
    for cli in with_three_people() {
        assert_eq!(cli.stdout(&["check"]), "3 on the list, nothing wrong\n");
        assert_eq!(cli.json(&["check"]), json!({ "entries": 3, "faults": [] }));
    }
}

/// In a directory and in a database, with and without a server.
#[test]
fn repair_leaves_a_correct_count_unchanged() {
    for cli in with_three_people() {
        assert_eq!(
            cli.stdout(&["check", "--repair"]),
            "the count was correct, nothing was changed\n3 on the list, nothing wrong\n"
        );
        assert_eq!(
            cli.json(&["check", "--repair"]),
            json!({ "entries": 3, "faults": [], "count_corrected_by": 0 })
        );
    }
}

#[test]
fn finds_no_fault_during_sign_ups() {
    let cli = with_server();
    let server = cli.server.as_ref().expect("it runs");
    std::thread::scope(|scope| {
        let joining = scope.spawn(|| {
            for number in 0..300 {
                assert_eq!(server.join(&format!("{number}@example.com")), "201");
            }
        });
        while !joining.is_finished() {
            cli.stdout(&["check"]);
        }
    });
    assert_eq!(cli.stdout(&["check"]), "300 on the list, nothing wrong\n");
}

#[test]
fn finds_no_fault_during_erasures() {
    let cli = with_server();
    cli.run_with_input(&["import"], people_csv(8_000)).success();
    std::thread::scope(|scope| {
        let erasing = scope.spawn(|| {
            for number in (0..300).step_by(20) {
                let people = number..number + 20;
                let people = people.map(|number| format!("person{number}@example.com"));
                let args: Vec<_> = ["erase".to_owned()].into_iter().chain(people).collect();
                cli.run(&args.iter().map(String::as_str).collect::<Vec<_>>())
                    .success();
            }
        });
        while !erasing.is_finished() {
            let checked = cli.json(&["check"]);
            assert_eq!(checked["faults"], json!([]), "{checked}");
        }
    });
    assert_eq!(cli.stdout(&["check"]), "7700 on the list, nothing wrong\n");
}

/// A list in which somebody else has written.
fn corrupted_list() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.serve().join("ann@example.com");
    let database = sled::open(sandbox.path().join("data/waitlist")).expect("sled opens");
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
    sandbox
}

#[test]
fn reports_invalid_addresses_future_times_and_duplicates() {
    for is_served in [false, true] {
        let sandbox = corrupted_list();
        let server = is_served.then(|| sandbox.serve());
        let cli = TestCli {
            sandbox,
            server,
            database: None,
        };
        let done = cli.run(&["check"]).code(1);
        let at = |number: u8| format!("entry {number}, in the order of joining");
        assert_eq!(
            stdout(&done),
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
        let stderr = stderr(&done);
        assert!(
            stderr.contains("things are wrong with the 3 on the list"),
            "{stderr}"
        );
        assert!(
            !stderr.contains("bob"),
            "addresses are not printed: {stderr}"
        );
        let faults = cli.json(&["check"])["faults"].as_array().map(Vec::len);
        assert_eq!(faults, Some(5));
        // What is no address can be got rid of, and who is there twice is erased twice.
        cli.run(&["erase", "no mail", "bob@example.com"]).success();
        assert_eq!(cli.stdout(&["check"]), "0 on the list, nothing wrong\n");
    }
}
