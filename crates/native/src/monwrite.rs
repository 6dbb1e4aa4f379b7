//! `MonwriteFile` and `MonwriteWriter`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use zlens_frames::{Class, Error, FileSource, Group, Index, Writer, index};

use crate::errors::unreadable;
use crate::patience::Patience;

/// A record type as people write it.
pub fn record_name((domain, record): (u8, u16)) -> String {
    format!("D{domain}R{record}")
}

/// A z/VM MONWRITE file whose records were found.
#[pyclass(frozen, module = "zlens._native")]
pub struct MonwriteFile {
    path: OsString,
    pub source: Arc<FileSource>,
    pub index: Arc<Index>,
}

impl MonwriteFile {
    /// Its name as it was given; on disk names are bytes and not always text.
    pub fn path(&self) -> &OsStr {
        &self.path
    }
}

#[pymethods]
impl MonwriteFile {
    /// Goes over the file once. `progress` is told how many bytes of how many are done.
    #[staticmethod]
    #[pyo3(signature = (path, progress = None))]
    fn open(py: Python<'_>, path: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<Self> {
        let path = path.into_os_string();
        let opened = py.detach(|| FileSource::open(&path));
        let source = opened.map_err(|error| unreadable(py, &path, None, &error))?;
        let mut raised = None;
        let mut patience = Patience::new();
        let mut report = |done: u64, total: u64| {
            if done < total && !patience.is_over() {
                return true;
            }
            let told = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map_or(Ok(()), |progress| {
                    progress.call1(py, (done, total)).map(drop)
                })
            });
            raised = told.err();
            raised.is_none()
        };
        match py.detach(|| index(&source, &mut report)) {
            Ok(index) => Ok(Self {
                path,
                source: Arc::new(source),
                index: Arc::new(index),
            }),
            Err(Error::Io { offset, source }) => Err(unreadable(py, &path, Some(offset), &source)),
            Err(Error::Stopped) => {
                Err(raised.unwrap_or_else(|| pyo3::exceptions::PyKeyboardInterrupt::new_err(())))
            }
        }
    }

    #[getter(path)]
    fn path_text(&self) -> OsString {
        self.path.clone()
    }

    #[getter]
    fn size(&self) -> u64 {
        self.index.size
    }

    #[getter]
    fn first_tod(&self) -> Option<u64> {
        self.index.first_tod
    }

    #[getter]
    fn last_tod(&self) -> Option<u64> {
        self.index.last_tod
    }

    /// Whether the end-of-data record stands at the end.
    #[getter]
    fn complete(&self) -> bool {
        self.index.complete
    }

    /// The types of record, how many there are and of which lengths.
    fn inventory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        for kind in &self.index.types {
            let lengths = PyDict::new(py);
            for (length, count) in &kind.lengths {
                lengths.set_item(length, count)?;
            }
            let row = PyDict::new(py);
            row.set_item("domain", kind.domain)?;
            row.set_item("record", kind.record)?;
            row.set_item("sample", kind.class == Class::Sample)?;
            row.set_item("count", kind.count)?;
            row.set_item("bytes", kind.bytes)?;
            // No record of the type has a time that can be right.
            row.set_item("first_tod", Some(kind.first_tod).filter(|tod| *tod != 0))?;
            row.set_item("last_tod", Some(kind.last_tod).filter(|tod| *tod != 0))?;
            row.set_item("min_length", kind.lengths.keys().next())?;
            row.set_item("max_length", kind.lengths.keys().next_back())?;
            row.set_item("lengths", lengths)?;
            row.set_item("first_offset", kind.first_offset)?;
            rows.append(row)?;
        }
        Ok(rows)
    }

    /// Kind, offset, bytes lost, record and a sentence for all that could not be read as it stands.
    fn problems(&self) -> Vec<(&'static str, u64, u64, Option<String>, String)> {
        let rows = self.index.problems.rows().into_iter();
        rows.map(|row| {
            (
                row.kind.as_str(),
                row.offset,
                row.bytes,
                row.record.map(record_name),
                row.detail,
            )
        })
        .collect()
    }

    /// TOD value, sample records since the one before, offset of every interval end.
    fn interval_ends(&self) -> Vec<(u64, u64, u64)> {
        self.index
            .interval_ends
            .iter()
            .map(|end| (end.tod, end.records, end.offset))
            .collect()
    }

    /// Offset and bytes of the first records of a type, samples and events in the order of the file.
    #[pyo3(signature = (domain, record, limit = 1))]
    fn records<'py>(
        &self,
        py: Python<'py>,
        domain: u8,
        record: u16,
        limit: usize,
    ) -> PyResult<Vec<(u64, Bound<'py, PyBytes>)>> {
        let read = || {
            let mut found = Vec::new();
            for class in [Class::Sample, Class::Event] {
                if let Some(id) = self.index.type_id(domain, record, class) {
                    found.extend(self.index.first_records(&*self.source, id, limit)?);
                }
            }
            found.sort_by_key(|(offset, _)| *offset);
            found.truncate(limit);
            Ok(found)
        };
        let found: Vec<(u64, Vec<u8>)> = py
            .detach(read)
            .map_err(|error: std::io::Error| unreadable(py, &self.path, None, &error))?;
        Ok(found
            .into_iter()
            .map(|(offset, bytes)| (offset, PyBytes::new(py, &bytes)))
            .collect())
    }

    /// What became of the file on disk since it was opened.
    fn changed(&self) -> Option<String> {
        self.source.changed().map(|change| change.to_string())
    }

    fn __repr__(&self) -> String {
        format!(
            "MonwriteFile({:?}, {} records)",
            self.path,
            self.index.records()
        )
    }
}

/// One group of records: sample or event, the two domain masks, address of the first byte, the records.
type GroupArgs = (bool, u8, u8, u32, Vec<Vec<u8>>);

/// Writes a MONWRITE file: control records, 4 KB frames, the end-of-data record.
#[pyclass(module = "zlens._native")]
pub struct MonwriteWriter {
    /// None once it is finished.
    writer: Option<Writer<BufWriter<File>>>,
}

impl MonwriteWriter {
    fn finished() -> PyErr {
        PyValueError::new_err("the file is finished")
    }
}

fn write_error(error: zlens_frames::WriteError) -> PyErr {
    match error {
        zlens_frames::WriteError::Io(error) => PyOSError::new_err(error),
        other => PyValueError::new_err(other.to_string()),
    }
}

#[pymethods]
impl MonwriteWriter {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let file = File::create(path)?;
        Ok(Self {
            writer: Some(Writer::new(BufWriter::with_capacity(1 << 20, file))),
        })
    }

    /// Writes one control record with an entry for each group, and the frames of all groups.
    fn write(&mut self, py: Python<'_>, groups: Vec<GroupArgs>) -> PyResult<()> {
        let writer = self.writer.as_mut().ok_or_else(Self::finished)?;
        let groups: Vec<Group<'_, Vec<u8>>> = groups
            .iter()
            .map(|(sample, mask1, mask2, start, records)| Group {
                class: if *sample { Class::Sample } else { Class::Event },
                mask1: *mask1,
                mask2: *mask2,
                start: *start,
                records,
            })
            .collect();
        py.detach(|| writer.write(&groups)).map_err(write_error)
    }

    /// Writes the end-of-data record and closes the file.
    fn finish(&mut self, py: Python<'_>) -> PyResult<()> {
        let writer = self.writer.take().ok_or_else(Self::finished)?;
        py.detach(|| writer.finish().map(drop)).map_err(write_error)
    }
}
