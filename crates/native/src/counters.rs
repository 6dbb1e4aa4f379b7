//! `CountersDecoder`: the table of counters of SMF dumps.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zlens_columns::Reset;
use zlens_columns::counters::{Change, Decoder, Selection, System};

use crate::errors::query_error;
use crate::interruptible::drain;
use crate::rows::{self, ProblemRow, ResetRow};
use crate::smf::{SmfFile, dumps, plan, problems};
use crate::stream::ArrowStream;

/// The table of counters of some dumps, decoded by a compiled plan.
#[pyclass(frozen, module = "zlens._native")]
pub struct CountersDecoder {
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
        ids: get("ids")?.extract()?,
        interval_ends: ends.into(),
        covered: covered.into(),
        nominal_s: get("nominal_s")?.extract()?,
    })
}

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
impl CountersDecoder {
    /// `systems` are dictionaries of name, ids (file, type and name of each stream of its records), interval_ends (TOD
    /// values that rise), covered (whether the first subtype reports each) and nominal_s; `files` are in the order of
    /// time.
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
        let dumps = dumps(source, &systems, system, &files, leap_seconds)?;
        let decoder = Decoder::new(dumps, plan);
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
    fn stream(&self, py: Python<'_>, columns: Option<Vec<String>>) -> PyResult<ArrowStream> {
        let selection = self.select(py, columns)?;
        let decoder = Arc::clone(&self.inner);
        Ok(ArrowStream::of_scans(selection.schema(), move || {
            decoder.read(&selection)
        }))
    }

    /// Decodes the named columns, or all of them, and returns none: for what is found out on the way. `check` holds
    /// subtypes that cover the same against each other.
    #[pyo3(signature = (columns = None, check = false))]
    fn drain(&self, py: Python<'_>, columns: Option<Vec<String>>, check: bool) -> PyResult<()> {
        let selection = self.select(py, columns)?;
        let mut scan = self.inner.scan(&selection, check);
        drain(py, &mut scan)
    }

    /// System, file, offset, bytes lost, record, kind, sentence of each problem that scans found so far.
    fn problems(&self) -> Vec<ProblemRow> {
        problems(self.inner.problems(), self.inner.dumps(), |system| {
            &system.name
        })
    }

    /// System, TOD value, table, processor, evidence of each processor whose counters restarted.
    fn resets(&self) -> Vec<ResetRow> {
        let systems = &self.inner.dumps().systems;
        let row = |reset: Reset| {
            let system = &systems[reset.system].name;
            rows::reset(reset, system)
        };
        self.inner.resets().into_iter().map(row).collect()
    }

    /// Watched columns that changed, as found by scans so far.
    fn changes(&self) -> Vec<ChangeRow> {
        let dumps = self.inner.dumps();
        let row = |change: Change| {
            (
                dumps.systems[change.system].name.clone(),
                dumps.files[change.file].name.clone(),
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

impl CountersDecoder {
    fn select(&self, py: Python<'_>, columns: Option<Vec<String>>) -> PyResult<Selection> {
        self.inner
            .select(columns.as_deref())
            .map_err(|error| query_error(py, error.to_string()))
    }
}
