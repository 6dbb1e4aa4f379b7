//! `SectionsDecoder`: tables of sections of SMF records.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use zlens_columns::sections::{Decoder, Plan, System};

use crate::errors::{catalog_error, query_error};
use crate::interruptible::drain;
use crate::rows::ProblemRow;
use crate::smf::{SmfFile, dumps, problems};
use crate::stream::ArrowStream;

/// Name of a plan, system, end of an interval in microseconds UTC, its seconds, whether it is a stub, how many records
/// describe it.
type IntervalRow = (String, String, i64, Option<f64>, bool, u64);

/// The tables of sections of some dumps, decoded by compiled plans.
#[pyclass(frozen, module = "zlens._native")]
pub struct SectionsDecoder {
    inner: Arc<Decoder>,
}

fn system(given: &Bound<'_, PyDict>) -> PyResult<System> {
    let get = |name: &str| given.as_any().get_item(name);
    Ok(System {
        name: get("name")?.extract()?,
        ids: get("ids")?.extract()?,
        zone_us: get("zone_us")?.extract()?,
    })
}

#[pymethods]
impl SectionsDecoder {
    /// `systems` are dictionaries of name, ids (file, type and name of each stream of its records) and zone_us (how far
    /// local time is ahead, where records do not tell, or None); `files` are in the order of time; `plans` are in JSON,
    /// one for each record type or subtype.
    #[new]
    #[pyo3(signature = (source, systems, files, plans, leap_seconds = 0))]
    fn new(
        py: Python<'_>,
        source: String,
        systems: Vec<Bound<'_, PyDict>>,
        files: Vec<PyRef<'_, SmfFile>>,
        plans: Vec<String>,
        leap_seconds: i32,
    ) -> PyResult<Self> {
        let plan = |json: &String| Plan::parse(json).map_err(|e| catalog_error(py, e.to_string()));
        let plans = plans.iter().map(plan).collect::<PyResult<Vec<_>>>()?;
        let dumps = dumps(source, &systems, system, &files, leap_seconds)?;
        let decoder = Decoder::new(dumps, plans);
        Ok(Self {
            inner: Arc::new(decoder),
        })
    }

    /// Names and types of the columns of a table.
    fn schema(&self, py: Python<'_>, table: &str) -> PyResult<Vec<(String, &'static str)>> {
        self.inner
            .schema(table)
            .map_err(|error| query_error(py, error.to_string()))
    }

    /// The named columns of a table, in that order; all columns if none are named.
    #[pyo3(signature = (table, columns = None))]
    fn stream(
        &self,
        py: Python<'_>,
        table: &str,
        columns: Option<Vec<String>>,
    ) -> PyResult<ArrowStream> {
        let selection = self
            .inner
            .select(table, columns.as_deref())
            .map_err(|error| query_error(py, error.to_string()))?;
        let decoder = Arc::clone(&self.inner);
        Ok(ArrowStream::of_scans(selection.schema(), move || {
            decoder.read(&selection)
        }))
    }

    /// Decodes everything of a plan and returns none: for what is found out on the way.
    fn drain(&self, py: Python<'_>, plan: &str) -> PyResult<()> {
        let selections = self.inner.everything(plan);
        drain(py, &mut self.inner.scan(&selections))
    }

    /// The intervals that the records of these plans describe, in the order of plans, systems and time.
    #[expect(clippy::needless_pass_by_value)]
    fn intervals(&self, py: Python<'_>, plans: Vec<String>) -> PyResult<Vec<IntervalRow>> {
        let mut scan = self.inner.intervals(&plans);
        drain(py, &mut scan)?;
        let systems = &self.inner.dumps().systems;
        let rows = scan.intervals().into_iter();
        Ok(rows
            .map(|one| {
                let plan = self.inner.plans()[one.plan].name.clone();
                let name = systems[one.system].name.clone();
                (plan, name, one.end_us, one.seconds, one.short, one.records)
            })
            .collect())
    }

    /// System, file, offset, bytes lost, record, kind, sentence of each problem that scans found so far.
    fn problems(&self) -> Vec<ProblemRow> {
        problems(self.inner.problems(), self.inner.dumps(), |system| {
            &system.name
        })
    }
}
