//! `Decoder` and what it hands out.

use std::sync::Arc;

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};
use zlens_columns::{Evidence, File, Plan, Scan, SelectError, Selection, Step, System};

use crate::attentive::Attentive;
use crate::capsule;
use crate::errors::{broken_off, wrong_plan, wrong_question};
use crate::monwrite::{MonwriteFile, record_name};
use crate::patience::Patience;

/// Raw tables of one or more systems, decoded from their files by compiled plans.
#[pyclass(frozen, module = "zlens._native")]
pub struct Decoder {
    inner: Arc<zlens_columns::Decoder>,
}

/// One system as `zlens.readers` describes it.
fn system(given: &Bound<'_, PyDict>) -> PyResult<System> {
    let get = |name: &str| given.as_any().get_item(name);
    let resets: Vec<(u64, String, Option<String>, String)> = get("resets")?.extract()?;
    let mut repeats: Vec<Vec<(u64, u64)>> = match given.get_item("repeats")? {
        Some(ranges) => ranges.extract()?,
        None => Vec::new(),
    };
    let mut files = Vec::new();
    for (number, file) in get("files")?.try_iter()?.enumerate() {
        let file = file?;
        let ranges = repeats.get_mut(number).map(std::mem::take);
        let file = file.cast::<MonwriteFile>()?.get();
        let shown = |offset: u64| match &file.capture {
            Some(capture) => capture.shown(offset),
            None => offset,
        };
        files.push(File {
            name: file.path().to_string_lossy().into_owned(),
            source: Arc::clone(&file.bytes),
            index: Arc::clone(&file.index),
            repeats: ranges
                .unwrap_or_default()
                .into_iter()
                .map(|(from, to)| shown(from)..shown(to))
                .collect(),
            capture: file.capture.clone(),
        });
    }
    Ok(System {
        name: get("name")?.extract()?,
        source: get("source")?.extract()?,
        files,
        interval_ends: get("interval_ends")?.extract()?,
        lost_ends: match given.get_item("lost_ends")? {
            Some(ends) => ends.extract()?,
            None => Vec::new(),
        },
        nominal_s: get("nominal_s")?.extract()?,
        resets: resets
            .into_iter()
            .map(|(tod, table, subject, what)| Evidence {
                tod,
                table,
                subject,
                what,
            })
            .collect(),
    })
}

fn select_error(py: Python<'_>, error: &SelectError) -> PyErr {
    wrong_question(py, error.to_string())
}

#[pymethods]
impl Decoder {
    /// `systems` are dictionaries of name, source, files (in the order of time), interval_ends (TOD values),
    /// nominal_s, resets (TOD value, table, subject or None, evidence) and, if there are any, lost_ends (TOD values up
    /// to which samples are of intervals whose end is not there) and repeats (for each file the bytes that repeat what
    /// was read before: where they begin and end, in order).
    #[new]
    #[pyo3(signature = (systems, plans_json, leap_seconds = 0))]
    fn new(
        py: Python<'_>,
        systems: Vec<Bound<'_, PyDict>>,
        plans_json: &str,
        leap_seconds: i32,
    ) -> PyResult<Self> {
        let plans = Plan::parse(plans_json).map_err(|error| wrong_plan(py, error.to_string()))?;
        let systems = systems.iter().map(system).collect::<PyResult<Vec<_>>>()?;
        Ok(Self {
            inner: Arc::new(zlens_columns::Decoder::new(systems, plans, leap_seconds)),
        })
    }

    /// Names and types of the columns of a table.
    fn schema(&self, py: Python<'_>, table: &str) -> PyResult<Vec<(String, &'static str)>> {
        self.inner
            .schema(table)
            .map_err(|error| select_error(py, &error))
    }

    /// The named columns of a table, in that order; all columns if none are named.
    #[pyo3(signature = (table, columns = None))]
    fn stream(
        &self,
        py: Python<'_>,
        table: &str,
        columns: Option<Vec<String>>,
    ) -> PyResult<ArrowStream> {
        let selection = self.inner.select(table, columns.as_deref(), true);
        let selection = selection.map_err(|error| select_error(py, &error))?;
        Ok(ArrowStream {
            decoder: Arc::clone(&self.inner),
            selection,
        })
    }

    /// All tables, or those named, in one pass; without differences also without `seconds` and `flag`.
    #[pyo3(signature = (tables = None, differences = true))]
    fn batches(
        &self,
        py: Python<'_>,
        tables: Option<Vec<String>>,
        differences: bool,
    ) -> PyResult<Batches> {
        let tables = tables.unwrap_or_else(|| self.inner.tables().map(str::to_owned).collect());
        let select = |table: &String| self.inner.select(table, None, differences);
        let selections = tables.iter().map(select).collect::<Result<Vec<_>, _>>();
        let selections = selections.map_err(|error| select_error(py, &error))?;
        Ok(Batches {
            scan: self.inner.scan(&selections),
            patience: Patience::new(),
            tables,
        })
    }

    /// System, file, offset, bytes lost, record, kind, sentence of each problem met by scans so far.
    #[allow(clippy::type_complexity, reason = "the row of a table")]
    fn problems(&self) -> Vec<(String, String, u64, u64, String, &'static str, String)> {
        let systems = self.inner.systems();
        let row = |found: zlens_columns::Found| {
            let system = &systems[found.system];
            let problem = found.problem;
            (
                system.name.clone(),
                system.files[found.file].name.clone(),
                problem.offset,
                problem.bytes,
                problem.record.map(record_name).unwrap_or_default(),
                problem.kind.as_str(),
                problem.detail,
            )
        };
        self.inner.problems().into_iter().map(row).collect()
    }

    /// System, TOD value, table, subject, evidence of each subject whose counters began anew.
    fn resets(&self) -> Vec<(String, u64, String, String, String)> {
        let systems = self.inner.systems();
        let row = |reset: zlens_columns::Reset| {
            (
                systems[reset.system].name.clone(),
                reset.tod,
                reset.table,
                reset.subject,
                reset.evidence,
            )
        };
        self.inner.resets().into_iter().map(row).collect()
    }
}

/// One raw table: every `__arrow_c_stream__` is a fresh scan of the files.
#[pyclass(frozen, module = "zlens._native")]
pub struct ArrowStream {
    decoder: Arc<zlens_columns::Decoder>,
    selection: Selection,
}

#[pymethods]
impl ArrowStream {
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

/// The batches of several tables, as they come.
#[pyclass(module = "zlens._native")]
pub struct Batches {
    scan: Scan,
    patience: Patience,
    tables: Vec<String>,
}

#[pymethods]
impl Batches {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<(String, ArrowBatch)>> {
        let Self {
            scan,
            patience,
            tables,
        } = self;
        // A caller that is no Python code, as list() is, looks at no signals itself.
        if patience.is_over() {
            py.check_signals()?;
        }
        loop {
            let step = py.detach(|| {
                loop {
                    match scan.step() {
                        Ok(Step::Working) if !patience.is_over() => {}
                        other => return other,
                    }
                }
            });
            match step {
                Ok(Step::Batch(table, batch)) => {
                    return Ok(Some((tables[table].clone(), ArrowBatch { batch })));
                }
                Ok(Step::Working) => py.check_signals()?,
                Ok(Step::Done) => return Ok(None),
                Err(error) => return Err(broken_off(py, error)),
            }
        }
    }
}

/// Some rows of one raw table.
#[pyclass(frozen, module = "zlens._native")]
pub struct ArrowBatch {
    batch: RecordBatch,
}

#[pymethods]
impl ArrowBatch {
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema(py, self.batch.schema_ref())
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        drop(requested_schema);
        capsule::array(py, &self.batch)
    }
}
