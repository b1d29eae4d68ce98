//! The names by which `import` recognizes the columns of addresses and of sign-up times.

use std::time::SystemTime;

use crate::waitlist::Fact;

/// The columns of an export.
pub(crate) const EXPORT_COLUMNS: [&str; 4] = ["email", "joined_at", "source", "confirmed_at"];

/// A column of times at which something became known about a person.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum FactColumn {
    /// The person confirmed the address.
    ConfirmedAt,
    /// The site promised to ask the person to confirm the address.
    AskedAt,
}

impl FactColumn {
    /// All of them, in the order in which `export` writes them.
    pub(crate) const ALL: [Self; 2] = [Self::ConfirmedAt, Self::AskedAt];

    /// Returns the name in an export.
    pub(super) fn export_name(self) -> &'static str {
        match self {
            Self::ConfirmedAt => EXPORT_COLUMNS[3],
            Self::AskedAt => "asked_at",
        }
    }

    pub(super) fn fact(self, time: SystemTime) -> Fact {
        match self {
            Self::ConfirmedAt => Fact::ConfirmedAt(time),
            Self::AskedAt => Fact::AskedAt(time),
        }
    }
}

/// Names of address columns, as [`normalize`](super::text::normalize) returns them. Like `JOINED_AT_NAMES`, they cover
/// the files of `export`, Mailchimp, getwaitlist, Prefinery, Google Forms, Tally and Typeform, and files written by
/// hand. The first name is that of `export`; it also matches as a part of a longer name.
pub(super) const EMAIL_NAMES: [&str; 13] = [
    "email",
    "emailaddress",
    "emailadresse",
    "mail",
    "mailaddress",
    "mailadresse",
    // Google Contacts. Its "E-mail 1 - Label" holds "Work" or "Home".
    "email1value",
    "courriel",
    "adresseélectronique",
    "correoelectrónico",
    "correoelectronico",
    "direccióndecorreoelectrónico",
    "direcciondecorreoelectronico",
];
pub(super) const JOINED_AT_NAMES: [&str; 9] = [
    "joinedat",
    "optintime",
    "confirmtime",
    "createdat",
    "timestamp",
    "zeitstempel",
    "horodateur",
    "marcatemporal",
    "joined",
];
/// Other names of sign-up times contain one of these, one of `TIME_PARTS`, and none of `LATER_PARTS`.
pub(super) const JOINING_PARTS: [&str; 18] = [
    "join",
    "optin",
    "creat",
    "signup",
    "signedup",
    "appl",
    "subscri",
    "submit",
    "added",
    "regist",
    "anmeld",
    "angemeldet",
    "eintrag",
    "eingetragen",
    "erstell",
    "hinzugef",
    "beitritt",
    "beigetreten",
];
pub(super) const TIME_PARTS: [&str; 12] = [
    "time", "date", "edat", "upat", "edon", "signedup", "since", "datum", "zeit", "tam",
    "tragenam", "tretenam",
];
/// Parts of names of times after the sign-up.
pub(super) const LATER_PARTS: [&str; 9] = [
    "unsub", "optout", "clean", "remov", "updated", "chang", "expir", "ändert", "letzt",
];
/// Names of columns that hold sign-up times if no other column does. Only the first one is used.
pub(super) const DATE_NAMES: [&str; 6] = [
    "date",
    "datum",
    "datetime",
    "time",
    "zeitpunkt",
    "startdate",
];
/// Parts of names of times that have nothing to do with a sign-up.
pub(super) const OTHER_TIME_PARTS: [&str; 9] = [
    "birth", "geburt", "last", "modif", "update", "cancel", "renew", "enddate", "until",
];

/// Names of columns that say where people came from, by preference.
pub(super) const SOURCE_NAMES: [&str; 3] = ["source", "utmsource", "quelle"];
