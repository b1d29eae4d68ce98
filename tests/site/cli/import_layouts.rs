//! `landing import`: 32 layouts of other programs. The local part of each address says what is true of the person: `in`
//! wants the messages, `out` has left, and about `ask` the owner must decide.

use std::fs;

use landing::cli::{Person, Verdict};

use super::{assert_contains, dry_run, fixture, options, rfc3339};

/// A layout, what an owner says about it, and when Ann joined by it: 1970 if the file does not say.
struct Layout {
    file: &'static str,
    options: &'static str,
    ann_joined_at: &'static str,
}

const fn layout(file: &'static str, ann_joined_at: &'static str, options: &'static str) -> Layout {
    Layout {
        file,
        options,
        ann_joined_at,
    }
}

const NEW_YEAR_1970: &str = "1970-01-01T00:00:00.000Z";
const EXACT: &str = "2024-01-10T08:30:05.000Z";
const TO_THE_MINUTE: &str = "2024-01-10T08:30:00.000Z";
const TO_THE_DAY: &str = "2024-01-10T00:00:00.000Z";

/// Files that a preset imports without an option.
const KNOWN: [Layout; 15] = [
    layout("beehiiv.csv", EXACT, ""),
    layout("brevo.csv", EXACT, ""),
    layout("buttondown.csv", EXACT, ""),
    layout("constant-contact.csv", EXACT, ""),
    layout("ghost.csv", EXACT, ""),
    layout("hubspot.csv", TO_THE_MINUTE, ""),
    layout("kit.csv", EXACT, ""),
    layout("klaviyo.csv", EXACT, ""),
    layout("listmonk.csv", "2024-01-10T08:30:05.789Z", ""),
    layout("listmonk-cest.csv", "2024-06-10T06:30:05.789Z", ""),
    layout("mailerlite.csv", EXACT, ""),
    layout("mailman.txt", NEW_YEAR_1970, ""),
    layout("shopify.csv", NEW_YEAR_1970, ""),
    layout("substack.csv", EXACT, ""),
    layout("wix.csv", EXACT, ""),
];

/// Files of people who have left. A preset suppresses them.
const LEAVERS: [Layout; 3] = [
    layout("mailchimp-unsubscribed.csv", "", ""),
    layout("mailgun.csv", "", ""),
    layout("sendgrid.csv", "", ""),
];

/// Files about which the owner must say something.
const DESCRIBED: [Layout; 14] = [
    layout("mailchimp-subscribed.csv", EXACT, "--nobody-left"),
    layout(
        "klaviyo-suppressions.csv",
        "",
        "--map email=Email | --everybody-left",
    ),
    layout(
        "activecampaign.csv",
        EXACT,
        "--map email=Email | --map joined_at=Date Created | --left Status=Unsubscribed | \
         --left Status=Bounced | --undecided Status=Unconfirmed | --stay Status=Active | \
         --ignore-rest",
    ),
    layout(
        "campaign-monitor.csv",
        EXACT,
        "--map email=Email Address | --map joined_at=Date | --left State=Unsubscribed | \
         --left State=Bounced | --left State=Deleted | --undecided State=Unconfirmed | \
         --stay State=active | --ignore-rest",
    ),
    layout(
        "airtable-french.csv",
        TO_THE_DAY,
        "--map email=Courriel | --map joined_at=Date d'inscription | --date-format %d/%m/%Y | \
         --left Statut=Désabonné | --left Statut=bloqué | --undecided Statut=Non confirmé | \
         --stay Statut=Abonné | --ignore Nom",
    ),
    layout(
        "german.csv",
        EXACT,
        "--map email=E-Mail | --map joined_at=Erstellt | --left Status=Abgemeldet | \
         --left Status=Blockiert | --undecided Status=Bestätigung ausstehend | --stay Status=*",
    ),
    layout(
        "google-forms.csv",
        EXACT,
        "--map email=Email Address | --map joined_at=Timestamp | --date-format %Y/%m/%d | \
         --stay May we send you our newsletter?=yes | --left May we send you our newsletter?=No | \
         --left May we send you our newsletter?= | --ignore-rest",
    ),
    layout(
        "google-forms-french.csv",
        EXACT,
        "--map email=Adresse e-mail | --map joined_at=Horodateur | --date-format %d/%m/%Y | \
         --stay Souhaitez-vous recevoir notre lettre d'information ?=Oui | \
         --left Souhaitez-vous recevoir notre lettre d'information ?=Non | \
         --left Souhaitez-vous recevoir notre lettre d'information ?= | --ignore-rest",
    ),
    layout(
        "typeform.csv",
        EXACT,
        "--map email=What's your email? | --map joined_at=Submit Date (UTC) | \
         --left Keep me posted by email=0 | --stay Keep me posted by email=1 | \
         --undecided Response Type=partial | --stay Response Type=completed | --ignore-rest",
    ),
    layout(
        "luma.csv",
        "2024-01-10T08:30:05.842Z",
        "--map joined_at=created_at | --undecided approval_status=* | \
         --stay approval_status=approved | --ignore-rest",
    ),
    layout(
        "tilda.csv",
        EXACT,
        "--map email=Email | --map joined_at=sended | --ignore-rest | --nobody-left",
    ),
    layout(
        "outlook.csv",
        NEW_YEAR_1970,
        "--map email=E-mail Address | --ignore-rest | --nobody-left",
    ),
    layout(
        "google-contacts.csv",
        NEW_YEAR_1970,
        "--map email=E-mail 1 - Value | --ignore-rest | --nobody-left",
    ),
    // A sentence says that two people have left.
    layout(
        "netlify.csv",
        EXACT,
        "--map joined_at=created_at | --ignore-rest | --nobody-left",
    ),
];

fn read(file: &str) -> Vec<u8> {
    fs::read(fixture("layouts").join(file)).expect("readable")
}

/// Returns the local parts of the people who would be added, without their names: `in`, `out` or `ask`.
fn added(rows: &[Person]) -> Vec<String> {
    let entries = rows.iter().filter_map(|row| row.entry.as_ref());
    let addresses = entries.map(|entry| entry.email.as_typed().to_owned());
    let truths = addresses.map(|it| it.split(['.', '@']).nth(1).unwrap_or_default().to_owned());
    truths.collect()
}

#[test]
fn with_its_options_each_layout_is_imported_right() {
    for Layout {
        file,
        options: given,
        ann_joined_at,
    } in KNOWN.iter().chain(&DESCRIBED)
    {
        let bytes = read(file);
        let rows = dry_run(&bytes, &options(given));
        let rows = rows.unwrap_or_else(|error| panic!("{file}: {error}"));
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let wanted = text.matches(".in@").count();
        // The file of Outlook has each address twice.
        let wanted = if *file == "outlook.csv" {
            wanted / 2
        } else {
            wanted
        };
        let added = added(&rows);
        let wrong = added.iter().filter(|it| *it != "in").count();
        let in_sentences = if *file == "netlify.csv" { 2 } else { 0 };
        assert_eq!(
            (added.len() - wrong, wrong),
            (wanted, in_sentences),
            "{file}"
        );
        let ann = rows.iter().find_map(|row| row.entry.as_ref());
        let joined_at = ann.map_or("".into(), |entry| rfc3339(entry.joined_at));
        assert_eq!(joined_at, *ann_joined_at, "{file}");
    }
}

#[test]
fn files_of_people_who_left_suppress_everybody() {
    for Layout { file, .. } in &LEAVERS {
        let rows = dry_run(read(file), &[]).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(rows.len(), 8, "{file}");
        assert!(
            rows.iter().all(|row| row.verdict == Verdict::Left),
            "{file}"
        );
    }
}

#[test]
fn nobody_left_does_not_add_people_who_left() {
    for Layout { file, .. } in &LEAVERS {
        let error = dry_run(read(file), &["--nobody-left"]).expect_err(file);
        assert!(
            error.to_string().contains("everybody in the file has left"),
            "{error}"
        );
    }
}

#[test]
fn undecided_people_are_not_suppressed() {
    for (file, undecided) in [
        ("kit.csv", 1),
        ("hubspot.csv", 2),
        ("beehiiv.csv", 2),
        ("constant-contact.csv", 2),
        ("wix.csv", 2),
    ] {
        let rows = dry_run(read(file), &[]).unwrap_or_else(|error| panic!("{file}: {error}"));
        let count = rows
            .iter()
            .filter(|row| row.verdict == Verdict::Undecided)
            .count();
        assert_eq!(count, undecided, "{file}");
    }
}

#[test]
fn options_decide_about_people_whom_a_preset_leaves_undecided() {
    let rows = dry_run(read("kit.csv"), &["--stay", "status=Inactive"]).expect("a plan");
    let added = added(&rows);
    assert_eq!(added.iter().filter(|it| *it == "ask").count(), 1);
    let rows = dry_run(read("kit.csv"), &["--left", "status=inactive"]).expect("a plan");
    assert!(rows.iter().all(|row| row.verdict != Verdict::Undecided));
}

#[test]
fn the_owner_must_describe_every_other_layout() {
    for Layout { file, .. } in &DESCRIBED {
        let error = dry_run(read(file), &[]).expect_err(file).to_string();
        assert_contains(&error, "\ncomplete this command:\n  landing import FILE");
        assert!(!error.contains('@'), "{file}: {error}");
    }
}
