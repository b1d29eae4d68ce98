//! `import`, of files with several rows for one person.

use super::{alone, counts, printed, told};

#[test]
fn who_has_left_in_one_row_is_skipped_in_all() {
    let owner = alone();
    for rows in [
        "ann@example.com,active\nANN@example.com,unsubscribed\n",
        "ANN@example.com,unsubscribed\nann@example.com,active\n",
    ] {
        let file = format!("email,status\n{rows}bob@example.com,active\n");
        let counted = counts(&owner, &file);
        assert_eq!(counted, "1 would be added, 0 already there, 2 rejected");
    }
}

#[test]
fn a_person_who_left_in_one_json_line_is_skipped_in_an_export_line_too() {
    let owner = alone();
    let left = "{\"email\":\"ann@example.com\",\"status\":\"unsubscribed\"}\n";
    let export = "{\"joined_at\":\"2024-01-01T00:00:00Z\",\"email\":\"Ann@example.com\"}\n";
    let other = "{\"joined_at\":\"2024-01-01T00:00:00Z\",\"email\":\"bob@example.com\"}\n";
    for rows in [[left, export], [export, left]] {
        let counted = counts(&owner, &(rows.concat() + other));
        assert_eq!(counted, "1 would be added, 0 already there, 2 rejected");
        let done = owner.run_with(&["import"], rows.concat()).code(1);
        assert!(told(&done).contains("all 1 people in it would be skipped"));
    }
}

#[test]
fn a_formula_quote_makes_no_other_person() {
    let owner = alone();
    for header in ["email,status", "email,status,joined_at"] {
        for rows in [
            "'+a@example.com,unsubscribed\n+a@example.com,subscribed\n",
            "+a@example.com,unsubscribed\n'+a@example.com,subscribed\n",
        ] {
            let file = format!("{header}\n{rows}bob@example.com,subscribed\n");
            let counted = counts(&owner, &file);
            assert_eq!(counted, "1 would be added, 0 already there, 2 rejected");
            let done = owner.run_with(&["import", "--dry-run"], file).success();
            assert!(printed(&done).contains("line 2: has left"));
        }
    }
}
