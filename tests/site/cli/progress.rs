//! The progress that commands show on a terminal.

use super::all_stores;

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
