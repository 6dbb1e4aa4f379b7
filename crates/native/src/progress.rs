//! Long work that reports progress to Python.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::signals::PollTimer;

/// Calls a Python function with how much of how much is done, every so often, and checks signals; stops the work when
/// either raises.
pub struct Progress {
    callback: Option<Py<PyAny>>,
    patience: PollTimer,
    raised: Option<PyErr>,
}

impl Progress {
    pub fn new(callback: Option<Py<PyAny>>) -> Self {
        Self {
            callback,
            patience: PollTimer::new(),
            raised: None,
        }
    }

    /// Whether to continue.
    pub fn report(&mut self, done: u64, total: u64) -> bool {
        if done < total && !self.patience.is_due() {
            return true;
        }
        let told = Python::attach(|py| {
            py.check_signals()?;
            self.callback.as_ref().map_or(Ok(()), |callback| {
                callback.call1(py, (done, total)).map(drop)
            })
        });
        self.raised = told.err();
        self.raised.is_none()
    }

    /// The exception that stopped the work.
    pub fn stopped(self) -> PyErr {
        self.raised
            .unwrap_or_else(|| PyKeyboardInterrupt::new_err(()))
    }
}
