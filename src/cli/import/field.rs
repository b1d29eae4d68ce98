//! The fields of an entry, as the columns of an export name them.

use std::str::FromStr;

use serde::Deserialize;
use thiserror::Error;

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

/// A text that names no field.
#[derive(Debug, Error)]
#[error("write FIELD=COLUMN; the fields are email, joined_at, source, confirmed_at and asked_at")]
pub(super) struct InvalidMapping;

impl Field {
    const ALL: [Self; 5] = [
        Self::Email,
        Self::JoinedAt,
        Self::Source,
        Self::ConfirmedAt,
        Self::AskedAt,
    ];

    /// Returns the name in an export and in `--map`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::JoinedAt => "joined_at",
            Self::Source => "source",
            Self::ConfirmedAt => "confirmed_at",
            Self::AskedAt => "asked_at",
        }
    }

    /// Returns the field of an export's column.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }

    /// Returns whether the column has times.
    pub(super) fn is_time(self) -> bool {
        matches!(self, Self::JoinedAt | Self::ConfirmedAt | Self::AskedAt)
    }
}

/// The value of `--map`: `email=Courriel`.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Mapping {
    pub(super) field: Field,
    pub(super) column: String,
}

impl FromStr for Mapping {
    type Err = InvalidMapping;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (field, column) = text.split_once('=').ok_or(InvalidMapping)?;
        Ok(Self {
            field: Field::from_name(field.trim()).ok_or(InvalidMapping)?,
            column: column.to_owned(),
        })
    }
}

impl TryFrom<String> for Mapping {
    type Error = InvalidMapping;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}
