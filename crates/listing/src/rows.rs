//! Rows of one raw table, from many reports: parsed line by line; times are assigned once the report header is known.

mod columns;
mod repeats;
mod times;

use std::collections::HashMap;

use crate::cells::{CellOrder, ColumnSpan, split};
use crate::line::{Label, RowStart, as_plain_text, stamp, start};
use crate::report_header::ReportHeader;
use crate::value::{Kind, Parsed, parse};
use crate::values::{TextColumn, Values};

/// Whether a line is a row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Row,
    NoRow,
    /// A line whose label has no kind: it repeats values of rows.
    Skipped,
}

/// A cell of a row that is missing: it has no value of its column's kind or, without a column, its line is cut there.
#[derive(Clone, Debug)]
pub struct UnparsedCell {
    pub line: u64,
    pub offset: u64,
    pub column: Option<usize>,
    pub text: String,
}

struct Column {
    name: String,
    kind: Kind,
    values: Values,
}

/// Target of the cells of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Column(usize),
    /// To the texts of columns that the table lacks, below this head.
    Other(String),
    Discard,
}

struct ReportRows {
    first: usize,
    source: String,
    chunk: ReportHeader,
    only: bool,
    dated: bool,
}

/// At most this many notes are kept.
const MAX_NOTES: usize = 200;
const DAY_S: i64 = 86_400;
const MICRO: i64 = 1_000_000;
const INTERVAL: &str = "interval";

/// By the digest of system, interval and subject: the digest of the values given first, and the chunk that has them.
type Given = HashMap<u64, (u64, usize)>;

/// An interval that was already read: the file that has it, and whether all values are the same there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    pub end_us: i64,
    pub file: String,
    pub agrees: bool,
}

/// The rows of a raw table.
pub struct Rows {
    columns: Vec<Column>,
    timed: bool,
    labels: Vec<Label>,
    totals: Vec<Vec<(usize, String)>>,
    moment: Option<usize>,
    subject: Vec<usize>,
    given: Given,
    places: Vec<ColumnSpan>,
    targets: Vec<Target>,
    timed_place: bool,
    cut: Option<usize>,
    order: CellOrder,
    others: TextColumn,
    lines: Vec<u64>,
    offsets: Vec<u64>,
    kinds: Vec<u16>,
    kind_names: Vec<String>,
    days: Vec<Option<i64>>,
    next_day: Option<i64>,
    seconds_of_day: Vec<Option<i64>>,
    utc: Vec<Option<i64>>,
    ends: Vec<i64>,
    lengths: Vec<f64>,
    flags: Vec<Option<&'static str>>,
    chunks: Vec<ReportRows>,
    notes: Vec<UnparsedCell>,
    extents: Vec<(usize, usize)>,
}

impl Rows {
    /// `totals`: texts by column that make a row with a time a total. `moment`: the column that has times in UTC.
    /// `subject`: the columns that identify a row within an interval.
    pub fn new(
        columns: Vec<(String, Kind)>,
        timed: bool,
        labels: Vec<Label>,
        totals: Vec<Vec<(usize, String)>>,
        moment: Option<usize>,
        subject: Vec<usize>,
    ) -> Self {
        let columns = columns
            .into_iter()
            .map(|(name, kind)| Column {
                name,
                kind,
                values: match kind {
                    Kind::Float => Values::Floats(Vec::new(), Vec::new()),
                    Kind::Int => Values::Ints(Vec::new()),
                    Kind::Time => Values::Times(Vec::new()),
                    Kind::Text => Values::Texts(TextColumn::default()),
                },
            })
            .collect();
        Self {
            columns,
            timed,
            labels,
            totals,
            moment,
            subject,
            given: Given::default(),
            places: Vec::new(),
            targets: Vec::new(),
            timed_place: false,
            cut: None,
            order: CellOrder::Below,
            others: TextColumn::default(),
            lines: Vec::new(),
            offsets: Vec::new(),
            kinds: Vec::new(),
            kind_names: Vec::new(),
            days: Vec::new(),
            next_day: None,
            seconds_of_day: Vec::new(),
            utc: Vec::new(),
            ends: Vec::new(),
            lengths: Vec::new(),
            flags: Vec::new(),
            chunks: Vec::new(),
            notes: Vec::new(),
            extents: Vec::new(),
        }
    }

    /// Sets where columns are from the next row on: each place with where its cells go. `timed`: the first place
    /// is that of times and labels. `cut`: the length to which lines were cut; a number that ends there may continue.
    /// `order`: how the words of rows are their cells.
    pub fn lay(
        &mut self,
        places: Vec<(ColumnSpan, Target)>,
        timed: bool,
        cut: Option<usize>,
        order: CellOrder,
    ) {
        self.timed_place = timed;
        (self.cut, self.order) = (cut, order);
        let own = places.into_iter().skip(usize::from(timed));
        let known = self.columns.len();
        (self.places, self.targets) = own
            .map(|(place, target)| match target {
                Target::Column(at) if at >= known => (place, Target::Discard),
                target => (place, target),
            })
            .unzip();
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The notes since the last call.
    pub fn take_notes(&mut self) -> Vec<UnparsedCell> {
        std::mem::take(&mut self.notes)
    }

    pub fn column_name(&self, at: usize) -> &str {
        &self.columns[at].name
    }

    /// Sets the day of the next row with a time, in days since 1970: a line above it has the date.
    pub const fn set_day(&mut self, day: i64) {
        self.next_day = Some(day);
    }

    /// Takes back the last row.
    pub fn pop(&mut self) {
        if self.lines.pop().is_none() {
            return;
        }
        self.offsets.pop();
        self.kinds.pop();
        self.days.pop();
        self.seconds_of_day.pop();
        self.utc.pop();
        self.others.pop();
        for column in &mut self.columns {
            column.values.pop();
        }
    }

    /// Reads lines from `at` on as long as they are rows or, in a table by time, blank. Gives where the first other
    /// line begins, and how many lines were read. A line that is not plain text, or has no end, is not read.
    pub fn read(
        &mut self,
        data: &[u8],
        mut at: usize,
        number: u64,
        base: u64,
        controlled: bool,
    ) -> (usize, u64) {
        let mut count = 0;
        while let Some(length) = data[at..].iter().position(|&byte| byte == b'\n') {
            let mut line = data[at..at + length].trim_ascii_end();
            if controlled && line.first().is_some_and(|byte| b"1 0+-".contains(byte)) {
                line = &line[1..];
            }
            let blank = line.is_empty();
            if blank && !self.timed {
                break;
            }
            if !blank {
                let Some(text) = as_plain_text(line) else {
                    break;
                };
                if self.row(text, number + count, base + at as u64) == LineKind::NoRow {
                    break;
                }
            }
            at += length + 1;
            count += 1;
        }
        (at, count)
    }

    /// Reads one line, if it is a row.
    pub fn row(&mut self, line: &str, number: u64, offset: u64) -> LineKind {
        let (begin, end) = start(line, &self.labels, self.timed);
        let (kind, day, second) = match begin {
            RowStart::Time(day, second) => (INTERVAL.to_owned(), day, Some(second)),
            RowStart::Label("") => return LineKind::Skipped,
            RowStart::Label(kind) => (kind.to_lowercase(), None, None),
            RowStart::None if self.timed || line.contains("<--") || line.contains("-->") => {
                return LineKind::NoRow;
            }
            RowStart::None => ("row".to_owned(), None, None),
        };
        // Characters, so that a word keeps its position on the page; blanks precede the cells.
        let chars: Vec<char>;
        let shadow: Vec<u8>;
        let cells: &[u8] = if end == 0 && line.is_ascii() {
            line.as_bytes()
        } else {
            let lead = line[..end].chars().count();
            shadow = line
                .chars()
                .enumerate()
                .map(|(at, char)| {
                    if at < lead {
                        b' '
                    } else {
                        u8::try_from(char).unwrap_or(b'?')
                    }
                })
                .map(|byte| if byte.is_ascii() { byte } else { b'?' })
                .collect();
            &shadow
        };
        let mut extents = std::mem::take(&mut self.extents);
        let whole = self.whole(cells);
        let lost = cells[whole..].trim_ascii();
        let lost = String::from_utf8_lossy(&lost[..lost.len().min(40)]).into_owned();
        let fits = split(&cells[..whole], &self.places, self.order, &mut extents);
        let owned: String;
        let text: &str = if line.is_ascii() {
            line
        } else {
            // Texts with other characters are reassembled again, one column after the other.
            chars = line.chars().collect();
            let mut whole = String::new();
            for extent in &mut extents {
                let begin = whole.len();
                whole.extend(&chars[extent.0..extent.1]);
                *extent = (begin, whole.len());
            }
            owned = whole;
            &owned
        };
        let verdict = if fits {
            self.take(text, &extents, kind, (day, second), number, offset)
        } else {
            LineKind::NoRow
        };
        self.extents = extents;
        if verdict == LineKind::Row && !lost.is_empty() {
            self.note(UnparsedCell {
                line: number,
                offset,
                column: None,
                text: lost,
            });
        }
        verdict
    }

    /// The length of a line without what its cut makes uncertain: the word that ends there, and words after the last
    /// head, whose own heads were cut.
    fn whole(&self, cells: &[u8]) -> usize {
        let (Some(cut), Some(last)) = (self.cut, self.places.last()) else {
            return cells.len();
        };
        let begins = |mut at: usize| {
            while at > 0 && cells[at - 1] != b' ' {
                at -= 1;
            }
            at
        };
        let mut whole = cells.len();
        if whole >= cut {
            whole = begins(whole);
        }
        if whole > last.end {
            let at = cells[last.end..whole].iter().position(|&byte| byte == b' ');
            whole = at.map_or(whole, |at| last.end + at);
        }
        whole
    }

    fn note(&mut self, note: UnparsedCell) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(note);
        }
    }

    fn take(
        &mut self,
        text: &str,
        extents: &[(usize, usize)],
        mut kind: String,
        (day, second): (Option<i64>, Option<i64>),
        number: u64,
        offset: u64,
    ) -> LineKind {
        let mut parsed: Vec<Parsed<'_>> = Vec::with_capacity(self.columns.len());
        parsed.resize_with(self.columns.len(), || Parsed::Null);
        let mut other = String::new();
        for (&(from, to), target) in extents.iter().zip(&self.targets) {
            let cell = text.get(from..to).unwrap_or_default();
            let at = match target {
                Target::Column(at) => *at,
                Target::Other(head) if !cell.is_empty() => {
                    let sep = if other.is_empty() { "" } else { "; " };
                    other.push_str(&format!("{sep}{head}={cell}"));
                    continue;
                }
                _ => continue,
            };
            let found = parse(cell, self.columns[at].kind);
            if matches!(found, Parsed::Invalid(_)) && kind == "row" {
                return LineKind::NoRow;
            }
            parsed[at] = found;
        }
        let mut utc = None;
        if let Some(Parsed::Text(text)) = self.moment.and_then(|at| parsed.get(at)) {
            utc = stamp(text);
        }
        if utc.is_some() {
            INTERVAL.clone_into(&mut kind);
        } else if kind == INTERVAL && self.total(&parsed) {
            "total".clone_into(&mut kind);
        }
        for (at, (column, cell)) in self.columns.iter_mut().zip(parsed).enumerate() {
            match (&mut column.values, cell) {
                (Values::Floats(values, halves), Parsed::Float(found)) => {
                    values.push(found.value);
                    halves.push(found.half);
                }
                (Values::Ints(values), Parsed::Int(found)) => values.push(Some(found)),
                (Values::Times(values), Parsed::Time(found)) => values.push(Some(found)),
                (Values::Texts(texts), Parsed::Text(found)) => texts.push(Some(found)),
                (values, cell) => {
                    if let Parsed::Invalid(cell) = cell
                        && self.notes.len() < MAX_NOTES
                    {
                        let text = cell.chars().take(40).collect();
                        self.notes.push(UnparsedCell {
                            line: number,
                            offset,
                            column: Some(at),
                            text,
                        });
                    }
                    values.push_null();
                }
            }
        }
        let kind = self.kind(&kind);
        self.lines.push(number);
        self.offsets.push(offset);
        self.kinds.push(kind);
        self.days
            .push(day.or(self.next_day.take_if(|_| second.is_some())));
        self.seconds_of_day.push(second);
        self.utc.push(utc);
        self.others.push((!other.is_empty()).then_some(&other));
        LineKind::Row
    }

    /// Whether a row with a time is a total: one of its texts says so.
    fn total(&self, parsed: &[Parsed<'_>]) -> bool {
        let has = |at: usize, wanted: &str| matches!(parsed.get(at), Some(Parsed::Text(text)) if *text == wanted);
        let listed = |total: &Vec<(usize, String)>| total.iter().all(|(at, text)| has(*at, text));
        self.totals.iter().any(listed)
            || matches!(parsed.first(), Some(Parsed::Text(text)) if text.starts_with('>'))
    }

    fn kind(&mut self, name: &str) -> u16 {
        let known = self.kind_names.iter().position(|kind| kind == name);
        let at = known.unwrap_or_else(|| {
            // Labels of a hostile file: all beyond the first thousands are one.
            if self.kind_names.len() < 4096 {
                self.kind_names.push(name.to_owned());
            }
            self.kind_names.len() - 1
        });
        u16::try_from(at).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, TimestampMicrosecondType};
    use proptest::prelude::*;

    const TEXT: &str = "\
>>Mean>>   0 IFL  95.5
>>Total>   2 IFL 191.0

23:59:00   0 IFL  95.5
23:59:00   1 IFL  ....

00:00:00   0 IFL  1.5k
* End
";

    fn rows() -> Rows {
        let columns = vec![
            ("cpu".to_owned(), Kind::Int),
            ("type".to_owned(), Kind::Text),
            ("busy".to_owned(), Kind::Float),
        ];
        let mut rows = Rows::new(columns, true, Vec::new(), Vec::new(), None, vec![1]);
        let place = |start, end, right| ColumnSpan { start, end, right };
        rows.lay(
            vec![
                (place(0, 8, false), Target::Discard),
                (place(9, 12, true), Target::Column(0)),
                (place(13, 17, false), Target::Column(1)),
                (place(18, 22, true), Target::Column(2)),
            ],
            true,
            None,
            CellOrder::Below,
        );
        rows
    }

    /// Columns below a heading of times.
    fn timed(mut places: Vec<(ColumnSpan, Target)>) -> Vec<(ColumnSpan, Target)> {
        let time = ColumnSpan {
            start: 0,
            end: 8,
            right: false,
        };
        places.insert(0, (time, Target::Discard));
        places
    }

    #[test]
    fn truncated_cells_are_missing() {
        let mut rows = rows();
        let places = rows.places.clone();
        let targets = rows.targets.clone();
        let all: Vec<_> = places.into_iter().zip(targets).collect();
        let all = timed(all);
        rows.lay(all.clone(), true, Some(22), CellOrder::Below);
        assert_eq!(rows.row("23:59:00   0 IFL  95.5", 1, 0), LineKind::Row);
        rows.lay(all, true, Some(30), CellOrder::Below);
        assert_eq!(
            rows.row("23:59:00   0 IFL  95.5     381", 2, 0),
            LineKind::Row
        );
        rows.place(chunk(None));
        let batch = rows.batch(&["busy".to_owned()]).unwrap();
        let busy = batch.column(0).as_primitive::<Float64Type>();
        assert!(busy.is_null(0));
        assert_eq!(busy.value(1), 95.5);
        let notes = rows.take_notes();
        let lost: Vec<_> = notes.iter().map(|note| note.text.as_str()).collect();
        assert_eq!(lost, ["95.5", "381"]);
    }

    #[test]
    fn unknown_columns_are_stored_with_heading() {
        let mut rows = rows();
        let places = rows.places.clone();
        let all: Vec<_> = places
            .into_iter()
            .map(|place| (place, Target::Other("Run".to_owned())))
            .collect();
        let all = timed(all);
        rows.lay(all, true, None, CellOrder::Below);
        assert_eq!(rows.row("23:59:00   0 IFL  95.5", 1, 0), LineKind::Row);
        rows.place(chunk(None));
        let batch = rows.batch(&["other".to_owned()]).unwrap();
        assert_eq!(
            batch.column(0).as_string::<i32>().value(0),
            "Run=0; Run=IFL; Run=95.5"
        );
    }

    fn chunk(start_us: Option<i64>) -> ReportHeader {
        ReportHeader {
            sources: ("by time".to_owned(), "whole".to_owned()),
            start_us,
            end_us: start_us.map(|start| start + 120 * MICRO),
            ..ReportHeader::default()
        }
    }

    #[test]
    fn rows_are_read_up_to_foreign_line() {
        let mut rows = rows();
        let (at, count) = rows.read(TEXT.as_bytes(), 0, 1, 0, false);
        assert_eq!((&TEXT[at..], count, rows.len()), ("* End\n", 7, 5));
        let start = 10 * DAY_S * MICRO - 120 * MICRO;
        let spans = rows.place(chunk(Some(start)));
        assert_eq!(rows.source(), "by time");
        assert_eq!(
            spans
                .iter()
                .map(|span| (span.end_us, span.seconds, span.line))
                .collect::<Vec<_>>(),
            [
                (start + 60 * MICRO, Some(60.0), 4),
                (start + 120 * MICRO, Some(60.0), 7)
            ]
        );
        let names = ["busy", "busy_half", "row_kind", "interval_end", "only"].map(str::to_owned);
        let batch = rows.batch(&names).unwrap();
        let busy = batch.column(0).as_primitive::<Float64Type>();
        assert_eq!(
            busy.iter().collect::<Vec<_>>(),
            [Some(95.5), Some(191.0), Some(95.5), None, Some(1500.0)]
        );
        assert_eq!(batch.column(1).as_primitive::<Float64Type>().value(4), 50.0);
        assert_eq!(
            batch
                .column(2)
                .as_string::<i32>()
                .iter()
                .flatten()
                .collect::<Vec<_>>(),
            ["mean", "total", "interval", "interval", "interval"]
        );
        assert_eq!(
            batch
                .column(3)
                .as_primitive::<TimestampMicrosecondType>()
                .value(0),
            start + 120 * MICRO
        );
        assert!(!batch.column(4).as_boolean().value(0));
    }

    #[test]
    fn report_of_means_is_one_interval() {
        let mut rows = rows();
        rows.read(TEXT.as_bytes(), 0, 1, 0, false);
        while rows.len() > 2 {
            rows.pop();
        }
        let spans = rows.place(chunk(Some(0)));
        assert_eq!(spans.len(), 1);
        assert_eq!(
            (spans[0].end_us, spans[0].seconds, rows.source()),
            (120 * MICRO, Some(120.0), "whole")
        );
    }

    #[test]
    fn listing_without_start_starts_one_interval_earlier() {
        let mut rows = rows();
        rows.read(&TEXT.as_bytes()[47..], 0, 1, 0, false);
        let spans = rows.place(chunk(None));
        assert_eq!(
            spans.iter().map(|span| span.seconds).collect::<Vec<_>>(),
            [Some(60.0), Some(60.0)]
        );
    }

    #[test]
    fn text_below_number_is_noted() {
        let mut rows = rows();
        assert_eq!(rows.row("00:01:00   0 IFL  oops", 9, 99), LineKind::Row);
        let notes = rows.take_notes();
        assert_eq!((notes[0].line, notes[0].text.as_str()), (9, "oops"));
        assert!(rows.take_notes().is_empty());
        assert_eq!(
            rows.row("00:01:00   0 \u{e4}\u{f6}   1.5", 10, 99),
            LineKind::Row
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed(data in prop::collection::vec(any::<u8>(), 0..400), controlled: bool) {
            let mut rows = rows();
            let (at, _) = rows.read(&data, 0, 1, 0, controlled);
            prop_assert!(at <= data.len());
            rows.place(chunk(None));
            prop_assert_eq!(rows.batch(&["busy".to_owned(), "type".to_owned()]).unwrap().num_rows(), rows.len());
        }

        #[test]
        fn any_line_is_a_row_or_rejected(line in "\\PC{0,60}") {
            let mut rows = rows();
            let before = rows.len();
            if rows.row(&line, 1, 0) == LineKind::Row {
                rows.pop();
            }
            prop_assert_eq!(rows.len(), before);
        }
    }
}
