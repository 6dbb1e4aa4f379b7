//! `SmfFile` and `SmfWriter`.

use std::ffi::OsString;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use zlens_columns::counters::Plan;
use zlens_columns::{DecodeProblem, DumpSet, NO_SYSTEM};
use zlens_frames::compressed::{self, Decompressed};
use zlens_frames::smf::{Identity, Index, Part, Triplet, WriteError, Writer, open};
use zlens_frames::{Error, FileSource, ReadAt, ebcdic};

use crate::compressed::{decompress_error, decompress_if_needed, scale_progress};
use crate::errors::{catalog_error, open_file, read_error};
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::rows::{self, ProblemRow};

/// A record type as people write it.
pub fn record_name((record, subtype): (u8, u16)) -> String {
    if subtype == 0 {
        format!("SMF {record}")
    } else {
        format!("SMF {record}.{subtype}")
    }
}

/// System, file, offset, bytes lost, record, kind, sentence of problems in dumps; `name` is that of a system.
pub fn problems<S>(
    found: Vec<DecodeProblem>,
    dumps: &DumpSet<S>,
    name: impl Fn(&S) -> &str,
) -> Vec<ProblemRow> {
    let row = |found: DecodeProblem| {
        let system = (found.system != NO_SYSTEM).then(|| name(&dumps.systems[found.system]));
        let file = &dumps.files[found.file].name;
        rows::problem(found, system, file, record_name)
    };
    found.into_iter().map(row).collect()
}

/// Dumps as decoders are given them.
pub fn dumps<S>(
    source: String,
    systems: &[Bound<'_, PyDict>],
    system: impl Fn(&Bound<'_, PyDict>) -> PyResult<S>,
    files: &[PyRef<'_, SmfFile>],
    leap_s: i32,
) -> PyResult<DumpSet<S>> {
    Ok(DumpSet {
        source,
        systems: systems.iter().map(system).collect::<PyResult<_>>()?,
        files: files.iter().map(|file| file.decoded()).collect(),
        leap_s,
    })
}

/// Positions of offset, length and number of a section; offset and number of the bytes in it.
type TripletOffsets = (u16, u16, u16, u16, u16);

fn identity((record, subtype, places): (u16, Option<u16>, Vec<TripletOffsets>)) -> Identity {
    let part = |(offset_at, length_at, count_at, at, length)| Part {
        triplet: Triplet {
            offset_at,
            length_at,
            count_at,
        },
        at,
        length,
    };
    Identity {
        record,
        subtype,
        parts: places.into_iter().map(part).collect(),
    }
}

/// Microseconds of hundredths of a second.
const fn us(hundredths: i64) -> i64 {
    hundredths * 10_000
}

pub fn plan(py: Python<'_>, json: &str) -> PyResult<Plan> {
    Plan::parse(json).map_err(|error| catalog_error(py, error.to_string()))
}

/// An SMF dump whose records were found.
#[pyclass(frozen, module = "zlens._native")]
pub struct SmfFile {
    path: OsString,
    source: Arc<dyn ReadAt>,
    file: Arc<FileSource>,
    index: Arc<Index>,
    /// Its decompressed data.
    unpacked: Option<Arc<Decompressed>>,
}

impl SmfFile {
    /// As decoders know it.
    fn decoded(&self) -> zlens_columns::File {
        zlens_columns::File {
            name: self.path.to_string_lossy().into_owned(),
            source: Arc::clone(&self.source),
            index: Arc::clone(&self.index),
        }
    }
}

#[pymethods]
impl SmfFile {
    /// Unpacks the file if it is packed, up to `unpack_limit` bytes, and goes over it once; records that the plan
    /// decodes are asked for their interval. `identities` are of each type and subtype: where it says whose a record is
    /// (where offset, length and number of the section are, where the bytes begin in it, and their number). `progress`
    /// gets the bytes done and the total.
    #[staticmethod]
    #[pyo3(signature = (path, plan_json, identities, progress = None, unpack_limit = None))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        plan_json: &str,
        identities: Vec<(u16, Option<u16>, Vec<TripletOffsets>)>,
        progress: Option<Py<PyAny>>,
        unpack_limit: Option<u64>,
    ) -> PyResult<Self> {
        let clocks = plan(py, plan_json)?.clocks();
        let identities: Vec<_> = identities.into_iter().map(identity).collect();
        let path = path.into_os_string();
        let file = Arc::new(open_file(py, &path)?);
        let mut progress = Progress::new(progress);
        let mut report = |done, total| progress.report(done, total);
        let unpacked = match py.detach(|| decompress_if_needed(&file, unpack_limit, &mut report)) {
            Ok(unpacked) => unpacked.map(Arc::new),
            Err(compressed::Error::Read { offset, source }) => {
                return Err(read_error(py, &path, Some(offset), &source));
            }
            Err(error @ compressed::Error::Write { .. }) => {
                return Err(decompress_error(py, &path, &error));
            }
            Err(compressed::Error::Stopped) => return Err(progress.stopped()),
        };
        let plain: Arc<dyn ReadAt> = match &unpacked {
            Some(unpacked) => Arc::clone(unpacked) as _,
            None => Arc::clone(&file) as _,
        };
        let size = file.size();
        let mut scaled = |done: u64, total: u64| match unpacked {
            None => report(done, total),
            Some(_) if done >= total => report(size, size),
            Some(_) => report(size / 2 + scale_progress(done, total, size / 2), size),
        };
        match py.detach(|| open(plain, &clocks, &identities, &mut scaled)) {
            Ok((source, index)) => Ok(Self {
                path,
                source,
                file,
                index: Arc::new(index),
                unpacked,
            }),
            Err(Error::Io { offset, source }) => Err(read_error(py, &path, Some(offset), &source)),
            Err(Error::Stopped) => Err(progress.stopped()),
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

    /// Its compression, and the number of decompressed bytes and members; None if not compressed.
    #[getter]
    fn compression(&self) -> Option<(&'static str, u64, u64)> {
        let unpacked = self.unpacked.as_ref()?;
        Some((unpacked.packing.name(), unpacked.size(), unpacked.members))
    }

    /// Blocks, those of them with an extended descriptor word, records in segments, their segments.
    #[getter]
    fn block_stats(&self) -> (u64, u64, u64, u64) {
        let forms = self.index.forms;
        (forms.blocks, forms.extended, forms.spanned, forms.segments)
    }

    /// The kinds of record, by stream (id) of each system, how many there are, their lengths, and the local times in
    /// their headers.
    fn inventory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        for info in &self.index.kinds {
            let row = PyDict::new(py);
            let system = self.index.system(info.kind.system);
            row.set_item("system", ebcdic::text(&system))?;
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

    /// Kind, offset, bytes lost, record and a sentence for all that could not be read unchanged.
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
    /// describe; TOD values.
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
            .map_err(|error| read_error(py, &self.path, None, &error))?;
        Ok(found
            .into_iter()
            .map(|(offset, bytes)| (offset, PyBytes::new(py, &bytes)))
            .collect())
    }

    /// Start of the records of a type and some subtypes, of one system (as in the records) or of all.
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
        .map_err(|error| read_error(py, &self.path, None, &error))?;
        Ok(found)
    }

    /// Writes those of these records that begin at `offsets`, which rise, into a dump of their own.
    fn extract(
        &self,
        py: Python<'_>,
        record: u8,
        subtypes: Vec<u16>,
        system: Option<[u8; 4]>,
        offsets: Vec<u64>,
        path: PathBuf,
    ) -> PyResult<()> {
        let wanted: Vec<_> = subtypes.into_iter().map(|one| (record, one)).collect();
        let mut writer = Writer::new(output::create(path)?);
        py.detach(|| {
            self.index.each(
                &self.source,
                &wanted,
                system,
                &mut |offset, bytes| match offsets.binary_search(&offset) {
                    Ok(_) => {
                        let mut bytes = bytes.to_vec();
                        if let Some(name) =
                            bytes.get_mut(14..).and_then(|rest| rest.first_chunk_mut())
                        {
                            *name = self.index.system(*name);
                        }
                        writer.write(&bytes).map_err(std::io::Error::other)
                    }
                    Err(_) => Ok(()),
                },
            )?;
            writer.finish().map(drop)
        })
        .map_err(PyOSError::new_err)
    }

    /// Result of the file on disk since it was opened.
    fn changed(&self) -> Option<String> {
        self.file.changed().map(|change| change.to_string())
    }

    fn __repr__(&self) -> String {
        format!("SmfFile({:?}, {} records)", self.path, self.index.records)
    }
}

/// System, subtype, beginning, end, number of records.
type IntervalRow = (Py<PyBytes>, u16, Option<u64>, u64, u64);

/// Writes an SMF dump: records, each after its descriptor word.
#[pyclass(module = "zlens._native")]
pub struct SmfWriter(Output<Writer<BufWriter<File>>>);

fn write_error(error: WriteError) -> PyErr {
    match error {
        WriteError::Io(error) => PyOSError::new_err(error),
        other => PyValueError::new_err(other.to_string()),
    }
}

#[pymethods]
impl SmfWriter {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        Ok(Self(Output::new(Writer::new(output::create(path)?))))
    }

    /// Writes records, each with four bytes of space for its descriptor word.
    fn write(&mut self, py: Python<'_>, records: Vec<Vec<u8>>) -> PyResult<()> {
        let writer = self.0.writer()?;
        py.detach(|| records.iter().try_for_each(|record| writer.write(record)))
            .map_err(write_error)
    }

    /// Closes the file.
    fn finish(&mut self, py: Python<'_>) -> PyResult<()> {
        let writer = self.0.finish()?;
        py.detach(|| writer.finish().map(drop))
            .map_err(PyOSError::new_err)
    }
}
