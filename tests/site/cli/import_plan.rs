//! `landing import`: what says what a column means, and the questions when nothing does.

use landing::cli::Verdict;

use super::{assert_contains, dry_run, options};

/// Returns a word for each row: `in`, `ask` or `out`.
fn verdicts(file: &str, options: &[&str]) -> Result<Vec<&'static str>, String> {
    let rows = dry_run(file, options).map_err(|error| error.to_string())?;
    let words = rows.iter().map(|row| match row.verdict {
        Verdict::Stays => "in",
        Verdict::Undecided => "ask",
        Verdict::Left => "out",
    });
    Ok(words.collect())
}

/// Asserts that a file is not imported, and that the message has this text.
fn assert_asks(file: &str, options: &[&str], text: &str) {
    match verdicts(file, options) {
        Ok(verdicts) => panic!("{file} {options:?}: {verdicts:?}"),
        Err(error) => assert!(error.contains(text), "{file} {options:?}: {error}"),
    }
}

const PEOPLE: &str = "Courriel,Statut,Ville\n\
                      a@people.example,Abonné,Lyon\n\
                      b@people.example,Désabonné,Lyon\n\
                      c@people.example,,Lyon\n";

#[test]
fn exports_and_lists_of_addresses_need_no_option() {
    for file in [
        "email,joined_at,source,confirmed_at\na@people.example,2026-11-01,hn,2026-11-01\n",
        "joined_at,email\n2026-11-01,a@people.example\n",
        "{\"email\":\"a@people.example\",\"joined_at\":\"2026-11-01\",\"source\":\"hn\"}\n",
        "a@people.example\n",
        "Ann <a@people.example>\n",
    ] {
        assert_eq!(verdicts(file, &[]).as_deref(), Ok(&["in"][..]), "{file}");
    }
    // Nobody knows whether these people have left.
    for file in [
        "email\na@people.example\n",
        "email,source\na@people.example,hn\n",
        "{\"email\":\"a@people.example\"}\n",
    ] {
        assert_asks(
            file,
            &[],
            "has anybody in the file left, or said no to mail?",
        );
        assert_eq!(
            verdicts(file, &["--nobody-left"]).as_deref(),
            Ok(&["in"][..])
        );
        assert_eq!(
            verdicts(file, &["--everybody-left"]).as_deref(),
            Ok(&["out"][..])
        );
    }
    // Only exact names map by themselves.
    for file in [
        "Email,joined_at\na@people.example,\n",
        "e-mail,joined_at\na@people.example,\n",
    ] {
        assert_asks(file, &[], "which column has the addresses?");
    }
    assert_eq!(
        verdicts("a@people.example\n", &["--everybody-left"]).as_deref(),
        Ok(&["out"][..])
    );
}

#[test]
fn every_column_and_every_value_needs_a_use() {
    let map = ["--map", "email=Courriel"];
    let with = |more: &[&'static str]| [&map[..], more].concat();
    assert_asks(PEOPLE, &map, "columns without a use: 2");
    assert_asks(
        PEOPLE,
        &with(&["--ignore-rest"]),
        "has anybody in the file left, or said no to mail?",
    );
    let status = ["--left", "Statut=désabonné", "--stay", "STATUT= abonné "];
    assert_asks(PEOPLE, &with(&status), "columns without a use: 1");
    let status = with(&[&status[..], &["--ignore", "Ville"]].concat());
    assert_asks(
        PEOPLE,
        &status,
        "what do the values \"\" in column \"Statut\" mean?",
    );
    for (option, verdict) in [("--left", "out"), ("--stay", "in"), ("--undecided", "ask")] {
        let options = [&status[..], &[option, "Statut="]].concat();
        assert_eq!(verdicts(PEOPLE, &options), Ok(vec!["in", "out", verdict]));
    }
    let options = with(&["--left", "Statut=*", "--ignore", "Ville"]);
    // An empty cell is not a time of leaving.
    assert_eq!(verdicts(PEOPLE, &options), Ok(vec!["out", "out", "in"]));
    // An empty cell does not mean consent.
    let options = with(&["--stay", "Statut=*", "--ignore", "Ville"]);
    assert_asks(PEOPLE, &options, "what do the values \"\"");
    let options = with(&[
        "--stay",
        "Statut=*",
        "--left",
        "Statut=Désabonné",
        "--left",
        "Statut=",
        "--ignore-rest",
    ]);
    assert_eq!(verdicts(PEOPLE, &options), Ok(vec!["in", "out", "out"]));
}

#[test]
fn preview_has_every_value_and_a_command_to_complete() {
    let error = verdicts(PEOPLE, &[]).expect_err("questions");
    assert_eq!(
        error,
        "rows: 3\n\
         column \"Courriel\": 3 with an address\n\
         column \"Statut\": 1 × \"Abonné\"; 1 × \"Désabonné\"; 1 empty\n\
         column \"Ville\": 3 × \"Lyon\"\n\
         \n\
         complete this command:\n  \
         landing import FILE --map email=Courriel --ignore-rest --nobody-left/--everybody-left\n\
         \n\
         which column has the addresses? Answer with --map email=COLUMN\n\
         has anybody in the file left, or said no to mail? Answer with --left and --stay if a column says who, otherwise with \
         --nobody-left or --everybody-left\n\
         columns without a use: 3; answer with --ignore-rest if they do not matter"
    );
    let more = format!("{PEOPLE}d@people.example,Abonné,\ne@people.example,Désabonné,Nice\n");
    let error = verdicts(&more, &[]).expect_err("questions");
    let proposal = "--left/--stay/--undecided Statut=Abonné --left Statut=Désabonné \
                    --left/--stay/--undecided Statut=";
    assert_contains(&error, proposal);
}

#[test]
fn preview_is_short_and_has_no_addresses() {
    let rows = (0..20).map(|number| {
        let long = "x".repeat(300);
        format!(
            "p{number}@people.example,{number},v{half},{half}{long},x{half}@people.example\n",
            half = number % 2
        )
    });
    let file = format!("email,id,half,text,friend\n{}", rows.collect::<String>());
    let error = verdicts(&file, &[]).expect_err("questions");
    let expected = "rows: 20\n\
                    column \"email\" (email): 20 with an address\n\
                    column \"id\": 20 with many values, such as \"0\"\n\
                    column \"half\": 10 × \"v0\"; 10 × \"v1\"\n\
                    column \"text\": 20 with a long text\n\
                    column \"friend\": 20 with an address\n";
    assert!(error.starts_with(expected), "{error}");
    let command = "landing import FILE --ignore-rest --left/--stay/--undecided half=v0 --left/--stay/--undecided half=v1\n";
    assert_contains(&error, command);
    assert!(!error.contains('@') && !error.contains("xx"), "{error}");
    // Nor does the command have them if the owner names the column.
    let options = ["--left", "friend=0", "--left", "text=0", "--ignore-rest"];
    let error = verdicts(&file, &options).expect_err("questions");
    let command = "--left/--stay/--undecided 'text=*' --left/--stay/--undecided 'friend=*'\n";
    assert_contains(&error, command);
    assert!(!error.contains('@') && !error.contains("xx"), "{error}");
}

#[test]
fn the_proposed_command_does_not_run_before_a_decision() {
    for option in [
        "--nobody-left/--everybody-left",
        "--left/--stay/--undecided",
    ] {
        let error = verdicts(PEOPLE, &[option]).expect_err("no such option");
        assert_contains(&error, "unexpected argument");
    }
    // Nobody who has left is added by the command that follows a refused one.
    let file = "E-Mail,Status,Left\na@people.example,Aktiv,\nb@people.example,Abgemeldet,\n\
                c@people.example,Aktiv,2026-11-01\n";
    let options = ["--map", "email=E-Mail", "--nobody-left", "--ignore-rest"];
    let error = verdicts(file, &options).expect_err("somebody has left");
    let command = "landing import FILE --map email=E-Mail --ignore-rest --left/--stay/--undecided Status=Aktiv --left \
                   Status=Abgemeldet\n";
    assert_contains(&error, command);
}

#[test]
fn mistakes_in_options_are_named() {
    for (given, text) in [
        (
            "--map email=Mail",
            "there is no column \"Mail\"; check the spelling of the option, and write COLUMN=VALUE after --left, --stay and \
             --undecided; its columns are \"Courriel\", \"Statut\", \"Ville\"",
        ),
        (
            "--ignore Pays",
            "there is no column \"Pays\"; check the spelling",
        ),
        (
            "--left Pays=France",
            "there is no column \"Pays=France\"; check the spelling",
        ),
        (
            "--left Statut",
            "and write COLUMN=VALUE after --left, --stay and --undecided",
        ),
        (
            "--map name=Nom",
            "write FIELD=COLUMN; the fields are email,",
        ),
        (
            "--preset mailpit",
            "the file does not have the columns of a preset \"mailpit\"",
        ),
        (
            "--preset kit",
            "the file does not have the columns of a preset \"kit\"",
        ),
        ("--nobody-left | --everybody-left", "cannot be used with"),
        (
            "--map email=Courriel | --left Statut=Abonné | --nobody-left",
            "a column says who has left, so leave out --nobody-left",
        ),
    ] {
        assert_asks(PEOPLE, &options(given), text);
    }
    let list = "a@people.example\n";
    assert_asks(list, &["--ignore", "Pays"], "the file has no columns");
}

#[test]
fn column_names_may_have_an_equals_sign() {
    let file = "email,a=b\na@people.example,x=y\n";
    assert_eq!(verdicts(file, &["--left", "a=b=x=y"]), Ok(vec!["out"]));
}

#[test]
fn the_worst_of_several_rows_and_columns_counts() {
    let file = "email,status,left_at\n\
                a@people.example,active,\nA@people.example,gone,\n\
                b@people.example,active,\nb@people.example,asked,\n\
                c@people.example,active,2026-11-01\n\
                '+d@people.example,active,\n+d@people.example,gone,\n";
    let given = options(
        "--stay status=active | --left status=gone | --undecided status=asked | --left left_at=*",
    );
    let expected = vec!["out", "out", "ask", "ask", "out", "out", "out"];
    assert_eq!(verdicts(file, &given), Ok(expected));
}

#[test]
fn preset_needs_its_exact_columns_and_values() {
    let kit = |status: &str| {
        format!("first_name,email,created_at,status\nAnn,a@people.example,2026-11-01,{status}\n")
    };
    assert_eq!(verdicts(&kit("active"), &[]), Ok(vec!["in"]));
    assert_eq!(verdicts(&kit("Cancelled"), &[]), Ok(vec!["out"]));
    assert_eq!(verdicts(&kit("inactive"), &[]), Ok(vec!["ask"]));
    assert_asks(
        &kit("paused"),
        &[],
        "what do the values \"paused\" in column \"status\" mean?",
    );
    assert_eq!(
        verdicts(&kit("paused"), &["--undecided", "status=paused"]),
        Ok(vec!["ask"])
    );
    let extra = kit("active")
        .replace("status\n", "status,city\n")
        .replace("active\n", "active,Bonn\n");
    assert_asks(&extra, &[], "columns without a use: 1");
    assert_eq!(verdicts(&extra, &["--ignore-rest"]), Ok(vec!["in"]));
    assert_eq!(verdicts(&extra, &["--preset", "kit"]), Ok(vec!["in"]));
    // An empty column says nothing.
    assert_eq!(verdicts(&extra.replace("Bonn", ""), &[]), Ok(vec!["in"]));
}

#[test]
fn ignored_columns_that_may_say_who_left_must_be_named() {
    for (column, value) in [
        ("Unsubscribed at", "2026-11-01"),
        ("Opt-out", "yes"),
        ("Bounced", "hard"),
        ("Newsletter", "No"),
        ("Marketing consent", "false"),
        ("Tags", "Unsubscribed"),
        ("Etat", "désabonné"),
        ("Voulez-vous nos nouvelles ?", "Non"),
    ] {
        let file = format!("email,{column}\na@people.example,{value}\n");
        let text = format!("column {column:?} says {value:?}, but the person would be added");
        assert_asks(&file, &["--ignore-rest", "--nobody-left"], &text);
        let named = ["--ignore", column, "--nobody-left"];
        assert_eq!(
            verdicts(&file, &named).as_deref(),
            Ok(&["in"][..]),
            "{column}"
        );
    }
    for (column, value) in [
        ("Unsubscribed at", ""),
        ("Unsubscribed", "No"),
        ("Newsletter", "yes"),
        ("SMS marketing", "no"),
        ("Unsubscribe reason", "none"),
        ("Message", "How do I unsubscribe?"),
        ("Account", "free"),
    ] {
        let file = format!("email,{column}\na@people.example,{value}\n");
        let options = ["--ignore-rest", "--nobody-left"];
        assert_eq!(
            verdicts(&file, &options).as_deref(),
            Ok(&["in"][..]),
            "{column}"
        );
    }
    // Somebody who is not added anyway needs no answer.
    let file =
        "email,status,Unsubscribed at\na@people.example,gone,2026-11-01\nb@people.example,here,\n";
    let given = options("--left status=gone | --stay status=here | --ignore-rest");
    assert_eq!(verdicts(file, &given), Ok(vec!["out", "in"]));
}

#[test]
fn a_column_with_many_values_needs_a_rule_for_the_others() {
    let rows = (0..150).map(|number| format!("p{number}@people.example,v{number}\n"));
    let file = format!("email,status\n{}", rows.collect::<String>());
    assert_asks(
        &file,
        &["--left", "status=v0"],
        ", \"*\" in column \"status\" mean?",
    );
    let verdicts = verdicts(&file, &["--left", "status=v0", "--stay", "status=*"]).expect("a plan");
    assert_eq!(verdicts.iter().filter(|it| **it == "out").count(), 1);
    assert_eq!(verdicts.len(), 150);
}

#[test]
fn people_who_left_need_no_valid_time() {
    let file =
        "email,joined_at,status\nb@people.example,soon,gone\na@people.example,2026-11-01,here\n";
    let options = ["--left", "status=gone", "--stay", "status=here"];
    assert_eq!(verdicts(file, &options), Ok(vec!["out", "in"]));
}

/// The address may be that of somebody in another row, who would be added.
#[test]
fn address_of_somebody_who_left_must_be_valid() {
    let file =
        "email,joined_at,status\nbob@people.example,,active\nmailto:bob@people.example,,gone\n";
    let options = ["--stay", "status=active", "--left", "status=gone"];
    assert_asks(file, &options, "3: invalid address");
    assert_asks(
        "email\nbob@people.example.\n",
        &["--everybody-left"],
        "2: invalid address",
    );
}
