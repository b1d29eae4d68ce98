//! What commands show on a terminal.

use super::{all_stores, with_three_people, without_server};

#[cfg(target_os = "linux")]
#[test]
fn long_commands_show_progress_on_a_terminal() {
    for cli in all_stores() {
        cli.write("people.csv", super::people_csv(20_000));
        for (args, what, progress) in [
            ("import people.csv", "adding", "% of 20,000, "),
            ("export -o list.csv", "writing", "% of 20,000, "),
            // The last 5,000 of them.
            (
                "export --since 2023-11-15T02:23:20Z -o list.csv",
                "5000 entries in list.csv",
                "% of 5,000, ",
            ),
            ("check", "reading", " %"),
            ("stats", "reading", " %"),
            ("report -o report.html", "reading", " %"),
        ] {
            let shown = cli.shown_on_terminal(args);
            assert!(
                shown.contains(what) && shown.contains(progress),
                "{args}: {shown}"
            );
        }
    }
}

/// Scripts and `--store` get no line that names the list.
#[cfg(target_os = "linux")]
#[test]
fn names_the_list_on_a_terminal_unless_the_owner_does() {
    for cli in with_three_people() {
        let shown = cli.shown_on_terminal("count").replace('\r', "");
        let (location, count) = shown.split_once('\n').expect("two lines");
        let expected = match &cli.database {
            Some(_) => "landing: the waitlist in postgres://".to_owned(),
            None => format!("landing: the waitlist in {}", cli.file("data").display()),
        };
        assert!(location.starts_with(&expected), "{location}");
        assert_eq!(count, "3\n");
    }
    let cli = without_server().with_three_people();
    assert_eq!(cli.shown_on_terminal("count --store data"), "3\r\n");
}
