//! `simulate`: a scenario becomes monitor data.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use zlens_frames::zvm::WriteError;
use zlens_sim::custom_policy::SystemPolicy;
use zlens_sim::recorder::{RecordError, Recorder};
use zlens_sim::run::{SimulationError, simulate as run};
use zlens_sim::scenario::Scenario;

use crate::custom_policy::{PythonPolicy, Raised};
use crate::output;

/// Simulates a scenario, given as JSON with every default filled in, and writes the monitor data of the systems that
/// `outputs` names: for each the path, and the plan of its layouts in JSON. `progress` is called with the seconds
/// simulated after every interval; if it returns False, or a signal comes, the simulation ends there with whole
/// intervals. `policies` decide in place of CP, by system; what they raise is raised here. Returns a summary as JSON.
#[pyfunction]
#[pyo3(signature = (scenario, outputs, progress = None, policies = BTreeMap::new()))]
pub fn simulate(
    py: Python<'_>,
    scenario: &str,
    outputs: BTreeMap<String, (PathBuf, String)>,
    progress: Option<Py<PyAny>>,
    policies: BTreeMap<String, Py<PyAny>>,
) -> PyResult<String> {
    let scenario: Scenario = serde_json::from_str(scenario)
        .map_err(|error| PyValueError::new_err(format!("the scenario: {error}")))?;
    let mut recorders: Vec<Recorder<BufWriter<File>>> = Vec::new();
    for (name, (path, layouts)) in outputs {
        let system = system_of(&scenario, &name)?;
        let recorder = Recorder::new(system, &layouts, output::create(path)?)
            .map_err(|error| record_error(&error))?;
        recorders.push(recorder);
    }
    let policy_raised = Raised::default();
    let mut deciding = Vec::new();
    for (name, object) in policies {
        let policy = PythonPolicy::new(object, &policy_raised)?;
        deciding.push((system_of(&scenario, &name)?, SystemPolicy::new(policy)));
    }
    let mut raised = None;
    let mut report = |seconds: f64| {
        let goes_on = Python::attach(|py| {
            py.check_signals()?;
            match &progress {
                None => Ok(true),
                Some(callback) => callback.call1(py, (seconds,))?.extract::<bool>(py),
            }
        });
        match goes_on {
            Ok(goes_on) => goes_on,
            Err(error) => {
                raised = Some(error);
                false
            }
        }
    };
    let (summary, finished) = py.detach(|| {
        let summary = run(scenario, &mut recorders, deciding, &mut report);
        let finished = recorders
            .into_iter()
            .try_for_each(|recorder| recorder.finish().map(drop));
        (summary, finished)
    });
    if let Some(error) = policy_raised
        .lock()
        .ok()
        .and_then(|mut raised| raised.take())
    {
        return Err(error);
    }
    let summary = summary.map_err(|error| match error {
        SimulationError::Record(error) => record_error(&error),
        SimulationError::Invariant { .. } => PyRuntimeError::new_err(error.to_string()),
        refused => PyValueError::new_err(refused.to_string()),
    })?;
    finished.map_err(|error| record_error(&error))?;
    match raised {
        Some(error) => Err(error),
        None => serde_json::to_string(&summary)
            .map_err(|error| PyValueError::new_err(error.to_string())),
    }
}

fn system_of(scenario: &Scenario, name: &str) -> PyResult<usize> {
    let found = scenario.systems.iter().position(|of| of.name == name);
    found.ok_or_else(|| PyValueError::new_err(format!("the scenario has no system {name}")))
}

fn record_error(error: &RecordError) -> PyErr {
    match error {
        RecordError::Write(WriteError::Io(error)) => PyOSError::new_err(error.to_string()),
        other => PyValueError::new_err(other.to_string()),
    }
}
