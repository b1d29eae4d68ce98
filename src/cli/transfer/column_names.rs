//! The names by which `import` recognizes the columns of addresses and of sign-up times.

/// The columns of an export. Version 0.1 wrote the first two.
pub(crate) const EXPORT_COLUMNS: [&str; 4] = ["email", "joined_at", "source", "confirmed_at"];

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
/// Name of the column with the times at which people confirmed their addresses.
pub(super) const CONFIRMED_AT_NAME: &str = "confirmedat";
