//! The product's own errors, raised from Rust.

use std::ffi::OsStr;
use std::io;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use zlens_columns::ScanError;
use zlens_frames::FileSource;

/// File, reason and fix of an input that cannot be read.
pub struct InputError<'m> {
    pub message: String,
    pub file: &'m OsStr,
    pub offset: Option<u64>,
    pub expected: Option<&'m str>,
    pub cure: Option<&'m str>,
}

impl InputError<'_> {
    /// The exception `zlens.errors.InputError`.
    pub fn raise(&self, py: Python<'_>) -> PyErr {
        self.make(py).unwrap_or_else(|error| error)
    }

    fn make(&self, py: Python<'_>) -> PyResult<PyErr> {
        let named = PyDict::new(py);
        named.set_item("file", self.file)?;
        named.set_item("offset", self.offset)?;
        named.set_item("expected", self.expected)?;
        named.set_item("cure", self.cure)?;
        // Imported when it is raised: the package imports this module.
        let class = py.import("zlens.errors")?.getattr("InputError")?;
        Ok(PyErr::from_value(
            class.call((&self.message,), Some(&named))?,
        ))
    }
}

/// The error that a scan ended with.
pub fn scan_error(py: Python<'_>, error: ScanError) -> PyErr {
    match error {
        ScanError::Io {
            file,
            offset,
            source,
        } => read_error(py, file.as_ref(), Some(offset), &source),
        ScanError::Arrow(error) => pyo3::exceptions::PyRuntimeError::new_err(error.to_string()),
    }
}

/// The error for a file that the operating system does not let read.
pub fn read_error(py: Python<'_>, file: &OsStr, offset: Option<u64>, error: &io::Error) -> PyErr {
    let (message, cure) = match error.kind() {
        io::ErrorKind::NotFound => ("no such file", Some("check the name")),
        io::ErrorKind::PermissionDenied => {
            ("permission denied", Some("request access from its owner"))
        }
        io::ErrorKind::InvalidInput => ("not a regular file", Some("copy it to a file first")),
        _ => ("cannot be read", None),
    };
    let message = if cure.is_some() {
        message.to_owned()
    } else {
        format!("{message}: {error}")
    };
    InputError {
        message,
        file,
        offset,
        expected: Some("a readable file"),
        cure,
    }
    .raise(py)
}

/// The file of that name.
pub fn open_file(py: Python<'_>, file: &OsStr) -> PyResult<FileSource> {
    py.detach(|| FileSource::open(file))
        .map_err(|error| read_error(py, file, None, &error))
}

/// An exception of `zlens.errors` that is only a sentence.
fn plain_error(py: Python<'_>, class: &str, message: String) -> PyErr {
    let class = py
        .import("zlens.errors")
        .and_then(|module| module.getattr(class));
    match class.and_then(|class| class.call1((message,))) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// The exception `CatalogError` for a plan that contradicts itself.
pub fn catalog_error(py: Python<'_>, message: String) -> PyErr {
    plain_error(py, "CatalogError", message)
}

/// The exception `QueryError` for a table or a column that there is not.
pub fn query_error(py: Python<'_>, message: String) -> PyErr {
    plain_error(py, "QueryError", message)
}
