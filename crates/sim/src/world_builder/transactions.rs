//! Classes of transactions and their customers.

use super::allocator::MAX_OBJECTS;
use crate::random::{DurationDistribution, Stream};
use crate::scenario::Scenario;
use crate::state::{Class, Customer, NO_INDEX};
use crate::time::{SECOND, Ticks, seconds};
use crate::validate::{ScenarioError, require};

pub(super) fn transactions(
    scenario: &Scenario,
    now: Ticks,
) -> Result<(Vec<Class>, Vec<Customer>), ScenarioError> {
    let mut classes = Vec::new();
    let mut customers: Vec<Customer> = Vec::new();
    for (index, system) in scenario.systems.iter().enumerate() {
        for (number, spec) in system.transactions.iter().enumerate() {
            let open = spec.rate.is_some();
            let count = if open {
                spec.most
            } else {
                spec.customers.unwrap_or(0)
            };
            let holds = customers.len() + count as usize <= MAX_OBJECTS;
            require(holds, "customers", count, "at most a million in all")?;
            let first = customers.len() as u32;
            for customer in 0..count {
                let name = format!("{}/transaction/{}/{customer}", system.name, spec.name);
                customers.push(Customer {
                    class: classes.len() as u32,
                    number: customer,
                    step: NO_INDEX,
                    count: 0,
                    began: now,
                    work: 0,
                    stream: Stream::new(scenario.seed, &name),
                    turn: customer,
                });
            }
            let mean = match spec.rate {
                Some(rate) => SECOND as f64 / rate.max(1e-9),
                None => seconds(spec.think_s) as f64,
            };
            let variation = if open {
                spec.rate_variation
            } else {
                spec.think_variation
            };
            let profile = spec.profile.iter();
            classes.push(Class {
                system: index as u32,
                number: number as u32,
                first,
                count,
                free: if open {
                    (first..first + count).rev().collect()
                } else {
                    Vec::new()
                },
                between: DurationDistribution::new(mean, variation),
                stream: Stream::new(
                    scenario.seed,
                    &format!("{}/transaction/{}", system.name, spec.name),
                ),
                profile: profile.map(|(at, high)| (seconds(*at), *high)).collect(),
                open,
                slot: 0,
                completed: 0,
                response: 0,
                refused: 0,
                inside: 0,
                integral: 0,
                since: now,
            });
        }
    }
    Ok((classes, customers))
}
