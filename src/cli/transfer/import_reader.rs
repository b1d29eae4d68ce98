//! Reads the records of a file, whatever program wrote it.

use std::{
    io::{self, BufRead, BufReader, Read},
    sync::Arc,
    time::SystemTime,
};

use super::{
    super::backup::is_backup,
    address_cell::is_comment,
    columns::Columns,
    csv_reader::CsvReader,
    encoding::{BYTE_ORDER_MARK, check_is_text},
    error::ImportError,
    header_row::{SkippedLines, find_first_row, is_blank},
    json_lines::read_json_lines,
    lost_addresses::lost_addresses_problem,
    record::{ParsedEntry, Record, RecordContent},
    reject_reason::RejectReason,
    rules::ImportRules,
};

/// An entry of the file, or why it is not imported, and the number of its first line.
pub(crate) struct ImportRow {
    pub(crate) line: u64,
    pub(crate) result: Result<ParsedEntry, RejectReason>,
}

pub(crate) type ImportRows = Box<dyn Iterator<Item = io::Result<ImportRow>> + Send>;

/// A file whose format and header row are known.
pub(crate) struct ImportReader {
    /// The columns of a CSV file. In a JSON lines file, each object has its own.
    pub(crate) columns: Option<Arc<Columns>>,
    /// The lines before the first row of a CSV file, if they have text.
    pub(crate) skipped_lines: Option<SkippedLines>,
    pub(crate) records: Box<dyn Iterator<Item = io::Result<Record>> + Send>,
}

impl ImportReader {
    /// Parses the records. Entries without a sign-up time get the time `now`.
    pub(crate) fn into_rows(self, rules: ImportRules, now: SystemTime) -> ImportRows {
        Box::new(self.records.map(move |record| {
            let Record { line, content } = record?;
            let result = content.and_then(|content| content.parse(&rules, now));
            Ok(ImportRow { line, result })
        }))
    }
}

/// Detects the format of a file and reads its header row.
pub(crate) fn open(
    file: impl Read + Send + 'static,
    ignored: &[String],
) -> Result<ImportReader, ImportError> {
    let mut file = BufReader::with_capacity(1 << 16, file);
    let beginning = file.fill_buf()?;
    check_is_text(beginning)?;
    if beginning.starts_with(BYTE_ORDER_MARK.as_bytes()) {
        file.consume(BYTE_ORDER_MARK.len());
    }
    let beginning = file.fill_buf()?.trim_ascii_start();
    if is_backup(beginning) {
        return Err(ImportError::Backup);
    }
    match beginning.first() {
        Some(b'{') => Ok(ImportReader {
            columns: None,
            skipped_lines: None,
            records: Box::new(read_json_lines(file, ignored.to_owned())),
        }),
        Some(b'[') => Err(ImportError::JsonArray),
        _ => read_csv(file, ignored),
    }
}

fn read_csv(
    mut file: impl BufRead + Send + 'static,
    ignored: &[String],
) -> Result<ImportReader, ImportError> {
    let first = find_first_row(file.fill_buf()?, ignored)?;
    file.consume(first.offset);
    let mut rows = CsvReader::new(file, first.separator, first.line);
    let header = loop {
        match rows.next().transpose()? {
            None => break None,
            Some(Err(row)) => return Err(ImportError::MalformedHeader(row)),
            Some(Ok(cells)) if is_blank(&cells) => {}
            Some(Ok(cells)) => break Some(cells),
        }
    };
    let Some(header) = header else {
        return Ok(ImportReader {
            columns: None,
            skipped_lines: None,
            records: Box::new(std::iter::empty()),
        });
    };
    let (columns, first_record) =
        Columns::from_first_row(header, ignored).ok_or(ImportError::NoAddressColumn)?;
    let columns = Arc::new(columns);
    let rows = first_record
        .into_iter()
        .map(|cells| Ok(Ok(cells)))
        .chain(rows);
    let (row_columns, ignored) = (Arc::clone(&columns), ignored.to_owned());
    let records = rows.filter_map(move |row| match row {
        // Spreadsheets write the empty rows below a table.
        Ok(Ok(cells)) if is_blank(&cells) => None,
        Ok(Ok(cells)) if row_columns.are_of_a_list() && is_comment(&cells) => None,
        Ok(Ok(cells)) => Some(Ok(Record {
            line: cells.line,
            content: match lost_addresses_problem(&row_columns, &cells, &ignored) {
                Some(problem) => Err(RejectReason::Malformed(problem)),
                None => Ok(RecordContent::CsvRow(Arc::clone(&row_columns), cells)),
            },
        })),
        Ok(Err(row)) => Some(Ok(Record {
            line: row.line,
            content: Err(RejectReason::Malformed(row.reason)),
        })),
        Err(error) => Some(Err(error)),
    });
    Ok(ImportReader {
        columns: Some(columns),
        skipped_lines: first.skipped,
        records: Box::new(records),
    })
}
