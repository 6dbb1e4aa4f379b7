//! Policies of the user: an object of Python decides in place of CP.

use std::sync::{Arc, Mutex};

use pyo3::BoundObject;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use zlens_sim::custom_policy::{FrameGroup, Policy, PolicyKind, ReadyCpu};
use zlens_sim::unpark_policy::Observation;

/// What a method of a policy raised.
pub type Raised = Arc<Mutex<Option<PyErr>>>;

/// A policy: methods of `zlens.simulation.custom_policy.PolicyCalls`.
#[derive(Debug)]
pub struct PythonPolicy {
    object: Py<PyAny>,
    decides: [bool; 4],
    raised: Raised,
}

type ReadyRow = (u32, u32, f64, f64, f64, f64, u32);

fn row(cpu: &ReadyCpu) -> ReadyRow {
    (
        cpu.user,
        cpu.number,
        cpu.part,
        cpu.waiting,
        cpu.used,
        cpu.deadline,
        cpu.processor,
    )
}

impl PythonPolicy {
    /// An object whose `decides` says which of its four methods decide.
    pub fn new(object: Py<PyAny>, raised: &Raised) -> PyResult<Self> {
        let decides = Python::attach(|py| object.getattr(py, "decides")?.extract(py))?;
        Ok(Self {
            object,
            decides,
            raised: Arc::clone(raised),
        })
    }

    fn ask<'py, A, T>(&self, py: Python<'py>, method: &str, arguments: A) -> Option<T>
    where
        A: IntoPyObject<'py, Target = PyTuple>,
        PyErr: From<A::Error>,
        T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
    {
        let call = || -> PyResult<T> {
            let arguments = arguments.into_pyobject(py)?.into_bound();
            self.object
                .bind(py)
                .call_method1(method, arguments)?
                .extract()
        };
        match call() {
            Ok(decision) => Some(decision),
            Err(error) => {
                if let Ok(mut raised) = self.raised.lock() {
                    raised.get_or_insert(error);
                }
                None
            }
        }
    }
}

impl Policy for PythonPolicy {
    fn decides(&self, kind: PolicyKind) -> bool {
        self.decides[kind as usize]
    }

    fn choose(&mut self, now: f64, processor: u32, ready: &[ReadyCpu]) -> Option<usize> {
        let rows: Vec<ReadyRow> = ready.iter().map(row).collect();
        Python::attach(|py| self.ask(py, "choose", (now, processor, rows)))
    }

    fn place(&mut self, now: f64, ready: &ReadyCpu, idle: &[u32]) -> Option<usize> {
        Python::attach(|py| self.ask(py, "place", (now, row(ready), idle.to_vec())))
    }

    fn unpark(&mut self, now: f64, kind: u8, seen: &Observation) -> Option<u32> {
        let cores = seen.cores;
        let others: Vec<(f64, f64, f64)> = seen
            .others
            .iter()
            .map(|other| (other.weight, other.entitlement, other.used))
            .collect();
        let own = (
            kind,
            cores.highs,
            cores.mediums,
            cores.lows,
            seen.weight,
            cores.entitlement(),
            seen.used,
            seen.cap,
        );
        Python::attach(|py| self.ask(py, "unpark", (now, own, others)))
    }

    fn select(&mut self, now: f64, wanted: f64, groups: &[FrameGroup]) -> Option<Vec<usize>> {
        let rows: Vec<(u32, f64, f64, f64)> = groups
            .iter()
            .map(|group| (group.space, group.age, group.pages, group.changed))
            .collect();
        Python::attach(|py| self.ask(py, "select", (now, wanted, rows)))
    }
}
