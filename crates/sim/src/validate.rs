//! Validation of scenarios.

use std::collections::HashSet;

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

/// Checks for contradictions that would make an index invalid or a loop endless.
pub(crate) fn validate(scenario: &Scenario) -> Result<(), ScenarioError> {
    let kinds = scenario.machine.types.len();
    let kind = |of: u8, what: &str| {
        if usize::from(of) < kinds {
            Ok(())
        } else {
            Err(invalid(
                format!("type of {what}"),
                of,
                "a type of the machine",
            ))
        }
    };
    let positive = |value: f64, what: &str| {
        if value.is_finite() && value > 0.0 && value <= 1e9 {
            Ok(())
        } else {
            Err(invalid(
                what.to_owned(),
                value,
                "a number above 0, at most 1e9",
            ))
        }
    };
    if scenario.machine.type_codes.len() != kinds {
        return Err(invalid(
            "codes of types".into(),
            scenario.machine.type_codes.len(),
            "one for each type",
        ));
    }
    positive(scenario.interval_s, "interval_s")?;
    positive(scenario.high_frequency_s, "high_frequency_s")?;
    positive(scenario.seconds, "seconds")?;
    for cores in &scenario.machine.cores {
        kind(cores.kind, "the machine's cores")?;
        if cores.count > 1_024 {
            return Err(invalid(
                "cores of a type".into(),
                cores.count,
                "at most 1,024",
            ));
        }
    }
    for partition in &scenario.partitions {
        for share in &partition.shares {
            kind(share.kind, &partition.name)?;
            if share.cores == 0 || share.cores > 1_024 {
                return Err(invalid(
                    format!("cores of partition {}", partition.name),
                    share.cores,
                    "1 to 1,024",
                ));
            }
            if let Some(group) = share.group {
                index(
                    group,
                    scenario.partition_groups.len(),
                    "group",
                    &partition.name,
                )?;
            }
        }
    }
    for system in &scenario.systems {
        index(
            system.partition,
            scenario.partitions.len(),
            "partition",
            &system.name,
        )?;
        if system.threads.len() != kinds {
            return Err(invalid(
                format!("threads of system {}", system.name),
                system.threads.len(),
                "one number per type",
            ));
        }
        let mut names = HashSet::with_capacity(system.users.len());
        for user in &system.users {
            // Random numbers are drawn by name.
            if !names.insert(&user.name) {
                return Err(invalid(
                    format!("users of system {}", system.name),
                    &user.name,
                    "each name once",
                ));
            }
            kind(user.kind, &user.name)?;
            if user.virtual_cpus == 0 || user.virtual_cpus > 128 {
                return Err(invalid(
                    format!("virtual CPUs of user {}", user.name),
                    user.virtual_cpus,
                    "1 to 128",
                ));
            }
            if let Some(pool) = user.pool {
                index(pool, system.pools.len(), "pool", &user.name)?;
            }
            for load in &user.loads {
                for volume in &load.volumes {
                    index(*volume, system.volumes.len(), "volume", &user.name)?;
                }
                if load.demand_pct.is_some_and(|part| part > 0.0) {
                    positive(load.burst_ms, "burst_ms")?;
                }
                let rates = load.io_rate + load.page_rate;
                if !(0.0..=1e6).contains(&rates) {
                    return Err(invalid("rates of a load".into(), rates, "0 to 1,000,000"));
                }
            }
        }
        for unit in &system.volumes {
            index(
                unit.control_unit,
                system.control_units.len(),
                "control unit",
                &unit.name,
            )?;
        }
        for transaction in &system.transactions {
            check_steps(system, transaction)?;
        }
        for relocation in &system.relocations {
            index(
                relocation.user,
                system.users.len(),
                "user of a relocation",
                &system.name,
            )?;
            let rate = system.link.as_ref().map_or(0.0, |link| link.rate_mib);
            positive(rate, "rate of the link")?;
        }
        for command in &system.commands {
            match command.action {
                crate::scenario::Action::Logon { user }
                | crate::scenario::Action::Logoff { user }
                | crate::scenario::Action::SetShare { user, .. } => {
                    index(user, system.users.len(), "user of a command", &system.name)?;
                }
                crate::scenario::Action::SetMultithread { kind: of, threads } => {
                    kind(of, "a command")?;
                    if !(1..=2).contains(&threads) {
                        return Err(invalid("threads of a command".into(), threads, "1 or 2"));
                    }
                }
                crate::scenario::Action::SetPool { user, pool } => {
                    index(user, system.users.len(), "user of a command", &system.name)?;
                    index(pool, system.pools.len(), "pool of a command", &system.name)?;
                }
                crate::scenario::Action::SetPoolLimit { pool, limit } => {
                    index(pool, system.pools.len(), "pool of a command", &system.name)?;
                    positive(limit, "limit of a command")?;
                }
                _ => {}
            }
        }
        for port in system.switches.iter().flat_map(|switch| &switch.ports) {
            index(
                port.user,
                system.users.len(),
                "user of a port",
                &system.name,
            )?;
        }
        for function in &system.functions {
            index(
                function.user,
                system.users.len(),
                "user of a function",
                &system.name,
            )?;
        }
    }
    Ok(())
}

fn check_steps(
    system: &crate::scenario::System,
    transaction: &crate::scenario::Transaction,
) -> Result<(), ScenarioError> {
    use crate::scenario::Step;
    let name = &transaction.name;
    let mut passes_time = transaction.rate.is_some() || transaction.think_s > 0.0;
    for step in &transaction.steps {
        match step {
            Step::Cpu {
                users,
                lock,
                cpu_ms,
                ..
            } => {
                passes_time |= *cpu_ms > 0.0;
                if users.is_empty() {
                    return Err(invalid(format!("users of {name}"), 0, "at least one"));
                }
                for user in users {
                    index(*user, system.users.len(), "user", name)?;
                }
                if let Some(lock) = lock {
                    index(*lock, system.locks.len(), "lock", name)?;
                }
            }
            Step::Io { users, volumes, .. } => {
                if volumes.is_empty() || users.is_empty() {
                    return Err(invalid(
                        format!("volumes or users of {name}"),
                        0,
                        "at least one",
                    ));
                }
                for user in users {
                    index(*user, system.users.len(), "user", name)?;
                }
                for volume in volumes {
                    index(*volume, system.volumes.len(), "volume", name)?;
                }
            }
            Step::Delay { .. } => {}
        }
    }
    passes_time |= !transaction.steps.is_empty();
    if passes_time {
        Ok(())
    } else {
        Err(invalid(
            format!("steps of {name}"),
            0,
            "at least one step, or a think time",
        ))
    }
}

fn index(value: u32, count: usize, what: &str, of: &str) -> Result<(), ScenarioError> {
    if (value as usize) < count {
        Ok(())
    } else {
        Err(invalid(
            format!("{what} of {of}"),
            value,
            "one that the scenario has",
        ))
    }
}
