//! Writes an export: CSV or JSON lines.
//!
//! - `column_names`, `export_format`: the format.

pub(super) mod column_names;
pub(super) mod email_hashes;
pub(super) mod export_format;
