//! `MonwriteFile` and `MonwriteWriter`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use zlens_frames::zvm::{
    Capture, Class, Group, Index, Sniff, WriteError, Writer, digests, index, index_from, sniff,
};
use zlens_frames::{BoundedSource, Error, FileSource, Problem, ReadAt};

use crate::errors::{open_file, read_error};
use crate::output::{self, Output};
use crate::progress::Progress;

/// A record type as people write it.
pub fn record_name((domain, record): (u8, u16)) -> String {
    format!("D{domain}R{record}")
}

/// Bytes of a file that identify it.
const HEAD: usize = 64 * 1024;

/// A file of z/VM monitor data whose records were found: MONWRITE output or a capture of the live stream.
#[pyclass(frozen, module = "zlens._native")]
pub struct MonwriteFile {
    path: OsString,
    source: Arc<FileSource>,
    /// The bytes that the index is of.
    pub bytes: Arc<dyn ReadAt>,
    pub index: Arc<Index>,
    /// Position of the first control record.
    begin: u64,
    /// The capture that these bytes are, if they are one.
    pub capture: Option<Arc<Capture>>,
}

impl MonwriteFile {
    /// Its name as it was given; on disk names are bytes and not always text.
    pub fn path(&self) -> &OsStr {
        &self.path
    }

    /// Offset in the file of a byte that the index speaks of.
    fn original(&self, offset: u64) -> u64 {
        self.capture
            .as_ref()
            .map_or(offset, |capture| capture.original(offset))
    }
}

/// Finds the records of a file, of a capture in the form that MONWRITE would have given it.
#[allow(clippy::type_complexity, reason = "what a file is made of")]
fn records_of(
    source: &Arc<FileSource>,
    report: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<(Arc<dyn ReadAt>, Index, Option<Arc<Capture>>), Error> {
    let mut head = vec![0; HEAD];
    let got = source.read_at(0, &mut head);
    let got = got.map_err(|source| Error::Io { offset: 0, source })?;
    if sniff(&head[..got], source.size()) != Sniff::Capture {
        let index = index(&**source, report)?;
        return Ok((Arc::clone(source) as _, index, None));
    }
    // Walking over the elements takes next to no time, so that the bytes are counted by the index.
    let capture = Capture::walk(Arc::clone(source) as _, &mut |_, size| report(0, size))?;
    let size = source.size();
    let index = capture.index(&mut |done, total| {
        let done = if done < total {
            capture.original(done).min(size.saturating_sub(1))
        } else {
            size
        };
        report(done, size)
    })?;
    let capture = Arc::new(capture);
    Ok((Arc::clone(&capture) as _, index, Some(capture)))
}

#[pymethods]
impl MonwriteFile {
    /// Indexes the file in one pass. `progress` gets the bytes done and the total.
    #[staticmethod]
    #[pyo3(signature = (path, progress = None))]
    fn open(py: Python<'_>, path: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<Self> {
        let path = path.into_os_string();
        let source = Arc::new(open_file(py, &path)?);
        let mut progress = Progress::new(progress);
        let mut report = |done, total| progress.report(done, total);
        match py.detach(|| records_of(&source, &mut report)) {
            Ok((bytes, index, capture)) => Ok(Self {
                path,
                source,
                bytes,
                index: Arc::new(index),
                begin: 0,
                capture,
            }),
            Err(Error::Io { offset, source }) => Err(read_error(py, &path, Some(offset), &source)),
            Err(Error::Stopped) => Err(progress.stopped()),
        }
    }

    #[getter(path)]
    fn path_text(&self) -> OsString {
        self.path.clone()
    }

    #[getter]
    fn size(&self) -> u64 {
        self.source.size()
    }

    /// Whether it is a capture of the live stream.
    #[getter]
    fn capture(&self) -> bool {
        self.capture.is_some()
    }

    #[getter]
    fn first_tod(&self) -> Option<u64> {
        self.index.first_tod
    }

    #[getter]
    fn last_tod(&self) -> Option<u64> {
        self.index.last_tod
    }

    /// Whether the end-of-data record is at the end.
    #[getter]
    fn complete(&self) -> bool {
        self.index.complete
    }

    /// The types of record, the number of records of each, and their lengths.
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
            row.set_item("first_offset", self.original(kind.first_offset))?;
            rows.append(row)?;
        }
        Ok(rows)
    }

    /// Kind, offset, bytes lost, record and a sentence for all that could not be read unchanged.
    fn problems(&self) -> Vec<(&'static str, u64, u64, Option<String>, String)> {
        let row = |row: Problem, offset: u64| {
            let record = row.record.map(record_name);
            (row.kind.as_str(), offset, row.bytes, record, row.detail)
        };
        let own = self
            .capture
            .iter()
            .flat_map(|capture| capture.problems().rows());
        let own = own.map(|problem| (problem.offset, problem));
        let found = self.index.problems.rows().into_iter();
        let found = found.map(|problem| (self.original(problem.offset), problem));
        // The capture's own problems report that it ends without an end-of-data record.
        let told = |problem: &Problem| self.capture.is_none() || problem.offset < self.index.size;
        own.chain(found.filter(|(_, problem)| told(problem)))
            .map(|(offset, problem)| row(problem, offset))
            .collect()
    }

    /// TOD value, sample records since the one before, offset of every interval end.
    fn interval_ends(&self) -> Vec<(u64, u64, u64)> {
        self.index
            .interval_ends
            .iter()
            .map(|end| (end.tod, end.records, self.original(end.offset)))
            .collect()
    }

    /// TOD value of every interval end, and where what was written together with it ends: nothing that belongs
    /// together is cut there. The file may not be that long yet.
    fn split_points(&self) -> Vec<(u64, u64)> {
        let ends = self.index.interval_ends.iter().zip(&self.index.wholes);
        ends.map(|(end, &whole)| {
            let cut = match &self.capture {
                Some(capture) => capture.original_end(whole),
                None => whole,
            };
            (end.tod, cut)
        })
        .collect()
    }

    /// For every interval end, digests of the sample and of the event records before it, without a sign:
    /// goes over the file once more.
    fn digests(&self, py: Python<'_>) -> PyResult<Vec<(u64, u64, u64)>> {
        let sure = self.capture.is_some();
        match py.detach(|| digests(&*self.bytes, self.begin, sure, &mut |_, _| true)) {
            Ok(digests) => Ok(digests
                .into_iter()
                .map(|digest| (digest.samples >> 1, digest.events, digest.event_sum >> 1))
                .collect()),
            Err(Error::Io { offset, source }) => {
                Err(read_error(py, &self.path, Some(offset), &source))
            }
            Err(Error::Stopped) => Err(PyValueError::new_err("stopped")),
        }
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
                    found.extend(self.index.first_records(&*self.bytes, id, limit)?);
                }
            }
            found.sort_by_key(|(offset, _)| *offset);
            found.truncate(limit);
            Ok(found)
        };
        let found: Vec<(u64, Vec<u8>)> = py
            .detach(read)
            .map_err(|error: std::io::Error| read_error(py, &self.path, None, &error))?;
        Ok(found
            .into_iter()
            .map(|(offset, bytes)| (self.original(offset), PyBytes::new(py, &bytes)))
            .collect())
    }

    /// Position of system configuration records: the control record before them, and the record itself.
    fn configurations(&self) -> Vec<(u64, u64)> {
        self.index
            .configurations
            .iter()
            .map(|&(control, record)| (self.original(control), self.original(record)))
            .collect()
    }

    /// The bytes from a control record at `begin` up to `end`, as a file of its own; not of a capture.
    fn slice(&self, py: Python<'_>, begin: u64, end: u64) -> PyResult<Self> {
        if self.capture.is_some() {
            return Err(PyValueError::new_err("a capture has no parts"));
        }
        let bytes = Arc::new(BoundedSource {
            source: Arc::clone(&self.source) as _,
            end,
        });
        match py.detach(|| index_from(&*bytes, begin, &mut |_, _| true)) {
            Ok(index) => Ok(Self {
                path: self.path.clone(),
                source: Arc::clone(&self.source),
                bytes,
                index: Arc::new(index),
                begin,
                capture: None,
            }),
            Err(Error::Io { offset, source }) => {
                Err(read_error(py, &self.path, Some(offset), &source))
            }
            Err(Error::Stopped) => Err(PyValueError::new_err("stopped")),
        }
    }

    /// Writes the bytes that are indexed to a file: those of a capture in the form that MONWRITE writes.
    fn write_plain(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| {
            let mut file = output::create(path)?;
            let mut buffer = vec![0; HEAD];
            let mut at = 0;
            loop {
                let got = self.bytes.read_at(at, &mut buffer)?;
                if got == 0 {
                    return file.flush();
                }
                file.write_all(&buffer[..got])?;
                at += got as u64;
            }
        })
        .map_err(PyOSError::new_err)
    }

    /// Result of the file on disk since it was opened.
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
pub struct MonwriteWriter(Output<Writer<BufWriter<File>>>);

fn write_error(error: WriteError) -> PyErr {
    match error {
        WriteError::Io(error) => PyOSError::new_err(error),
        other => PyValueError::new_err(other.to_string()),
    }
}

#[pymethods]
impl MonwriteWriter {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        Ok(Self(Output::new(Writer::new(output::create(path)?))))
    }

    /// Writes one control record with an entry for each group, and the frames of all groups.
    fn write(&mut self, py: Python<'_>, groups: Vec<GroupArgs>) -> PyResult<()> {
        let writer = self.0.writer()?;
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
        let writer = self.0.finish()?;
        py.detach(|| writer.finish().map(drop)).map_err(write_error)
    }
}
