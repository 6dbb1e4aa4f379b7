//! A whole simulation: the world from its warm-up to its end, recorded interval by interval.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;

use crate::custom_policy::SystemPolicy;
use crate::recorder::{RecordError, Recorder};
use crate::scenario::Scenario;
use crate::time::{SECOND, Ticks, seconds};
use crate::validate::ScenarioError;
use crate::world::World;

/// Error of a simulation.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// The scenario is malformed.
    #[error("the scenario cannot be read: {0}")]
    Scenario(String),
    /// The scenario contradicts itself.
    #[error(transparent)]
    Invalid(#[from] ScenarioError),
    /// Its records cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A policy of the user failed; it knows why.
    #[error("the policy of {0} failed")]
    Policy(String),
    /// A conservation law is violated: a bug of the simulator.
    #[error("simulation invariant violated at {second} s: {what}")]
    Invariant {
        /// Second of the simulation.
        second: u64,
        /// The violated invariant.
        what: String,
    },
}

/// Result of a simulation, without its warm-up.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Events handled, with those of the warm-up.
    pub events: u64,
    /// Seconds recorded: all, unless it was interrupted.
    pub seconds: f64,
    /// By system.
    pub systems: BTreeMap<String, SystemSummary>,
    /// Cores used by partition and type.
    pub partitions: BTreeMap<String, BTreeMap<String, f64>>,
}

/// Result of a system.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SystemSummary {
    /// By user.
    pub users: BTreeMap<String, UserSummary>,
    /// By class of transactions.
    pub transactions: BTreeMap<String, TransactionSummary>,
}

/// CPU time of a user.
#[derive(Clone, Debug, Default, Serialize)]
pub struct UserSummary {
    /// CPU time charged to it.
    pub cpu_s: f64,
    /// Its own part of it.
    pub virtual_s: f64,
    pub dispatches: u64,
    /// Demand it gave up, in seconds of work.
    pub refused_s: f64,
}

/// Result of a class of transactions.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TransactionSummary {
    /// Transactions that ended.
    pub completed: u64,
    /// Their mean response time.
    pub mean_response_s: Option<f64>,
    /// Transactions that were refused.
    pub refused: u64,
    /// By interval: its end in TOD clock units, transactions, and the sum of their response times in seconds.
    pub throughput: Vec<(u64, u64, f64)>,
}

/// Simulates a scenario. `recorders` write the records of selected systems; `policies` decide in place of CP, by index
/// of their system; `progress` is called with the seconds simulated after every interval and may end the simulation
/// there.
///
/// # Errors
/// If the scenario contradicts itself, a policy fails, records cannot be written, or a law of conservation does not
/// hold.
pub fn simulate<W: Write>(
    scenario: Scenario,
    recorders: &mut [Recorder<W>],
    policies: Vec<(usize, SystemPolicy)>,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<Summary, SimulationError> {
    let mut world = World::new(scenario)?;
    for (system, policy) in policies {
        world.policies[system] = policy;
    }
    let start = world.now;
    let end = world.begin + seconds(world.scenario.seconds);
    let checked = world.scenario.checked || cfg!(debug_assertions);
    world.run(world.begin);
    check_policies(&world)?;
    world.settle_all();
    let first = CounterSnapshot::new(&world);
    let mut last = first.clone();
    let mut summary = Summary::default();
    world.happened.clear();
    for recorder in recorders.iter_mut() {
        recorder.begin(&world)?;
    }
    while world.now < end {
        let until = (world.now + world.machine_timings.interval).min(end);
        world.run(until);
        check_policies(&world)?;
        world.settle_all();
        if checked {
            let elapsed = world.now - start;
            world
                .check(elapsed)
                .map_err(|what| SimulationError::Invariant {
                    second: (world.now - world.begin) / SECOND,
                    what,
                })?;
        }
        let mut happened = std::mem::take(&mut world.happened);
        for recorder in recorders.iter_mut() {
            recorder.interval(&world, &happened)?;
        }
        happened.clear();
        world.happened = happened;
        let marks = CounterSnapshot::new(&world);
        summary.add_interval(&world, &last, &marks);
        last = marks;
        let done = (world.now - world.begin) as f64 / SECOND as f64;
        if !progress(done) {
            break;
        }
    }
    summary.close(&world, &first, &last);
    Ok(summary)
}

fn check_policies(world: &World) -> Result<(), SimulationError> {
    match world.policies.iter().position(|policy| policy.failed) {
        Some(system) => {
            let name = world.scenario.systems[system].name.clone();
            Err(SimulationError::Policy(name))
        }
        None => Ok(()),
    }
}

/// Counters at one moment.
#[derive(Clone, Debug)]
struct CounterSnapshot {
    vcpus: Vec<(Ticks, Ticks, u64, Ticks)>,
    classes: Vec<(u64, u128, u64)>,
    cores: Vec<Ticks>,
}

impl CounterSnapshot {
    fn new(world: &World) -> Self {
        let vcpus = world.vcpus.iter();
        let classes = world.classes.iter();
        Self {
            vcpus: vcpus
                .map(|v| {
                    (
                        v.times.total,
                        v.times.emulation,
                        v.counts.dispatches,
                        v.refused,
                    )
                })
                .collect(),
            classes: classes
                .map(|class| (class.completed, class.response, class.refused))
                .collect(),
            cores: world.cores.iter().map(|core| core.dispatched).collect(),
        }
    }
}

fn to_seconds(span: Ticks) -> f64 {
    span as f64 / SECOND as f64
}

impl Summary {
    fn add_interval(&mut self, world: &World, before: &CounterSnapshot, after: &CounterSnapshot) {
        for (number, class) in world.classes.iter().enumerate() {
            let system = &world.scenario.systems[class.system as usize];
            let name = &system.transactions[class.number as usize].name;
            let entry = self
                .systems
                .entry(system.name.clone())
                .or_default()
                .transactions
                .entry(name.clone())
                .or_default();
            let completed = after.classes[number].0 - before.classes[number].0;
            let response = after.classes[number].1 - before.classes[number].1;
            let response = response as f64 / SECOND as f64;
            entry.throughput.push((world.now, completed, response));
        }
    }

    fn close(&mut self, world: &World, first: &CounterSnapshot, last: &CounterSnapshot) {
        self.events = world.handled;
        self.seconds = to_seconds(world.now - world.begin);
        for user in &world.users {
            let system = &world.scenario.systems[user.system as usize];
            let mut sums = UserSummary::default();
            for v in user.vcpus() {
                let (before, after) = (first.vcpus[v], last.vcpus[v]);
                // A logon in between starts the counters again.
                sums.cpu_s += to_seconds(after.0.checked_sub(before.0).unwrap_or(after.0));
                sums.virtual_s += to_seconds(after.1.checked_sub(before.1).unwrap_or(after.1));
                sums.dispatches += after.2.checked_sub(before.2).unwrap_or(after.2);
                sums.refused_s += to_seconds(after.3.saturating_sub(before.3));
            }
            let name = system.users[user.number as usize].name.clone();
            let entry = self.systems.entry(system.name.clone()).or_default();
            entry.users.insert(name, sums);
        }
        for (number, class) in world.classes.iter().enumerate() {
            let system = &world.scenario.systems[class.system as usize];
            let name = &system.transactions[class.number as usize].name;
            let system = self.systems.entry(system.name.clone()).or_default();
            let entry = system.transactions.entry(name.clone()).or_default();
            entry.completed = last.classes[number].0 - first.classes[number].0;
            entry.refused = last.classes[number].2 - first.classes[number].2;
            let response = (last.classes[number].1 - first.classes[number].1) as f64;
            entry.mean_response_s =
                (entry.completed > 0).then(|| response / entry.completed as f64 / SECOND as f64);
        }
        let elapsed = to_seconds(world.now - world.begin).max(f64::MIN_POSITIVE);
        for share in &world.shares {
            let partition = &world.scenario.partitions[share.partition as usize].name;
            let kind = &world.scenario.machine.types[usize::from(share.kind)];
            let used: Ticks = share
                .cores
                .iter()
                .map(|core| last.cores[*core as usize] - first.cores[*core as usize])
                .sum();
            self.partitions
                .entry(partition.clone())
                .or_default()
                .insert(kind.clone(), to_seconds(used) / elapsed);
        }
    }
}
