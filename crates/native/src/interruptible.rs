//! Readers and scans that end when Ctrl-C is pressed.

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use zlens_columns::{IncrementalScan, Reader, Step};

use crate::errors::scan_error;
use crate::signals::{PollTimer, on_main_thread};

/// A record batch reader that stops on Ctrl-C.
///
/// Consumers pull from it on threads of their own, mostly without the interpreter. Signals are delivered to the main
/// thread alone, so only there is it worth asking, and nowhere else is the interpreter waited for.
pub struct InterruptibleReader<S> {
    reader: Reader<S>,
    patience: PollTimer,
}

impl<S> InterruptibleReader<S> {
    pub fn new(reader: Reader<S>) -> Self {
        Self {
            reader,
            patience: PollTimer::new(),
        }
    }

    fn interrupted(&mut self) -> bool {
        if !self.patience.is_due() || !on_main_thread() {
            return false;
        }
        let raised = Python::try_attach(|py| {
            let error = py.check_signals().err()?;
            // The consumer raises its own error; when asked again, the interpreter raises this one after it.
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

impl<S: IncrementalScan> Iterator for InterruptibleReader<S> {
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

impl<S: IncrementalScan> RecordBatchReader for InterruptibleReader<S> {
    fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }
}

/// The first step of a scan that is `wanted`, or its end; signals are checked every so often.
pub fn step(
    py: Python<'_>,
    scan: &mut (impl IncrementalScan + Send),
    patience: &mut PollTimer,
    wanted: impl Fn(&Step) -> bool + Sync,
) -> PyResult<Step> {
    let ends = |step: &Step| matches!(step, Step::Done) || wanted(step);
    loop {
        let step = py.detach(|| {
            loop {
                match scan.step() {
                    Ok(step) if !ends(&step) && !patience.is_due() => {}
                    other => return other,
                }
            }
        });
        match step {
            Ok(step) if ends(&step) => return Ok(step),
            Ok(_) => py.check_signals()?,
            Err(error) => return Err(scan_error(py, error)),
        }
    }
}

/// Reads a scan to the end and returns nothing: for what is found out on the way.
pub fn drain(py: Python<'_>, scan: &mut (impl IncrementalScan + Send)) -> PyResult<()> {
    step(py, scan, &mut PollTimer::new(), |_| false).map(drop)
}
