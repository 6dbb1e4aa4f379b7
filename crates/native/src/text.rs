//! Rows of answers as text: sections of reports, CSV and JSON.

use std::sync::Mutex;

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_schema::ArrowError;
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use zlens_text::{
    Arrays, Batch, Csv, Error, Family, Html, Json, Kind, Labels, Objects, PrintedColumn, Printer,
    Section, SectionBuilder, SectionLabel, SectionMerge, Style, Table, TextChunks, csv_field,
    csv_rows, exposition, push_float, push_int, push_number,
};

use crate::capsule;

create_exception!(
    zlens._native,
    StreamError,
    PyRuntimeError,
    "What a producer of Arrow says has gone wrong."
);

fn raised(error: Error) -> PyErr {
    match error {
        Error::Stream(error) => broken(&error),
        Error::Type { .. } => PyTypeError::new_err(error.to_string()),
        Error::Spool(source) => match source.raw_os_error() {
            Some(code) => PyOSError::new_err((code, source.to_string())),
            None => PyOSError::new_err(source.to_string()),
        },
    }
}

fn broken(error: &ArrowError) -> PyErr {
    let text = error.to_string();
    // Only the producer's part of the sentence helps the caller.
    let said = text
        .split_once("Producer error: ")
        .map(|(_, said)| said.to_owned());
    StreamError::new_err(said.unwrap_or(text))
}

fn kinds(types: &[String]) -> Vec<Kind> {
    types
        .iter()
        .map(|name| match name.as_str() {
            "int" => Kind::Whole,
            _ => Kind::Other,
        })
        .collect()
}

/// A column of a report, as its definition has it.
#[derive(FromPyObject)]
struct Column {
    r#type: String,
    width: usize,
    decimals: usize,
    leading_zero: bool,
}

/// Some rows of a report, read from an Arrow stream and printed as often as is asked.
///
/// Its first three columns are block, time and flag. A few batches stay in memory, the others in a temporary file.
#[pyclass(frozen, name = "Section", module = "zlens._native")]
pub struct PySection(Section);

#[pymethods]
impl PySection {
    /// Reads a stream to its end; `types` are those of its columns, `columns` define those that are shown.
    #[staticmethod]
    fn read(
        py: Python<'_>,
        stream: &Bound<'_, PyAny>,
        types: Vec<String>,
        columns: Vec<Column>,
    ) -> PyResult<Self> {
        let mut reader = capsule::reader(stream)?;
        let styles = columns.into_iter().map(|column| Style {
            number: column.r#type == "number",
            width: column.width,
            decimals: column.decimals,
            leading_zero: column.leading_zero,
        });
        let mut section = SectionBuilder::new(kinds(&types), styles.collect());
        // Borrowed, so that the stream is given back with the interpreter at hand.
        py.detach(|| {
            for batch in &mut reader {
                section.push(&batch?)?;
            }
            Ok(())
        })
        .map_err(raised)?;
        Ok(Self(section.finish()))
    }

    /// Statistics of the rows of each block, in the order of its blocks.
    #[getter]
    fn runs(&self) -> Vec<BlockStats> {
        self.0.runs().iter().map(run_of).collect()
    }
}

/// Block; the number of its rows; of each column the number of values, and the characters of the longest
/// text has, at least the column's width; the earliest and the latest time; flags.
type BlockStats = (
    Option<String>,
    usize,
    Vec<usize>,
    Vec<usize>,
    Option<(i64, i64)>,
    Vec<String>,
);

fn run_of(run: &zlens_text::BlockStats) -> BlockStats {
    (
        run.block.clone(),
        run.rows,
        run.values.clone(),
        run.longest.clone(),
        run.times,
        run.flags.iter().cloned().collect(),
    )
}

/// Sections of a part, each with the index of its block, if it has rows of it.
type Sections<'py> = Vec<(Bound<'py, PySection>, Option<usize>)>;

/// Rows as text, chunk by chunk.
#[pyclass(name = "Lines", module = "zlens._native")]
pub struct PyLines(TextChunks);

#[pymethods]
impl PyLines {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<String>> {
        let lines = &mut self.0;
        py.detach(|| lines.chunk()).map_err(raised)
    }

    /// Rows of a text report: `columns` are index, width and whether it is aligned to the right; `sections` are
    /// label, fixed texts and what means no value, padded, for each of these columns.
    #[staticmethod]
    #[pyo3(signature = (part, columns, sections, *, label_width, blank, dated, offset_us))]
    fn table(
        part: Sections<'_>,
        columns: Vec<(usize, usize, bool)>,
        sections: Vec<(String, Vec<Option<String>>, Vec<String>)>,
        label_width: Option<usize>,
        blank: bool,
        dated: bool,
        offset_us: i64,
    ) -> PyResult<Self> {
        let columns = columns
            .into_iter()
            .map(|(index, width, right)| PrintedColumn {
                index,
                width,
                right,
            });
        let sections = sections
            .into_iter()
            .map(|(label, fixed, empty)| SectionLabel {
                label,
                fixed,
                empty,
            });
        let table = Table::new(
            styles(&part),
            columns.collect(),
            sections.collect(),
            label_width,
            blank,
            dated,
            offset_us,
        );
        lines(&part, Printer::Table(table))
    }

    /// Rows of a report as CSV: `before` are the fields that rows of each section begin with; time and flag follow
    /// where it is `timed`.
    #[staticmethod]
    #[pyo3(signature = (part, before, *, timed))]
    fn csv(part: Sections<'_>, before: Vec<Vec<String>>, timed: bool) -> PyResult<Self> {
        let printer = Printer::Csv(Csv::new(&before, timed));
        lines(&part, printer)
    }

    /// Rows of a report as JSON, a comma and a new line between them; `fixed` are texts that are in every row.
    #[staticmethod]
    #[pyo3(signature = (part, before, names, fixed, *, timed))]
    fn json(
        part: Sections<'_>,
        before: Vec<Vec<(String, String)>>,
        names: Vec<String>,
        fixed: Vec<Vec<Option<String>>>,
        timed: bool,
    ) -> PyResult<Self> {
        lines(
            &part,
            Printer::Json(Json::new(&before, timed, &names, fixed)),
        )
    }

    /// Rows of an HTML table: `columns` are whether it is aligned to the right and whether it is sorted by its
    /// exact values; `labels` and cells are HTML.
    #[staticmethod]
    #[pyo3(signature = (part, columns, labels, fixed, empty, *, timed, offset_us))]
    fn html(
        part: Sections<'_>,
        columns: Vec<(bool, bool)>,
        labels: Vec<String>,
        fixed: Vec<Vec<Option<String>>>,
        empty: Vec<Vec<String>>,
        timed: bool,
        offset_us: i64,
    ) -> PyResult<Self> {
        let html = Html {
            styles: styles(&part),
            columns,
            labels,
            fixed,
            empty,
            timed,
            offset_us,
        };
        lines(&part, Printer::Html(html))
    }
}

fn styles(part: &Sections<'_>) -> Vec<Style> {
    part.first()
        .map(|(section, _)| section.get().0.styles().to_vec())
        .unwrap_or_default()
}

fn lines(part: &Sections<'_>, printer: Printer) -> PyResult<PyLines> {
    let sections: Vec<_> = part
        .iter()
        .map(|(section, run)| (section.get().0.clone(), *run))
        .collect();
    let part = SectionMerge::new(&sections).map_err(raised)?;
    Ok(PyLines(TextChunks::new(part, printer)))
}

enum Form {
    Csv,
    Json(Objects),
}

/// An answer as CSV or JSON, batch by batch as they come from its Arrow stream.
#[pyclass(frozen, module = "zlens._native")]
pub struct AnswerText(Mutex<Answer>);

struct Answer {
    reader: Option<RecordBatchStreamReader>,
    kinds: Vec<Kind>,
    form: Form,
    /// Text before the first row.
    head: String,
}

#[pymethods]
impl AnswerText {
    /// CSV with a line of names; an empty text is "", no value an empty field.
    #[staticmethod]
    fn csv(stream: &Bound<'_, PyAny>, names: Vec<String>, types: Vec<String>) -> PyResult<Self> {
        let mut head = String::new();
        for (place, name) in names.iter().enumerate() {
            if place > 0 {
                head.push(',');
            }
            csv_field(&mut head, name);
        }
        head.push('\n');
        Self::new(stream, &types, Form::Csv, head)
    }

    /// An array of objects, one a line; names are different.
    #[staticmethod]
    fn json(stream: &Bound<'_, PyAny>, names: Vec<String>, types: Vec<String>) -> PyResult<Self> {
        let form = Form::Json(Objects::new(&names));
        Self::new(stream, &types, form, String::new())
    }

    /// The text of the next batch; None after the last.
    fn next(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let mut answer = self
            .0
            .lock()
            .map_err(|_| PyRuntimeError::new_err("a chunk before failed"))?;
        let Some(mut reader) = answer.reader.take() else {
            return Ok(None);
        };
        let mut out = std::mem::take(&mut answer.head);
        let Answer { kinds, form, .. } = &mut *answer;
        let more = py
            .detach(|| -> Result<bool, Error> {
                let Some(batch) = reader.next().transpose()? else {
                    return Ok(false);
                };
                match form {
                    Form::Csv => csv_rows(&mut out, &batch, kinds)?,
                    Form::Json(objects) => objects.push(&mut out, &batch, kinds)?,
                }
                Ok(true)
            })
            .map_err(raised)?;
        if more {
            answer.reader = Some(reader);
        } else if let Form::Json(objects) = form {
            out.push_str(objects.end());
        }
        Ok(Some(out))
    }
}

impl AnswerText {
    fn new(
        stream: &Bound<'_, PyAny>,
        types: &[String],
        form: Form,
        head: String,
    ) -> PyResult<Self> {
        let reader = capsule::reader(stream)?;
        let kinds = kinds(types);
        if reader.schema().fields().len() != kinds.len() {
            return Err(PyTypeError::new_err("a type for each column"));
        }
        Ok(Self(Mutex::new(Answer {
            reader: Some(reader),
            kinds,
            form,
            head,
        })))
    }
}

/// The first rows of a stream as a JSON array of arrays, and whether there are more.
#[pyfunction]
pub fn json_rows(
    py: Python<'_>,
    stream: &Bound<'_, PyAny>,
    types: Vec<String>,
    limit: usize,
) -> PyResult<(String, bool)> {
    let reader = capsule::reader(stream)?;
    let kinds = kinds(&types);
    if reader.schema().fields().len() != kinds.len() {
        return Err(PyTypeError::new_err("a type for each column"));
    }
    py.detach(|| {
        let (mut arrays, mut out) = (Arrays::new(limit), String::new());
        for batch in reader {
            arrays.push(&mut out, &batch?, &kinds)?;
        }
        out.push_str(arrays.end());
        Ok((out, arrays.more()))
    })
    .map_err(|error: Error| raised(error))
}

/// A stream as samples of Prometheus: `sets` are sets of labels, each of name and column; `families` are what is
/// before the samples, their name, the index of their set of labels and the column of the values, None for 1.
#[pyfunction]
pub fn samples(
    py: Python<'_>,
    stream: &Bound<'_, PyAny>,
    types: Vec<String>,
    sets: Vec<Labels>,
    families: Vec<(String, String, usize, Option<usize>)>,
) -> PyResult<String> {
    let reader = capsule::reader(stream)?;
    let (kinds, columns) = (kinds(&types), reader.schema().fields().len());
    let named = sets.iter().flatten().map(|(_, column)| *column);
    let valued = families.iter().filter_map(|(.., value)| *value);
    if named.chain(valued).any(|column| column >= columns)
        || families.iter().any(|(_, _, set, _)| *set >= sets.len())
    {
        return Err(PyTypeError::new_err(
            "a label or a value of a column that is not there",
        ));
    }
    let families: Vec<Family> = families
        .into_iter()
        .map(|(head, name, labels, value)| Family {
            head,
            name,
            labels,
            value,
        })
        .collect();
    py.detach(|| {
        let batches: Vec<Batch> = reader
            .map(|batch| Batch::new(&batch?, &kinds))
            .collect::<Result<_, Error>>()?;
        Ok(exposition(&batches, &sets, &families))
    })
    .map_err(raised)
}

/// Counts the rows of a stream.
#[pyfunction]
pub fn count_rows(py: Python<'_>, stream: &Bound<'_, PyAny>) -> PyResult<usize> {
    let mut reader = capsule::reader(stream)?;
    let counted = py.detach(|| {
        let rows = reader
            .by_ref()
            .map(|batch| batch.map(|batch| batch.num_rows()));
        rows.sum::<Result<usize, ArrowError>>()
    });
    counted.map_err(|error| broken(&error))
}

#[derive(FromPyObject)]
pub enum Number {
    Whole(i128),
    Float(f64),
}

/// A number as reports print it: in at most `width` characters if any form of it fits, else in its shortest form.
#[pyfunction]
#[pyo3(signature = (value, width, decimals, *, zero = false))]
pub fn number_text(value: Number, width: usize, decimals: usize, zero: bool) -> String {
    let mut out = String::new();
    match value {
        Number::Whole(value) => push_int(&mut out, value, width, decimals, zero),
        Number::Float(value) => push_number(&mut out, value, width, decimals, zero),
    }
    out
}

/// A float as `repr` gives it.
#[pyfunction]
pub fn float_text(value: f64) -> String {
    let mut out = String::new();
    push_float(&mut out, value);
    out
}
