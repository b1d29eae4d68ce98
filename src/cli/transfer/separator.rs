//! Detects the separator of a CSV file.

const SEPARATORS: [u8; 3] = [b'\t', b';', b','];

/// Starts the line by which a file sets its separator for Excel: `sep=;`.
const SEPARATOR_LINE: &[u8] = b"sep=";

/// Returns the separator that the first line of a file sets, if it does.
pub(crate) fn declared_separator(beginning: &[u8]) -> Option<u8> {
    let line = beginning.split(is_line_end).next()?;
    let unquoted = line
        .strip_prefix(b"\"")
        .and_then(|line| line.strip_suffix(b"\""));
    match strip_separator_line(unquoted.unwrap_or(line))? {
        [separator] => Some(*separator).filter(|it| *it == b'\t' || it.is_ascii_punctuation()),
        b"\\t" => Some(b'\t'),
        _ => None,
    }
}

/// Whether a cell has the text of a line that sets the separator, or what is left of it after it was split there.
pub(crate) fn is_separator_cell(cell: &[u8]) -> bool {
    strip_separator_line(cell).is_some_and(|separator| separator.len() <= 1 || separator == b"\\t")
}

fn strip_separator_line(line: &[u8]) -> Option<&[u8]> {
    let (start, separator) = line.split_at_checked(SEPARATOR_LINE.len())?;
    start
        .eq_ignore_ascii_case(SEPARATOR_LINE)
        .then_some(separator)
}

fn is_line_end(byte: &u8) -> bool {
    b"\r\n".contains(byte)
}

/// Returns the most frequent separator of the first row with text, outside quotation marks: a comma, a semicolon or
/// a tab. If a quotation mark is not closed, only the first line of the row counts.
pub(crate) fn detect_separator(beginning: &[u8]) -> u8 {
    // A spreadsheet saves an empty row as separators alone.
    let is_text = |line: &&[u8]| !line.iter().all(|byte| b" \t;,\r\n".contains(byte));
    let lines = beginning.split_inclusive(is_line_end);
    let blank: usize = lines
        .take_while(|line| !is_text(line))
        .map(<[u8]>::len)
        .sum();
    let row = &beginning[blank..];
    let mut is_quoted = false;
    let row_end = row.iter().position(|byte| {
        is_quoted ^= *byte == b'"';
        !is_quoted && is_line_end(byte)
    });
    let line_end = row.iter().position(is_line_end).unwrap_or(row.len());
    let mut counts = [0; 3];
    is_quoted = false;
    for byte in &row[..row_end.unwrap_or(line_end)] {
        is_quoted ^= *byte == b'"';
        let at = SEPARATORS.iter().position(|it| it == byte);
        if let Some(at) = at.filter(|_| !is_quoted) {
            counts[at] += 1;
        }
    }
    let most = (0..3).max_by_key(|at| counts[*at]);
    most.map_or(b',', |at| SEPARATORS[at])
}
