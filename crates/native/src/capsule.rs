//! Arrow data handed to Python through the PyCapsule interface.
//!
//! A capsule owns a boxed C structure. A consumer that takes the data moves it out and clears the release
//! callback; when the capsule is dropped the structure's own `Drop` frees whatever no one took. An abandoned
//! stream therefore frees its scan. Only to move a structure out of somebody else's capsule needs `unsafe`.

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::Schema;
use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyTuple};

/// A capsule `arrow_schema`.
pub fn schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let exported =
        FFI_ArrowSchema::try_from(schema).map_err(|e| PyValueError::new_err(e.to_string()))?;
    PyCapsule::new_with_value(py, exported, c"arrow_schema")
}

/// A capsule `arrow_array_stream` that pulls its batches from `reader`.
pub fn stream<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
}

/// The pair of capsules `arrow_schema`, `arrow_array` of one batch.
pub fn array<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Bound<'py, PyTuple>> {
    let data = StructArray::from(batch.clone()).into_data();
    let (array, kind) =
        arrow_array::ffi::to_ffi(&data).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let kind = PyCapsule::new_with_value(py, kind, c"arrow_schema")?;
    let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
    PyTuple::new(py, [kind, array])
}

/// The batches of an object that has `__arrow_c_stream__`.
pub fn reader(source: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let capsule = source.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: by the PyCapsule protocol a capsule of this name points to an ArrowArrayStream that its consumer may
    // move out, which `from_raw` does: it leaves a released structure after. The capsule lives until then.
    #[expect(unsafe_code, reason = "the C structure of another producer")]
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr().cast()) };
    RecordBatchStreamReader::try_new(stream).map_err(|e| PyValueError::new_err(e.to_string()))
}
