//! `MonwriteDecoder` and what it returns.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use zlens_columns::zvm::{self, File, Plan, ResetEvidence, Scan, System};
use zlens_columns::{DecodeProblem, Reset, SelectError, Step};

use crate::errors::{catalog_error, query_error};
use crate::interruptible::step;
use crate::monwrite::{MonwriteFile, record_name};
use crate::rows::{self, ProblemRow, ResetRow};
use crate::signals::PollTimer;
use crate::stream::ArrowStream;
use crate::table::ArrowTable;

/// Raw tables of one or more systems, decoded from their files by compiled plans.
#[pyclass(frozen, module = "zlens._native")]
pub struct MonwriteDecoder {
    inner: Arc<zvm::Decoder>,
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
            .map(|(tod, table, subject, what)| ResetEvidence {
                tod,
                table,
                subject,
                what,
            })
            .collect(),
    })
}

fn select_error(py: Python<'_>, error: &SelectError) -> PyErr {
    query_error(py, error.to_string())
}

#[pymethods]
impl MonwriteDecoder {
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
        let plans =
            Plan::parse(plans_json).map_err(|error| catalog_error(py, error.to_string()))?;
        let systems = systems.iter().map(system).collect::<PyResult<Vec<_>>>()?;
        Ok(Self {
            inner: Arc::new(zvm::Decoder::new(systems, plans, leap_seconds)),
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
        let decoder = Arc::clone(&self.inner);
        Ok(ArrowStream::of_scans(selection.schema(), move || {
            decoder.read(&selection)
        }))
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
            patience: PollTimer::new(),
            tables,
        })
    }

    /// System, file, offset, bytes lost, record, kind, sentence of each problem that scans found so far.
    fn problems(&self) -> Vec<ProblemRow> {
        let row = |found: DecodeProblem| {
            let system = &self.inner.systems()[found.system];
            let file = &system.files[found.file].name;
            rows::problem(found, Some(&system.name), file, record_name)
        };
        self.inner.problems().into_iter().map(row).collect()
    }

    /// System, TOD value, table, subject, evidence of each subject whose counters restarted.
    fn resets(&self) -> Vec<ResetRow> {
        let row = |reset: Reset| {
            let system = &self.inner.systems()[reset.system].name;
            rows::reset(reset, system)
        };
        self.inner.resets().into_iter().map(row).collect()
    }
}

/// The batches of several tables, as they come.
#[pyclass(module = "zlens._native")]
pub struct Batches {
    scan: Scan,
    patience: PollTimer,
    tables: Vec<String>,
}

#[pymethods]
impl Batches {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<(String, Py<ArrowTable>)>> {
        // A caller that is no Python code, as list() is, checks no signals itself.
        if self.patience.is_due() {
            py.check_signals()?;
        }
        let is_batch = |step: &Step| matches!(step, Step::Batch(..));
        match step(py, &mut self.scan, &mut self.patience, is_batch)? {
            Step::Batch(table, batch) => {
                let rows = Py::new(py, ArrowTable::from_batch(batch))?;
                Ok(Some((self.tables[table].clone(), rows)))
            }
            _ => Ok(None),
        }
    }
}
