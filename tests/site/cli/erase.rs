//! People who leave, and join again on the page.

use super::{addresses, stdout, with_three_people};

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
