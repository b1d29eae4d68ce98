//! `landing import` on a terminal.

use super::{people_csv, without_server};

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
