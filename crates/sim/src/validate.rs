//! Validation of scenarios.

use std::collections::HashSet;
use std::fmt::Display;

use crate::scenario::*;

/// Error of a scenario that cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {value}; expected {expected}")]
pub struct ScenarioError {
    /// The invalid item.
    pub what: String,
    /// Its value.
    pub value: String,
    /// The allowed values.
    pub expected: &'static str,
}

pub(crate) fn invalid(what: String, value: impl ToString, expected: &'static str) -> ScenarioError {
    ScenarioError {
        what,
        value: value.to_string(),
        expected,
    }
}

/// An error, unless it holds.
pub(crate) fn require(
    holds: bool,
    what: impl Display,
    value: impl ToString,
    expected: &'static str,
) -> Result<(), ScenarioError> {
    match holds {
        true => Ok(()),
        false => Err(invalid(what.to_string(), value, expected)),
    }
}

fn positive(value: f64, what: &str) -> Result<(), ScenarioError> {
    let holds = value.is_finite() && value > 0.0 && value <= 1e9;
    require(holds, what, value, "a number above 0, at most 1e9")
}

fn index<T>(value: u32, among: &[T], what: &str, of: &str) -> Result<(), ScenarioError> {
    let what = format_args!("{what} of {of}");
    let holds = (value as usize) < among.len();
    require(holds, what, value, "one that the scenario has")
}

/// Checks for contradictions that would make an index invalid or a loop endless.
pub(crate) fn validate(scenario: &Scenario) -> Result<(), ScenarioError> {
    let kinds = scenario.machine.types.len();
    let kind = |of: u8, what: &str| {
        let what = format_args!("type of {what}");
        require(usize::from(of) < kinds, what, of, "a type of the machine")
    };
    let codes = scenario.machine.type_codes.len();
    require(codes == kinds, "codes of types", codes, "one for each type")?;
    positive(scenario.interval_s, "interval_s")?;
    positive(scenario.high_frequency_s, "high_frequency_s")?;
    positive(scenario.seconds, "seconds")?;
    for cores in &scenario.machine.cores {
        kind(cores.kind, "the machine's cores")?;
        let count = cores.count;
        require(count <= 1_024, "cores of a type", count, "at most 1,024")?;
    }
    for partition in &scenario.partitions {
        let name = &partition.name;
        for share in &partition.shares {
            kind(share.kind, name)?;
            let holds = (1..=1_024).contains(&share.cores);
            let what = format_args!("cores of partition {name}");
            require(holds, what, share.cores, "1 to 1,024")?;
            if let Some(group) = share.group {
                index(group, &scenario.partition_groups, "group", name)?;
            }
        }
    }
    for system in &scenario.systems {
        let name = &system.name;
        let user_of = |user: u32, what: &str| index(user, &system.users, what, name);
        index(system.partition, &scenario.partitions, "partition", name)?;
        let threads = system.threads.len();
        let what = format_args!("threads of system {name}");
        require(threads == kinds, what, threads, "one number per type")?;
        let mut names = HashSet::with_capacity(system.users.len());
        for user in &system.users {
            // Random numbers are drawn by name.
            let what = format_args!("users of system {name}");
            require(names.insert(&user.name), what, &user.name, "each name once")?;
            kind(user.kind, &user.name)?;
            let holds = (1..=128).contains(&user.virtual_cpus);
            let what = format_args!("virtual CPUs of user {}", user.name);
            require(holds, what, user.virtual_cpus, "1 to 128")?;
            if let Some(pool) = user.pool {
                index(pool, &system.pools, "pool", &user.name)?;
            }
            for load in &user.loads {
                for volume in &load.volumes {
                    index(*volume, &system.volumes, "volume", &user.name)?;
                }
                if load.demand_pct.is_some_and(|part| part > 0.0) {
                    positive(load.burst_ms, "burst_ms")?;
                }
                let rates = load.io_rate + load.page_rate;
                let holds = (0.0..=1e6).contains(&rates);
                require(holds, "rates of a load", rates, "0 to 1,000,000")?;
            }
        }
        for volume in &system.volumes {
            let unit = volume.control_unit;
            index(unit, &system.control_units, "control unit", &volume.name)?;
        }
        for transaction in &system.transactions {
            check_steps(system, transaction)?;
        }
        for relocation in &system.relocations {
            user_of(relocation.user, "user of a relocation")?;
            if let Some([to, number]) = relocation.target {
                let own = &system.users[relocation.user as usize];
                let target = scenario.systems.get(to as usize);
                let there = target.and_then(|target| target.users.get(number as usize));
                let holds = there.is_some_and(|there| {
                    there.virtual_cpus == own.virtual_cpus && there.kind == own.kind
                });
                let what = format_args!("user of {} that {} continues as", relocation.to, own.name);
                require(holds, what, number, "one with the same virtual CPUs")?;
            }
            let count = system.relocations.len();
            require(
                count <= 1 << 16,
                "relocations of a system",
                count,
                "at most 65,536",
            )?;
            let rate = system.link.as_ref().map_or(0.0, |link| link.rate_mib);
            positive(rate, "rate of the link")?;
        }
        for command in &system.commands {
            match command.action {
                Action::Logon { user }
                | Action::Logoff { user }
                | Action::SetShare { user, .. } => {
                    user_of(user, "user of a command")?;
                }
                Action::SetMultithread { kind: of, threads } => {
                    kind(of, "a command")?;
                    let most = if system.multithreading { 2 } else { 1 };
                    let holds = (1..=most).contains(&threads);
                    require(
                        holds,
                        "threads of a command",
                        threads,
                        "1 or 2 with multithreading",
                    )?;
                }
                Action::SetPool { user, pool } => {
                    user_of(user, "user of a command")?;
                    index(pool, &system.pools, "pool of a command", name)?;
                }
                Action::SetPoolLimit { pool, limit } => {
                    index(pool, &system.pools, "pool of a command", name)?;
                    positive(limit, "limit of a command")?;
                }
                _ => {}
            }
        }
        for port in system.switches.iter().flat_map(|switch| &switch.ports) {
            user_of(port.user, "user of a port")?;
        }
        for function in &system.functions {
            user_of(function.user, "user of a function")?;
        }
    }
    Ok(())
}

fn check_steps(system: &System, transaction: &Transaction) -> Result<(), ScenarioError> {
    let name = &transaction.name;
    let mut passes_time = transaction.rate.is_some() || transaction.think_s > 0.0;
    for step in &transaction.steps {
        let (users, volumes, lock): (&[u32], &[u32], _) = match step {
            Step::Cpu {
                users,
                lock,
                cpu_ms,
                ..
            } => {
                passes_time |= *cpu_ms > 0.0;
                let what = format_args!("users of {name}");
                require(!users.is_empty(), what, 0, "at least one")?;
                (users, &[], *lock)
            }
            Step::Io { users, volumes, .. } => {
                let holds = !volumes.is_empty() && !users.is_empty();
                let what = format_args!("volumes or users of {name}");
                require(holds, what, 0, "at least one")?;
                (users, volumes, None)
            }
            Step::Delay { .. } => continue,
        };
        for user in users {
            index(*user, &system.users, "user", name)?;
        }
        for volume in volumes {
            index(*volume, &system.volumes, "volume", name)?;
        }
        if let Some(lock) = lock {
            index(lock, &system.locks, "lock", name)?;
        }
    }
    passes_time |= !transaction.steps.is_empty();
    let what = format_args!("steps of {name}");
    let expected = "at least one step, or a think time";
    require(passes_time, what, 0, expected)
}
