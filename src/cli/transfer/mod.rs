//! Writes an export: CSV or JSON lines.
//!
//! - `column_names`, `export_format`: the format.
//! - `line_reader`, `email_hashes`: helpers of other commands.

pub(super) mod column_names;
pub(super) mod email_hashes;
pub(super) mod export_format;
pub(super) mod line_reader;
