//! `ArrowTable`: some rows at hand, of a raw table or built from Python rows.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{
    ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchOptions, RecordBatchReader,
    TimestampMicrosecondArray,
};
use arrow_schema::{Field, Schema};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::capsule;
use crate::stream::ArrowStream;

/// Rows as one Arrow batch.
#[pyclass(frozen, extends = ArrowStream, module = "zlens._native")]
pub struct ArrowTable {
    batch: RecordBatch,
}

impl ArrowTable {
    pub fn from_batch(batch: RecordBatch) -> PyClassInitializer<Self> {
        let own = batch.clone();
        let begin = move || -> Box<dyn RecordBatchReader + Send> {
            let schema = own.schema();
            Box::new(RecordBatchIterator::new([Ok(own.clone())], schema))
        };
        let stream = ArrowStream::new(batch.schema(), begin);
        PyClassInitializer::from(stream).add_subclass(Self { batch })
    }
}

/// The values of one column, taken row by row; the error names the column and the row.
fn cells<'py, T: for<'a> FromPyObject<'a, 'py>>(
    rows: &[Bound<'py, PyTuple>],
    column: usize,
    name: &str,
    mut push: impl FnMut(Option<T>),
) -> PyResult<()> {
    for (number, row) in rows.iter().enumerate() {
        let cell = row.get_item(column)?;
        let value = cell.extract::<Option<T>>().map_err(|error| {
            PyTypeError::new_err(format!("column {name}, row {number}: {}", error.into()))
        })?;
        push(value);
    }
    Ok(())
}

fn column(
    rows: &[Bound<'_, PyTuple>],
    number: usize,
    name: &str,
    kind: &str,
) -> PyResult<ArrayRef> {
    let size = rows.len();
    Ok(match kind {
        "int" => {
            let mut out = Int64Builder::with_capacity(size);
            cells::<i64>(rows, number, name, |v| out.append_option(v))?;
            Arc::new(out.finish())
        }
        "float" => {
            let mut out = Float64Builder::with_capacity(size);
            cells::<f64>(rows, number, name, |v| out.append_option(v))?;
            Arc::new(out.finish())
        }
        "text" => {
            let mut out = StringBuilder::with_capacity(size, size * 8);
            cells::<String>(rows, number, name, |v| out.append_option(v))?;
            Arc::new(out.finish())
        }
        "bool" => {
            let mut out = BooleanBuilder::with_capacity(size);
            cells::<bool>(rows, number, name, |v| out.append_option(v))?;
            Arc::new(out.finish())
        }
        "time" => {
            let mut out = Vec::with_capacity(size);
            cells::<i64>(rows, number, name, |v| out.push(v))?;
            Arc::new(TimestampMicrosecondArray::from(out).with_timezone("UTC"))
        }
        other => {
            return Err(PyValueError::new_err(format!(
                "column {name}: unknown type {other:?}; the types are int, float, text, bool, time"
            )));
        }
    })
}

#[pymethods]
impl ArrowTable {
    /// `columns` are pairs of name and type; a time is given in microseconds since 1970 UTC.
    #[new]
    fn new(
        columns: Vec<(String, String)>,
        rows: Vec<Bound<'_, PyTuple>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        if let Some((number, row)) = rows
            .iter()
            .enumerate()
            .find(|(_, r)| r.len() != columns.len())
        {
            return Err(PyValueError::new_err(format!(
                "row {number} has {} values for {} columns",
                row.len(),
                columns.len()
            )));
        }
        let mut fields = Vec::with_capacity(columns.len());
        let mut arrays = Vec::with_capacity(columns.len());
        for (number, (name, kind)) in columns.iter().enumerate() {
            let array = column(&rows, number, name, kind)?;
            fields.push(Field::new(name, array.data_type().clone(), true));
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let batch =
            RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
                .map_err(|e| PyValueError::new_err(e.to_string()))?;
        Ok(Self::from_batch(batch))
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        drop(requested_schema);
        capsule::array(py, &self.batch)
    }
}
