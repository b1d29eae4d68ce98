//! People who leave: what the page and a terminal say.

use super::{addresses, assert_contains, stdout, with_three_people};
use crate::ended::RunToEnd;

#[test]
fn people_who_left_can_join_again_on_the_page() {
    for cli in with_three_people() {
        cli.stdout(&["unsubscribe", "ann@example.com"]);
        let Some(server) = &cli.server else {
            continue;
        };
        assert_eq!(server.join("Ann@example.com"), "201");
        assert_eq!(server.join("ann@example.com"), "409");
        assert_eq!(
            addresses(&cli),
            ["Ann@example.com", "Bob@Example.com", "cyd@example.com"]
        );
        let import = cli
            .run_with_input(&["import"], "ann@example.com\n")
            .success();
        assert!(stdout(&import).contains("0 added, 1 already there"));
        let shown = cli.stdout(&["show", "ann@example.com"]);
        assert!(!shown.contains("suppressed"), "{shown}");
        cli.stdout(&["correct", "cyd@example.com", "cid@example.com"]);
        assert_eq!(server.join("cid@example.com"), "409");
        assert_eq!(server.join("cyd@example.com"), "201");
    }
}

/// On a terminal, the command asks.
#[cfg(target_os = "linux")]
#[test]
fn asks_whether_to_unsubscribe_on_a_terminal() {
    let cli = super::without_server().with_three_people();
    for (email, answer, expected) in [
        ("ann@example.com", "u\n", "ann@example.com is unsubscribed"),
        ("bob@example.com", "e\n", "bob@example.com is erased"),
        ("cyd@example.com", "\n", "nothing was changed"),
    ] {
        let command = format!(
            "'{}' erase {email} --store data",
            env!("CARGO_BIN_EXE_landing")
        );
        let mut script = cli.command_for("script");
        script.args(["-qec", &command, "/dev/null"]);
        let shown = stdout(&script.run_with_input(answer));
        assert_contains(&shown, "(u)nsubscribe, (e)rase");
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    let report = stdout(&cli.run_with_input(&["import"], "ann@example.com\nbob@example.com\n"));
    assert_contains(&report, "1 added");
    assert_eq!(cli.stdout(&["count"]), "2\n");
}
