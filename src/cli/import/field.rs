//! The fields of an entry, as the columns of an export name them.

/// What a column may hold.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Field {
    Email,
    JoinedAt,
    Source,
    ConfirmedAt,
    /// When the site promised to ask for a confirmation. An export does not have it.
    AskedAt,
}

/// The names in an export and in `--map`.
const NAMES: [(Field, &str); 5] = [
    (Field::Email, "email"),
    (Field::JoinedAt, "joined_at"),
    (Field::Source, "source"),
    (Field::ConfirmedAt, "confirmed_at"),
    (Field::AskedAt, "asked_at"),
];

impl Field {
    /// Returns the name.
    pub(super) fn name(self) -> &'static str {
        let named = NAMES.iter().find(|(field, _)| *field == self);
        named.map_or("", |(_, name)| name)
    }

    /// Returns the field with a name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        let named = NAMES.iter().find(|(_, it)| *it == name);
        named.map(|(field, _)| *field)
    }

    /// Returns whether the column has times.
    pub(super) fn is_time(self) -> bool {
        matches!(self, Self::JoinedAt | Self::ConfirmedAt | Self::AskedAt)
    }
}
