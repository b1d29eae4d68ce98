//! Reading and writing files of addresses: CSV, JSON lines, and the checksum trailer of an export.

pub(super) mod column_kind;
pub(super) mod column_report;
pub(super) mod column_values;
pub(super) mod columns;
pub(super) mod csv_reader;
pub(super) mod destination;
pub(super) mod email_hashes;
pub(super) mod error;
pub(super) mod export_format;
pub(super) mod import_reader;
pub(super) mod import_report;
pub(super) mod json_lines;
pub(super) mod line_reader;
pub(super) mod partial_file;
pub(super) mod question;
pub(super) mod record;
pub(super) mod rules;
pub(super) mod scan;
pub(super) mod source;
pub(super) mod status_options;
pub(super) mod status_values;
pub(super) mod status_words;
pub(super) mod text;
pub(super) mod time_guess;
pub(super) mod trailer;
