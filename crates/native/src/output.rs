//! Files that are written.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A new file of that name.
pub fn create(path: PathBuf) -> io::Result<BufWriter<File>> {
    Ok(BufWriter::with_capacity(1 << 20, File::create(path)?))
}

/// A writer that accepts data until it is finished.
pub struct Output<W>(Option<W>);

impl<W> Output<W> {
    pub fn new(writer: W) -> Self {
        Self(Some(writer))
    }

    pub fn writer(&mut self) -> PyResult<&mut W> {
        self.0.as_mut().ok_or_else(finished)
    }

    pub fn finish(&mut self) -> PyResult<W> {
        self.0.take().ok_or_else(finished)
    }
}

fn finished() -> PyErr {
    PyValueError::new_err("the file is finished")
}
