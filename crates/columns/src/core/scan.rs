//! A scan of one table in the form Arrow's consumers know.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

use crate::scan::{ScanError, Step};

/// What goes over files a little at a time.
pub trait Steps {
    /// Does a little: hands out a batch, or reads one window.
    ///
    /// # Errors
    /// If a file cannot be read.
    fn step(&mut self) -> Result<Step, ScanError>;
}

/// Reads one table. It ends with its first error.
pub struct Reader<S> {
    schema: SchemaRef,
    scan: S,
    failed: bool,
}

impl<S: Steps> Reader<S> {
    pub(crate) const fn new(schema: SchemaRef, scan: S) -> Self {
        Self {
            schema,
            scan,
            failed: false,
        }
    }
}

impl<S: Steps> Steps for Reader<S> {
    fn step(&mut self) -> Result<Step, ScanError> {
        if self.failed {
            return Ok(Step::Done);
        }
        let step = self.scan.step();
        self.failed = step.is_err();
        step
    }
}

impl<S: Steps> Iterator for Reader<S> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.step() {
                Ok(Step::Batch(_, batch)) => return Some(Ok(batch)),
                Ok(Step::Working) => {}
                Ok(Step::Done) => return None,
                Err(error) => return Some(Err(error.into())),
            }
        }
    }
}

impl<S: Steps> RecordBatchReader for Reader<S> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
