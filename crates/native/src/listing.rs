//! `ListingRows`: the rows of one raw table of listings.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use zlens_listing::{CellOrder, ColumnSpan, Kind, Label, LineKind, ReportHeader, Rows, Target};

use crate::table::ArrowTable;

/// A column of a layout: start, end, whether cells end on the right, the column, -1 for none, and then the head of
/// texts that are kept, "" for none.
type PlaceOf = (usize, usize, bool, i64, String);
/// Line, offset, column and text of a cell that has no value of its column's kind.
type NoteOf = (u64, u64, String, String);
/// End in microseconds UTC, length in seconds, line and offset.
type SpanOf = (i64, Option<f64>, u64, u64);
/// End in microseconds UTC, file, and whether the values agree.
type RepeatOf = (i64, String, bool);

/// Rows of one raw table of listings, read from lines of reports.
#[pyclass(module = "zlens._native")]
pub struct ListingRows {
    rows: Rows,
}

#[pymethods]
impl ListingRows {
    /// `columns` are pairs of name and type; `labels` pairs of what rows begin with and their kind; `subject` are the
    /// columns that identify a row within an interval.
    #[new]
    #[pyo3(signature = (columns, labels, totals, *, timed, subject, moment = None))]
    fn new(
        columns: Vec<(String, String)>,
        labels: Vec<(String, String)>,
        totals: Vec<Vec<(usize, String)>>,
        timed: bool,
        subject: Vec<usize>,
        moment: Option<usize>,
    ) -> PyResult<Self> {
        let kind = |name: &str| match name {
            "float" => Ok(Kind::Float),
            "int" => Ok(Kind::Int),
            "text" => Ok(Kind::Text),
            "time" => Ok(Kind::Time),
            _ => Err(PyValueError::new_err(format!("unknown type {name:?}"))),
        };
        let columns = columns
            .into_iter()
            .map(|(name, of)| kind(&of).map(|of| (name, of)))
            .collect::<PyResult<_>>()?;
        let labels = labels
            .into_iter()
            .map(|(text, kind)| Label { text, kind })
            .collect();
        let rows = Rows::new(columns, timed, labels, totals, moment, subject);
        Ok(Self { rows })
    }

    fn __len__(&self) -> usize {
        self.rows.len()
    }

    /// Set where columns are; `timed`: the first place is that of times and labels; `cut`: the length to which
    /// lines were cut; `order`: of cells, "below" their heads, "words" wherever they are, or "texts" that
    /// two blanks separate.
    #[pyo3(signature = (places, timed, *, cut = None, order = "below"))]
    fn set_layout(
        &mut self,
        places: Vec<PlaceOf>,
        timed: bool,
        cut: Option<usize>,
        order: &str,
    ) -> PyResult<()> {
        let order = match order {
            "below" => CellOrder::Below,
            "words" => CellOrder::Words,
            "texts" => CellOrder::Texts,
            _ => return Err(PyValueError::new_err(format!("unknown order {order:?}"))),
        };
        let place = |(start, end, right, column, head): PlaceOf| {
            let target = match usize::try_from(column) {
                Ok(at) => Target::Column(at),
                Err(_) if head.is_empty() => Target::Discard,
                Err(_) => Target::Other(head),
            };
            (ColumnSpan { start, end, right }, target)
        };
        self.rows
            .lay(places.into_iter().map(place).collect(), timed, cut, order);
        Ok(())
    }

    /// Read lines of a block as long as they are rows: the position of the first other line, and the number of lines.
    #[pyo3(signature = (data, at, number, base, *, controlled))]
    fn read(
        &mut self,
        py: Python<'_>,
        data: &[u8],
        at: usize,
        number: u64,
        base: u64,
        controlled: bool,
    ) -> (usize, u64) {
        let rows = &mut self.rows;
        py.detach(|| rows.read(data, at.min(data.len()), number, base, controlled))
    }

    /// Read one line if it is a row, or one to skip.
    fn row(&mut self, line: &str, number: u64, offset: u64) -> bool {
        self.rows.row(line, number, offset) != LineKind::NoRow
    }

    /// Set the day of the next row with a time, in days since 1970.
    fn set_day(&mut self, day: i64) {
        self.rows.set_day(day);
    }

    /// Take back the last row.
    fn pop(&mut self) {
        self.rows.pop();
    }

    /// Give the rows since the last call their times and names: their intervals.
    #[pyo3(signature = (system, sources, file, *, start_us, end_us, seconds, day_us, offset_us))]
    #[allow(clippy::too_many_arguments)]
    fn assign_times(
        &mut self,
        system: String,
        sources: (String, String),
        file: String,
        start_us: Option<i64>,
        end_us: Option<i64>,
        seconds: Option<f64>,
        day_us: i64,
        offset_us: i64,
    ) -> Vec<SpanOf> {
        let chunk = ReportHeader {
            system,
            sources,
            file,
            start_us,
            end_us,
            seconds,
            day_us,
            offset_us,
        };
        let spans = self.rows.place(chunk).into_iter();
        spans
            .map(|span| (span.end_us, span.seconds, span.line, span.offset))
            .collect()
    }

    /// Whether the rows placed last have a date of their own.
    #[getter]
    fn dated(&self) -> bool {
        self.rows.dated()
    }

    /// The source of the rows placed last.
    #[getter]
    fn source(&self) -> String {
        self.rows.source().to_owned()
    }

    /// Mark the rows placed last that end at a time: their interval has another length.
    fn flag(&mut self, end_us: i64) {
        self.rows.flag(end_us);
    }

    /// Mark the rows placed last that were already read: their intervals, with the file that has each, and whether all
    /// its values are the same there.
    fn repeats(&mut self) -> Vec<RepeatOf> {
        let repeats = self.rows.repeats().into_iter();
        repeats
            .map(|repeat| (repeat.end_us, repeat.file, repeat.agrees))
            .collect()
    }

    /// Cells since the last call that have no value of their column's type, and ends of cut lines, of no column.
    fn notes(&mut self) -> Vec<NoteOf> {
        let notes = self.rows.take_notes().into_iter();
        notes
            .map(|note| {
                let name = |at| self.rows.column_name(at).to_owned();
                let column = note.column.map(name).unwrap_or_default();
                (note.line, note.offset, column, note.text)
            })
            .collect()
    }

    /// Whether all texts of a column are numbers; they are then read as such.
    fn numeric(&mut self, column: usize) -> bool {
        let numeric = self.rows.numeric(column);
        if numeric {
            self.rows.make_numeric(column);
        }
        numeric
    }

    /// The named columns of all rows.
    fn table(&self, py: Python<'_>, columns: Vec<String>) -> PyResult<Py<ArrowTable>> {
        let batch = self
            .rows
            .batch(&columns)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let table: PyClassInitializer<ArrowTable> = ArrowTable::from_batch(batch);
        Py::new(py, table)
    }
}
