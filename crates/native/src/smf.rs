//! `SmfFile`, `SmfDecoder`, what it hands out, and `SmfWriter`.

use std::ffi::OsString;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList};
use zlens_columns::Found;
use zlens_columns::smf::{Change, Decoder, NO_SYSTEM, Plan, Selection, System};
use zlens_frames::packed::{self, Unpacked};
use zlens_frames::smf::{Index, WriteError, Writer, open};
use zlens_frames::{Error, FileSource, ReadAt, ebcdic};

use crate::attentive::{Attentive, exhaust};
use crate::capsule;
use crate::errors::{unreadable, wrong_plan, wrong_question};
use crate::patience::Patience;
use crate::smf_packed::{no_room, share, unpacked};

/// A record type as people write it.
pub fn record_name((record, subtype): (u8, u16)) -> String {
    if subtype == 0 {
        format!("SMF {record}")
    } else {
        format!("SMF {record}.{subtype}")
    }
}

/// Microseconds of hundredths of a second.
const fn us(hundredths: i64) -> i64 {
    hundredths * 10_000
}

fn plan(py: Python<'_>, json: &str) -> PyResult<Plan> {
    Plan::parse(json).map_err(|error| wrong_plan(py, error.to_string()))
}

/// An SMF dump whose records were found.
#[pyclass(frozen, module = "zlens._native")]
pub struct SmfFile {
    path: OsString,
    source: Arc<dyn ReadAt>,
    file: Arc<FileSource>,
    index: Arc<Index>,
    /// What it was unpacked to.
    unpacked: Option<Arc<Unpacked>>,
}

impl SmfFile {
    /// As decoders know it.
    pub fn decoded(&self) -> zlens_columns::smf::File {
        zlens_columns::smf::File {
            name: self.path.to_string_lossy().into_owned(),
            source: Arc::clone(&self.source),
            index: Arc::clone(&self.index),
        }
    }
}

#[pymethods]
impl SmfFile {
    /// Unpacks the file if it is packed, up to `unpack_limit` bytes, and goes over it once; records that the plan
    /// decodes are asked for their interval. `progress` is told how many bytes of how many are done.
    #[staticmethod]
    #[pyo3(signature = (path, plan_json, progress = None, unpack_limit = None))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        plan_json: &str,
        progress: Option<Py<PyAny>>,
        unpack_limit: Option<u64>,
    ) -> PyResult<Self> {
        let clocks = plan(py, plan_json)?.clocks();
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
        let file = Arc::new(source);
        let unpacked = match py.detach(|| unpacked(&file, unpack_limit, &mut report)) {
            Ok(unpacked) => unpacked.map(Arc::new),
            Err(packed::Error::Read { offset, source }) => {
                return Err(unreadable(py, &path, Some(offset), &source));
            }
            Err(error @ packed::Error::Write { .. }) => return Err(no_room(py, &path, &error)),
            Err(packed::Error::Stopped) => {
                return Err(
                    raised.unwrap_or_else(|| pyo3::exceptions::PyKeyboardInterrupt::new_err(()))
                );
            }
        };
        let plain: Arc<dyn ReadAt> = match &unpacked {
            Some(unpacked) => Arc::clone(unpacked) as _,
            None => Arc::clone(&file) as _,
        };
        let size = file.size();
        let mut scaled = |done: u64, total: u64| match unpacked {
            None => report(done, total),
            Some(_) if done >= total => report(size, size),
            Some(_) => report(size / 2 + share(done, total, size / 2), size),
        };
        match py.detach(|| open(plain, &clocks, &mut scaled)) {
            Ok((source, index)) => Ok(Self {
                path,
                source,
                file,
                index: Arc::new(index),
                unpacked,
            }),
            Err(Error::Io { offset, source }) => Err(unreadable(py, &path, Some(offset), &source)),
            Err(Error::Stopped) => {
                Err(raised.unwrap_or_else(|| pyo3::exceptions::PyKeyboardInterrupt::new_err(())))
            }
        }
    }

    #[getter]
    fn path(&self) -> OsString {
        self.path.clone()
    }

    #[getter]
    fn size(&self) -> u64 {
        self.file.size()
    }

    /// How it is packed, how many bytes and members were unpacked; None where it is not.
    #[getter]
    fn packing(&self) -> Option<(&'static str, u64, u64)> {
        let unpacked = self.unpacked.as_ref()?;
        Some((unpacked.packing.name(), unpacked.size(), unpacked.members))
    }

    /// Blocks, those of them with an extended descriptor word, records in segments, their segments.
    #[getter]
    fn forms(&self) -> (u64, u64, u64, u64) {
        let forms = self.index.forms;
        (forms.blocks, forms.extended, forms.spanned, forms.segments)
    }

    /// The kinds of record, how many there are, their lengths, and the local times in their headers.
    fn inventory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        for info in &self.index.kinds {
            let row = PyDict::new(py);
            row.set_item("system", ebcdic::text(&info.kind.system))?;
            row.set_item("id", PyBytes::new(py, &info.kind.system))?;
            row.set_item("record", info.kind.record)?;
            row.set_item("subtype", info.kind.subtype)?;
            row.set_item("count", info.count)?;
            row.set_item("bytes", info.bytes)?;
            row.set_item("first_local", us(info.first_local))?;
            row.set_item("last_local", us(info.last_local))?;
            row.set_item("min_length", info.min_length)?;
            row.set_item("max_length", info.max_length)?;
            row.set_item("first_offset", info.first_offset)?;
            row.set_item("duplicates", info.duplicates)?;
            row.set_item("out_of_order", info.out_of_order)?;
            row.set_item("step", info.step.map(us))?;
            row.set_item("gaps", info.gaps)?;
            rows.append(row)?;
        }
        Ok(rows)
    }

    /// Kind, offset, bytes lost, record and a sentence for all that could not be read as it stands.
    fn problems(&self) -> Vec<(&'static str, u64, u64, Option<String>, String)> {
        let unpacking = self.unpacked.iter().flat_map(|unpacked| &unpacked.problems);
        let rows = unpacking.cloned().chain(self.index.problems.rows());
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

    /// System (as in the records), subtype, beginning, end, number of records of each interval that decoded records
    /// tell of; TOD values.
    fn intervals(&self, py: Python<'_>) -> Vec<IntervalRow> {
        let seen = self.index.intervals.iter();
        seen.map(|one| {
            let system = PyBytes::new(py, &one.system).unbind();
            (system, one.subtype, one.start, one.end, one.records)
        })
        .collect()
    }

    /// Offset and bytes of the first records of a type and subtype, of one system (as in the records) or of all.
    #[pyo3(signature = (record, subtype, system = None, limit = 1))]
    fn records<'py>(
        &self,
        py: Python<'py>,
        record: u8,
        subtype: u16,
        system: Option<[u8; 4]>,
        limit: usize,
    ) -> PyResult<Vec<(u64, Bound<'py, PyBytes>)>> {
        let read = || {
            self.index
                .first_records(&self.source, (record, subtype), system, limit)
        };
        let found = py
            .detach(read)
            .map_err(|error| unreadable(py, &self.path, None, &error))?;
        Ok(found
            .into_iter()
            .map(|(offset, bytes)| (offset, PyBytes::new(py, &bytes)))
            .collect())
    }

    /// Where the records of a type and some subtypes begin, of one system (as in the records) or of all.
    #[pyo3(signature = (record, subtypes, system = None))]
    fn offsets(
        &self,
        py: Python<'_>,
        record: u8,
        subtypes: Vec<u16>,
        system: Option<[u8; 4]>,
    ) -> PyResult<Vec<u64>> {
        let wanted: Vec<_> = subtypes.into_iter().map(|one| (record, one)).collect();
        let mut found = Vec::new();
        py.detach(|| {
            self.index
                .each(&self.source, &wanted, system, &mut |offset, _| {
                    found.push(offset);
                    Ok(())
                })
        })
        .map_err(|error| unreadable(py, &self.path, None, &error))?;
        Ok(found)
    }

    /// Writes those of these records that begin at `offsets`, which rise, into a dump of their own.
    fn cut(
        &self,
        py: Python<'_>,
        record: u8,
        subtypes: Vec<u16>,
        system: Option<[u8; 4]>,
        offsets: Vec<u64>,
        path: PathBuf,
    ) -> PyResult<()> {
        let wanted: Vec<_> = subtypes.into_iter().map(|one| (record, one)).collect();
        let file = File::create(path)?;
        let mut writer = Writer::new(BufWriter::with_capacity(1 << 20, file));
        py.detach(|| {
            self.index.each(
                &self.source,
                &wanted,
                system,
                &mut |offset, bytes| match offsets.binary_search(&offset) {
                    Ok(_) => writer.write(bytes).map_err(std::io::Error::other),
                    Err(_) => Ok(()),
                },
            )?;
            writer.finish().map(drop)
        })
        .map_err(PyOSError::new_err)
    }

    /// What became of the file on disk since it was opened.
    fn changed(&self) -> Option<String> {
        self.file.changed().map(|change| change.to_string())
    }

    fn __repr__(&self) -> String {
        format!("SmfFile({:?}, {} records)", self.path, self.index.records)
    }
}

/// The table of counters of some dumps, decoded by a compiled plan.
#[pyclass(frozen, module = "zlens._native")]
pub struct SmfDecoder {
    inner: Arc<Decoder>,
}

/// One system as `zlens.readers` describes it.
fn system(given: &Bound<'_, PyDict>) -> PyResult<System> {
    let get = |name: &str| given.as_any().get_item(name);
    let ends: Vec<u64> = get("interval_ends")?.extract()?;
    let covered: Vec<bool> = get("covered")?.extract()?;
    if !ends.is_sorted() || ends.len() != covered.len() {
        return Err(PyValueError::new_err(
            "interval_ends must rise, with one value of covered for each",
        ));
    }
    Ok(System {
        name: get("name")?.extract()?,
        id: get("id")?.extract()?,
        interval_ends: ends.into(),
        covered: covered.into(),
        nominal_s: get("nominal_s")?.extract()?,
    })
}

/// System, subtype, beginning, end, number of records.
type IntervalRow = (Py<PyBytes>, u16, Option<u64>, u64, u64);
/// System, file, offset, bytes lost, record, kind, sentence.
pub type ProblemRow = (
    Option<String>,
    String,
    u64,
    u64,
    String,
    &'static str,
    String,
);
/// System, file, offset, processor, column, TOD values since and when, of the interval's end, values before and after.
type ChangeRow = (
    String,
    String,
    u64,
    u64,
    String,
    u64,
    u64,
    Option<u64>,
    u64,
    u64,
);

#[pymethods]
impl SmfDecoder {
    /// `systems` are dictionaries of name, id (as in the records), interval_ends (TOD values that rise), covered
    /// (whether the first subtype tells of each) and nominal_s; `files` are in the order of time.
    #[new]
    #[pyo3(signature = (source, systems, files, plan_json, leap_seconds = 0))]
    fn new(
        py: Python<'_>,
        source: String,
        systems: Vec<Bound<'_, PyDict>>,
        files: Vec<PyRef<'_, SmfFile>>,
        plan_json: &str,
        leap_seconds: i32,
    ) -> PyResult<Self> {
        let plan = plan(py, plan_json)?;
        let systems = systems.iter().map(system).collect::<PyResult<Vec<_>>>()?;
        let files = files.iter().map(|file| file.decoded()).collect();
        let decoder = Decoder::new(source, systems, files, plan, leap_seconds);
        Ok(Self {
            inner: Arc::new(decoder),
        })
    }

    /// Names and types of the columns of the table.
    fn schema(&self) -> Vec<(String, &'static str)> {
        self.inner.schema()
    }

    /// The named columns of the table, in that order; all columns if none are named.
    #[pyo3(signature = (columns = None))]
    fn stream(&self, py: Python<'_>, columns: Option<Vec<String>>) -> PyResult<SmfStream> {
        Ok(SmfStream {
            selection: self.select(py, columns)?,
            decoder: Arc::clone(&self.inner),
        })
    }

    /// Decodes the named columns, or all of them, and hands out none: for what is found out on the way. `check` holds
    /// subtypes that tell of the same against each other.
    #[pyo3(signature = (columns = None, check = false))]
    fn drain(&self, py: Python<'_>, columns: Option<Vec<String>>, check: bool) -> PyResult<()> {
        let selection = self.select(py, columns)?;
        let mut scan = self.inner.scan(&selection, check);
        exhaust(py, &mut scan)
    }

    /// System, file, offset, bytes lost, record, kind, sentence of each problem met by scans so far.
    fn problems(&self) -> Vec<ProblemRow> {
        let row = |found: Found| {
            let system = (found.system != NO_SYSTEM).then_some(found.system);
            let problem = found.problem;
            (
                system.map(|number| self.inner.systems()[number].name.clone()),
                self.inner.files()[found.file].name.clone(),
                problem.offset,
                problem.bytes,
                problem.record.map(record_name).unwrap_or_default(),
                problem.kind.as_str(),
                problem.detail,
            )
        };
        self.inner.problems().into_iter().map(row).collect()
    }

    /// System, TOD value, table, processor, evidence of each processor whose counters began anew.
    fn resets(&self) -> Vec<(String, u64, String, String, String)> {
        let row = |reset: zlens_columns::Reset| {
            (
                self.inner.systems()[reset.system].name.clone(),
                reset.tod,
                reset.table,
                reset.subject,
                reset.evidence,
            )
        };
        self.inner.resets().into_iter().map(row).collect()
    }

    /// Watched columns that changed, as met by scans so far.
    fn changes(&self) -> Vec<ChangeRow> {
        let row = |change: Change| {
            (
                self.inner.systems()[change.system].name.clone(),
                self.inner.files()[change.file].name.clone(),
                change.offset,
                change.processor,
                change.column,
                change.since,
                change.tod,
                change.interval_end,
                change.before,
                change.after,
            )
        };
        self.inner.changes().into_iter().map(row).collect()
    }
}

impl SmfDecoder {
    fn select(&self, py: Python<'_>, columns: Option<Vec<String>>) -> PyResult<Selection> {
        self.inner
            .select(columns.as_deref())
            .map_err(|error| wrong_question(py, error.to_string()))
    }
}

/// The table of counters: every `__arrow_c_stream__` is a fresh scan of the files.
#[pyclass(frozen, module = "zlens._native")]
pub struct SmfStream {
    decoder: Arc<Decoder>,
    selection: Selection,
}

#[pymethods]
impl SmfStream {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema(py, &self.selection.schema())
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol lets a producer answer with its own schema, which is all a raw table has.
        drop(requested_schema);
        let reader = Attentive::new(self.decoder.read(&self.selection));
        capsule::stream(py, Box::new(reader))
    }
}

/// Writes an SMF dump: records, each behind its descriptor word.
#[pyclass(module = "zlens._native")]
pub struct SmfWriter {
    /// None once it is finished.
    writer: Option<Writer<BufWriter<File>>>,
}

fn write_error(error: WriteError) -> PyErr {
    match error {
        WriteError::Io(error) => PyOSError::new_err(error),
        other => PyValueError::new_err(other.to_string()),
    }
}

fn finished() -> PyErr {
    PyValueError::new_err("the file is finished")
}

#[pymethods]
impl SmfWriter {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let file = File::create(path)?;
        Ok(Self {
            writer: Some(Writer::new(BufWriter::with_capacity(1 << 20, file))),
        })
    }

    /// Writes records, each with four bytes of room for its descriptor word.
    fn write(&mut self, py: Python<'_>, records: Vec<Vec<u8>>) -> PyResult<()> {
        let writer = self.writer.as_mut().ok_or_else(finished)?;
        py.detach(|| records.iter().try_for_each(|record| writer.write(record)))
            .map_err(write_error)
    }

    /// Closes the file.
    fn finish(&mut self, py: Python<'_>) -> PyResult<()> {
        let writer = self.writer.take().ok_or_else(finished)?;
        py.detach(|| writer.finish().map(drop))
            .map_err(PyOSError::new_err)
    }
}
