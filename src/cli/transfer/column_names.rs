//! The columns of an export.

/// Their names, in their order.
pub(crate) const EXPORT_COLUMNS: [&str; 4] = ["email", "joined_at", "source", "confirmed_at"];
