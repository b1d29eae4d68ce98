//! `landing add`.

use serde_json::json;

use super::{addresses, all_stores, stderr, stdout, without_server};

#[test]
fn adds_people_and_says_who_is_not_added() {
    for cli in all_stores() {
        let new = cli.run(&["add", "Ann <ann@example.com>", "bob@example.com"]);
        assert_eq!(
            stdout(&new.success()),
            "ann@example.com is added\nbob@example.com is added\n"
        );
        cli.stdout(&["unsubscribe", "bob@example.com"]);
        let result = cli
            .run(&["add", "ANN@example.com", "bob@example.com"])
            .code(1);
        assert_eq!(
            stdout(&result),
            "ANN@example.com is on the list already\n\
             bob@example.com left this list and is not added; only the person can join again, on the page\n"
        );
        assert_eq!(stderr(&result), "landing: 1 person was not added\n");
        assert_eq!(
            cli.json_lines(&["add", "ann@example.com", "cyd@example.com"]),
            json!([
                { "email": "ann@example.com", "outcome": "already_listed" },
                { "email": "cyd@example.com", "outcome": "added" },
            ])
        );
        assert_eq!(addresses(&cli), ["ann@example.com", "cyd@example.com"]);
    }
}

#[test]
fn rejects_what_is_no_address_and_adds_nobody() {
    let cli = without_server();
    cli.run(&["add", "ann@example.com", "bob"]).code(2);
    cli.run(&["add"]).code(2);
    assert!(cli.file_names().is_empty(), "no list is created");
}

/// Its location may be misspelled.
#[test]
fn says_that_the_list_is_new() {
    let cli = without_server();
    let new = cli.run(&["add", "ann@example.com"]).success();
    assert!(
        stderr(&new).starts_with("landing: a new list was created in "),
        "{}",
        stderr(&new)
    );
    let known = cli.run(&["add", "bob@example.com"]).success();
    assert_eq!(stderr(&known), "");
}
