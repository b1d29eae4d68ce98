//! Reads and writes files of addresses: CSV and JSON lines.
//!
//! `import` reads a file twice: a scan finds the people who have unsubscribed and the questions for the owner, then
//! the entries are added.
//!
//! - `input_file`, `encoding`, `line_reader`: open the file, decode it, and read lines of bounded length.
//! - `csv_reader`, `json_lines`, `import_reader`: read the records of either format.
//! - `separator`, `header_row`: how a CSV file separates cells, and where its header row is.
//! - `address_cell`, `lost_addresses`: find the address in a cell, and others beside it.
//! - `columns`, `column_names`, `column_kind`, `column_words`: find the columns with addresses, times and statuses.
//! - `record`, `reject_reason`: turn a record into an entry, or say why not.
//! - `status_words`, `status_values`, `time_guess`, `column_values`: what the values of a status column mean.
//! - `sign_up_time`, `time_columns`: how the sign-up times of a column are written.
//! - `scan`, `rules`, `status_options`, `question`: decide which people are skipped, or ask the owner.
//! - `column_report`, `column_use`, `import_report`, `import_progress`, `error`: the messages of an import.
//! - `export_format`: writes an export.
//! - `email_hashes`, `text`: helpers.

pub(super) mod address_cell;
pub(super) mod column_kind;
pub(super) mod column_names;
pub(super) mod column_report;
pub(super) mod column_use;
pub(super) mod column_values;
pub(super) mod column_words;
pub(super) mod columns;
pub(super) mod csv_reader;
pub(super) mod email_hashes;
pub(super) mod encoding;
pub(super) mod error;
pub(super) mod export_format;
pub(super) mod header_row;
pub(super) mod import_progress;
pub(super) mod import_reader;
pub(super) mod import_report;
pub(super) mod input_file;
pub(super) mod json_lines;
pub(super) mod line_reader;
pub(super) mod lost_addresses;
pub(super) mod question;
pub(super) mod record;
pub(super) mod reject_reason;
pub(super) mod rules;
pub(super) mod scan;
pub(super) mod separator;
pub(super) mod sign_up_time;
pub(super) mod status_options;
pub(super) mod status_values;
pub(super) mod status_words;
pub(super) mod text;
pub(super) mod time_columns;
pub(super) mod time_guess;
