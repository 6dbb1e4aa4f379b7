//! `ArrowStream`: rows in Arrow form, created for every consumer.

use arrow_array::RecordBatchReader;
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use zlens_columns::{IncrementalScan, Reader};

use crate::capsule;
use crate::interruptible::InterruptibleReader;

type Batches = Box<dyn RecordBatchReader + Send>;

/// Rows in Arrow form: every `__arrow_c_stream__` starts over, for a raw table with a scan of the files.
#[pyclass(frozen, subclass, module = "zlens._native")]
pub struct ArrowStream {
    schema: SchemaRef,
    begin: Box<dyn Fn() -> Batches + Send + Sync>,
}

impl ArrowStream {
    pub fn new(schema: SchemaRef, begin: impl Fn() -> Batches + Send + Sync + 'static) -> Self {
        Self {
            schema,
            begin: Box::new(begin),
        }
    }

    /// Scans that end when Ctrl-C is pressed.
    pub fn of_scans<S: IncrementalScan + Send + 'static>(
        schema: SchemaRef,
        scan: impl Fn() -> Reader<S> + Send + Sync + 'static,
    ) -> Self {
        Self::new(schema, move || Box::new(InterruptibleReader::new(scan())))
    }
}

#[pymethods]
impl ArrowStream {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema(py, &self.schema)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol lets a producer answer with its own schema, which is all there is.
        drop(requested_schema);
        capsule::stream(py, (self.begin)())
    }
}
