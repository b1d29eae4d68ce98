//! `landing import` on a terminal: the questions are asked one by one, and the answers are options.

use landing::cli::{Verdict, import_dry_run};

use super::{assert_contains, dry_run};

const PEOPLE: &str = "Nom,Courriel,Inscrit,Statut\n\
                      Zoé,a@people.example,25/11/2026,Abonné\n\
                      Zoé,b@people.example,26/11/2026,Désabonné\n\
                      Zoé,c@people.example,27/11/2026,Abonné\n\
                      Zoé,d@people.example,27/11/2026,Non confirmé\n\
                      Zoé,e@people.example,27/11/2026,Désabonné\n";

#[test]
fn a_few_keys_import_a_file_in_another_language() {
    // The proposed columns, the proposed format, then the status, and the meaning of its three values.
    let (rows, shown) =
        import_dry_run(PEOPLE.as_bytes(), &[], "y\ny\ny\ny\ns\nl\nu\ny\n").expect("a plan");
    let verdicts: Vec<_> = rows.iter().map(|row| row.verdict).collect();
    let (stays, left) = (Verdict::Stays, Verdict::Left);
    assert_eq!(verdicts, [stays, left, stays, Verdict::Undecided, left]);
    for text in [
        "Does column \"Courriel\" have the field email? [y/n] ",
        "Does column \"Inscrit\" have the field joined_at? [y/n] ",
        "Does \"25/11/2026\" mean 25 November 2026? [y/n] ",
        "Column \"Statut\" has \"Abonné\", \"Désabonné\", \"Non confirmé\". Does it say who wants mail, and who does not? \
         [y/n] ",
        "\"Statut\" = \"Non confirmé\": (l)eft, (s)tays, (u)ndecided? [l/s/u] ",
        "2 of 5 rows are of people who stay, and 2 people have left. Import? [y/n] ",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    assert!(!shown.contains('@'), "{shown}");
}

#[test]
fn the_answers_are_a_command_that_asks_nothing() {
    let (rows, shown) =
        import_dry_run(PEOPLE.as_bytes(), &[], "y\nn\ny\ns\nl\nl\ny\n").expect("a plan");
    let options = [
        "--map",
        "email=Courriel",
        "--left",
        "Statut=Désabonné",
        "--left",
        "Statut=Non confirmé",
        "--stay",
        "Statut=Abonné",
        "--ignore",
        "Inscrit",
        "--ignore-rest",
    ];
    let command = shown
        .trim_end()
        .rsplit_once("next time, run: landing import FILE ");
    let quoted = options.map(|it| match it.contains(' ') {
        true => format!("'{it}'"),
        false => it.to_owned(),
    });
    assert_eq!(
        command.map(|(_, it)| it),
        Some(&*quoted.join(" ")),
        "{shown}"
    );
    let again = dry_run(PEOPLE, &options).expect("a plan");
    assert_eq!(again.len(), rows.len());
    for (row, other) in again.iter().zip(&rows) {
        assert_eq!((row.verdict, &row.entry), (other.verdict, &other.entry));
    }
}

#[test]
fn the_end_of_the_input_keeps_the_answers() {
    let error = import_dry_run(PEOPLE.as_bytes(), &[], "y\ny\ny\ny\ns\n").expect_err("questions");
    let command = "complete this command:\n  \
                   landing import FILE --map email=Courriel --map joined_at=Inscrit --date-format %d/%m/%Y \
                   --stay Statut=Abonné --ignore-rest --left Statut=Désabonné \
                   --left/--stay/--undecided 'Statut=Non confirmé'\n";
    assert_contains(error.to_string(), command);
    // Nobody is imported without a yes.
    let error =
        import_dry_run(PEOPLE.as_bytes(), &[], "y\ny\ny\ny\ns\nl\nu\n").expect_err("no yes");
    assert_eq!(error.to_string(), "there was no answer");
}

#[test]
fn asks_who_has_left_if_no_column_says_it() {
    for (answers, verdict) in [("n\ny\n", Verdict::Stays), ("x\nE\ny\n", Verdict::Left)] {
        let file = "email,note\na@people.example,hi\n";
        let (rows, shown) = import_dry_run(file.as_bytes(), &[], answers).expect("a plan");
        assert_eq!(rows[0].verdict, verdict, "{shown}");
    }
}

#[test]
fn asks_about_a_new_value_of_a_preset_and_about_suspicious_columns() {
    let file = "first_name,email,created_at,status,Opt-out\n\
                Ann,a@people.example,2026-11-01,paused,yes\n";
    // The new value, the column, and whether to import.
    let (rows, shown) = import_dry_run(file.as_bytes(), &[], "s\nn\ny\n").expect("a plan");
    assert_eq!(rows[0].verdict, Verdict::Stays, "{shown}");
    assert_contains(
        &shown,
        "Column \"Opt-out\" has many values. Does it say who wants mail, and who does not?",
    );
    let (rows, shown) = import_dry_run(file.as_bytes(), &[], "s\ny\nl\ny\n").expect("a plan");
    assert_eq!(rows[0].verdict, Verdict::Left, "{shown}");
    // Without an answer nothing is imported.
    for answers in ["", "s\n", "s\nn\n", "s\nn\nn\n"] {
        import_dry_run(file.as_bytes(), &[], answers).expect_err(answers);
    }
}

/// In a form, nobody has "left".
#[test]
fn no_to_a_question_of_a_form_is_noticed() {
    let file = "Email,Souhaitez-vous recevoir nos nouvelles ?\n\
                a@people.example,Oui\nb@people.example,Non\n";
    let options = ["--map", "email=Email", "--nobody-left", "--ignore-rest"];
    let (rows, shown) = import_dry_run(file.as_bytes(), &options, "y\ns\nl\ny\n").expect("a plan");
    let verdicts: Vec<_> = rows.iter().map(|row| row.verdict).collect();
    assert_eq!(verdicts, [Verdict::Stays, Verdict::Left], "{shown}");
    assert!(!shown.contains("--nobody-left"), "{shown}");
}

#[test]
fn the_example_of_a_date_shows_which_format_is_right() {
    let file = "email,joined_at\na@people.example,05/05/2026\nb@people.example,03/04/2026\n";
    let (rows, shown) = import_dry_run(file.as_bytes(), &[], "n\ny\ny\n").expect("a plan");
    assert_contains(&shown, "Does \"03/04/2026\" mean 3 April 2026?");
    assert_contains(&shown, "Does \"03/04/2026\" mean 4 March 2026?");
    let entry = rows[1].entry.as_ref().expect("an entry");
    assert!(super::rfc3339(entry.joined_at).starts_with("2026-03-04"));
}

#[test]
fn asks_until_a_date_format_fits() {
    let file = "email,joined_at\na@people.example,26y11m01\n";
    let answers = "%H\n%d/%m/%Y\n%yy%mm%d\ny\n";
    let (rows, shown) = import_dry_run(file.as_bytes(), &[], answers).expect("a plan");
    let entry = rows[0].entry.as_ref().expect("an entry");
    assert!(
        super::rfc3339(entry.joined_at).starts_with("2026-11-01"),
        "{shown}"
    );
    let question = "How is \"26y11m01\" written, such as %d.%m.%Y for 21.11.2026? ";
    assert_eq!(shown.matches(question).count(), 3, "{shown}");
    assert_contains(&shown, "? write the date with %d, %m and %Y");
}

#[test]
fn a_mistake_in_the_options_is_not_a_question() {
    let error =
        import_dry_run(PEOPLE.as_bytes(), &["--ignore", "Pays"], "y\n").expect_err("a mistake");
    assert!(
        error.to_string().contains("there is no column \"Pays\""),
        "{error}"
    );
}
