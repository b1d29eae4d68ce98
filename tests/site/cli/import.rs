//! `landing import` on a terminal.

use super::{addresses, assert_contains, people_csv, without_server};

const STATUSES: &str = "email,status\nann@example.com,gone\ndan@example.com,gone\nDAN@example.com,gone\n\
                        eve@example.com,here\nfay@example.com,asked\n";

#[cfg(target_os = "linux")]
#[test]
fn questions_are_asked_on_a_terminal() {
    let cli = without_server();
    cli.write("list.csv", STATUSES);
    cli.write("answers", "y\nl\ns\nu\ny\n");
    let landing = env!("CARGO_BIN_EXE_landing");
    let mut script = cli.command_for("sh");
    let command = format!("script -qec \"'{landing}' import list.csv\" /dev/null < answers");
    let output = script.args(["-c", &command]).output().expect("sh runs");
    let shown = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    let command = "landing: next time, run: landing import list.csv --left status=gone --stay status=here \
                   --undecided status=asked\n";
    assert_contains(&shown, command);
    assert_contains(&shown, "1 added");
    // The question does not follow the progress bar.
    assert!(!shown.contains(" leftColumn"), "{shown}");
    assert_eq!(addresses(&cli), ["eve@example.com"]);
}

/// On a terminal, the location is printed before a progress bar is drawn.
#[cfg(target_os = "linux")]
#[test]
fn names_the_list_before_it_adds_anybody() {
    let cli = without_server();
    cli.write("list.csv", people_csv(30_000));
    let shown = cli.shown_on_terminal("import list.csv");
    let location = shown
        .find("landing: the waitlist in ")
        .expect("the location");
    assert!(
        shown.find("adding").is_none_or(|bar| location < bar),
        "{shown}"
    );
}
