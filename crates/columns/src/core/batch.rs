//! Shared by batches of dumps: their size, and the leading columns of every table.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, SchemaRef};

use super::dumps::File;
use super::flag::IntervalFlag;
use super::int64_block::{Int64Arrays, Int64Block};
use super::select::{LeadingColumn, OutputColumn};
use super::utf8::Utf8Builder;
use super::validity::Validity;

/// Target size of the columns of a batch: little enough to stay in the processor's cache.
const BATCH_BYTES: usize = 1 << 20;

/// Target number of rows of a batch with this many columns.
pub(crate) fn target_rows(columns: usize) -> usize {
    (BATCH_BYTES / (8 * columns.max(1))).clamp(1024, 8192)
}

/// A batch of `len` rows, which may have no columns.
pub(crate) fn batch(
    schema: SchemaRef,
    arrays: Vec<ArrayRef>,
    len: usize,
) -> Result<RecordBatch, ArrowError> {
    let options = RecordBatchOptions::new().with_row_count(Some(len));
    RecordBatch::try_new_with_options(schema, arrays, &options)
}

/// Internal error: a selected column was not built.
pub(crate) fn missing_column_error() -> ArrowError {
    ArrowError::ComputeError("a selected column was not decoded".to_owned())
}

/// Rows as the first columns show them.
pub(crate) trait RowMeta {
    fn len(&self) -> usize;
    fn system(&self, row: usize) -> &str;
    /// Number of the file.
    fn file(&self, row: usize) -> u32;
    fn offset(&self, row: usize) -> i64;
    /// Microseconds UTC.
    fn tod(&self, row: usize) -> Option<i64>;
    /// Microseconds UTC.
    fn interval_end(&self, row: usize) -> Option<i64>;
    /// NaN where they are not known.
    fn seconds(&self, row: usize) -> f64;
    fn flag(&self, row: usize) -> IntervalFlag;
}

#[derive(Debug)]
enum Data {
    Source,
    File(Vec<u32>),
    System(Utf8Builder),
    Flag(Utf8Builder),
    Seconds(Vec<f64>, Validity),
    /// At an index among the 8-byte columns.
    Offset(usize),
    Tod(usize, Validity),
    IntervalEnd(usize, Validity),
}

/// The first columns of a batch while it is built, those that are selected.
#[derive(Debug)]
pub(crate) struct LeadingColumns(Vec<Data>);

impl LeadingColumns {
    /// `places` counts the 8-byte columns of the batch.
    pub(crate) fn new<C>(outputs: &[OutputColumn<C>], places: &mut usize) -> Self {
        let mut place = || {
            *places += 1;
            *places - 1
        };
        let heads = outputs.iter().filter_map(|output| match output {
            OutputColumn::Leading(head) => Some(match head {
                LeadingColumn::System => Data::System(Utf8Builder::default()),
                LeadingColumn::Source => Data::Source,
                LeadingColumn::File => Data::File(Vec::new()),
                LeadingColumn::Offset => Data::Offset(place()),
                LeadingColumn::Tod => Data::Tod(place(), Validity::default()),
                LeadingColumn::IntervalEnd => Data::IntervalEnd(place(), Validity::default()),
                LeadingColumn::Seconds => Data::Seconds(Vec::new(), Validity::default()),
                LeadingColumn::Flag => Data::Flag(Utf8Builder::default()),
            }),
            OutputColumn::Table(_) => None,
        });
        Self(heads.collect())
    }

    /// Adds rows after the first `len`.
    pub(crate) fn append(&mut self, rows: &impl RowMeta, len: usize, wide: &mut Int64Block) {
        let numbers = 0..rows.len();
        let times =
            |out: &mut [i64], validity: &mut Validity, of: &dyn Fn(usize) -> Option<i64>| {
                for (row, out) in out.iter_mut().enumerate() {
                    *out = of(row).unwrap_or_else(|| {
                        validity.clear(len + row, len + row + 1);
                        0
                    });
                }
            };
        let places = len..len + rows.len();
        for data in &mut self.0 {
            match data {
                Data::Source => {}
                Data::File(files) => files.extend(numbers.clone().map(|row| rows.file(row))),
                Data::System(words) => numbers.clone().for_each(|row| words.push(rows.system(row))),
                Data::Flag(words) => {
                    for row in numbers.clone() {
                        match rows.flag(row).as_str() {
                            Some(word) => words.push(word),
                            None => words.null(),
                        }
                    }
                }
                Data::Seconds(values, validity) => {
                    for row in numbers.clone() {
                        let seconds = rows.seconds(row);
                        if seconds.is_nan() {
                            validity.clear(len + row, len + row + 1);
                        }
                        // What is under a NULL should be nothing odd.
                        values.push(if seconds.is_nan() { 0.0 } else { seconds });
                    }
                }
                Data::Offset(place) => {
                    let out = wide.rows_mut(*place, places.clone());
                    for (row, out) in out.iter_mut().enumerate() {
                        *out = rows.offset(row);
                    }
                }
                Data::Tod(place, validity) => {
                    let out = wide.rows_mut(*place, places.clone());
                    times(out, validity, &|row| rows.tod(row));
                }
                Data::IntervalEnd(place, validity) => {
                    let out = wide.rows_mut(*place, places.clone());
                    times(out, validity, &|row| rows.interval_end(row));
                }
            }
        }
    }

    /// The arrays of `len` rows, in the order of the selection; the columns are cleared.
    pub(crate) fn finish(
        &mut self,
        len: usize,
        wide: &Int64Arrays,
        source: &str,
        files: &[File],
    ) -> Result<Vec<ArrayRef>, ArrowError> {
        let array = |data: &mut Data| -> Result<ArrayRef, ArrowError> {
            Ok(match data {
                Data::Source => Arc::new(Utf8Builder::repeated(source, len)),
                Data::File(numbers) => file_names(&std::mem::take(numbers), files)?,
                Data::System(words) | Data::Flag(words) => words.finish()?,
                Data::Seconds(values, validity) => Arc::new(Float64Array::try_new(
                    std::mem::take(values).into(),
                    validity.finish(len, &[]),
                )?),
                Data::Offset(place) => Arc::new(wide.ints(*place, None)?),
                Data::Tod(place, validity) | Data::IntervalEnd(place, validity) => {
                    Arc::new(wide.times(*place, validity.finish(len, &[]))?)
                }
            })
        };
        self.0.iter_mut().map(array).collect()
    }
}

/// Names of files by their numbers.
fn file_names(numbers: &[u32], files: &[File]) -> Result<ArrayRef, ArrowError> {
    let name = |number: u32| files.get(number as usize).map_or("", |f| f.name.as_str());
    let first = numbers.first().copied().unwrap_or_default();
    if numbers.iter().all(|&number| number == first) {
        return Ok(Arc::new(Utf8Builder::repeated(name(first), numbers.len())));
    }
    let mut words = Utf8Builder::default();
    numbers.iter().for_each(|&number| words.push(name(number)));
    words.finish()
}
