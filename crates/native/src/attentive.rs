//! Readers that end when Ctrl-C is pressed.

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use zlens_columns::{ScanError, Step};

use crate::patience::{Patience, on_main_thread};

/// What can be read a little at a time.
pub trait Steps {
    /// Does a little: hands out a batch, or reads one window.
    fn step(&mut self) -> Result<Step, ScanError>;

    /// The columns of its batches.
    fn columns(&self) -> SchemaRef;
}

impl Steps for zlens_columns::Reader {
    fn step(&mut self) -> Result<Step, ScanError> {
        self.step()
    }

    fn columns(&self) -> SchemaRef {
        self.schema()
    }
}

impl Steps for zlens_columns::smf::Reader {
    fn step(&mut self) -> Result<Step, ScanError> {
        self.step()
    }

    fn columns(&self) -> SchemaRef {
        self.schema()
    }
}

impl Steps for zlens_columns::smf::sections::Reader {
    fn step(&mut self) -> Result<Step, ScanError> {
        self.step()
    }

    fn columns(&self) -> SchemaRef {
        self.schema()
    }
}

/// A reader that ends when Ctrl-C is pressed.
///
/// Consumers pull from it on threads of their own, mostly without the interpreter. Signals are delivered to the main
/// thread alone, so only there is it worth asking, and nowhere else is the interpreter waited for.
pub struct Attentive<R> {
    reader: R,
    patience: Patience,
}

impl<R> Attentive<R> {
    pub fn new(reader: R) -> Self {
        Self {
            reader,
            patience: Patience::new(),
        }
    }

    fn interrupted(&mut self) -> bool {
        if !self.patience.is_over() || !on_main_thread() {
            return false;
        }
        let raised = Python::try_attach(|py| {
            let error = py.check_signals().err()?;
            // The consumer will raise an error of its own; asked again, the interpreter raises this one after it.
            if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                drop(
                    py.import("_thread")
                        .and_then(|module| module.call_method0("interrupt_main")),
                );
            }
            Some(())
        });
        raised.flatten().is_some()
    }
}

impl<R: Steps> Iterator for Attentive<R> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.interrupted() {
                return Some(Err(ArrowError::ExternalError("interrupted".into())));
            }
            match self.reader.step() {
                Ok(Step::Batch(_, batch)) => return Some(Ok(batch)),
                Ok(Step::Working) => {}
                Ok(Step::Done) => return None,
                Err(error) => return Some(Err(error.into())),
            }
        }
    }
}

impl<R: Steps> RecordBatchReader for Attentive<R> {
    fn schema(&self) -> SchemaRef {
        self.reader.columns()
    }
}
