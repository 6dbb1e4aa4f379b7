//! Records of power: what the machine attributes to partitions, infrastructure and resources that belong to none.
//!
//! A partition has the idle power of its entitlement, the power of its storage and of its channel paths, and a dynamic
//! part for the time that its cores are dispatched. Each reading is the mean of its monitor interval.

use std::collections::HashSet;
use std::io::Write;

use super::*;

const MIB_PER_GIB: f64 = 1_024.0;
const MILLIWATTS: f64 = 1_000.0;

impl<W: Write> Recorder<W> {
    pub(super) fn power(&mut self, world: &World, tod: Ticks) {
        let Some(costs) = &world.scenario.machine.power else {
            return;
        };
        let dispatched: Vec<Ticks> = world.cores.iter().map(|core| core.dispatched).collect();
        let own = &world.scenario.systems[self.system];
        let power = &mut self.power;
        if power.dispatched.is_empty() {
            power.begin = world.now;
        } else {
            let elapsed = (world.now - power.last).max(1) as f64;
            let mut partitions = vec![[0.0; 3]; world.scenario.partitions.len()];
            let mut entitled = 0.0;
            for (partition, state) in world.scenario.partitions.iter().zip(&mut partitions) {
                let entitlement: f64 = partition.shares.iter().map(|one| one.entitlement).sum();
                entitled += entitlement;
                state[0] = costs.core_idle_w * entitlement;
            }
            for share in &world.shares {
                let cores = share.cores.iter().map(|core| *core as usize);
                let used: Ticks = cores
                    .map(|core| dispatched[core] - power.dispatched[core])
                    .sum();
                partitions[share.partition as usize][0] +=
                    costs.core_busy_w * (used as f64 / elapsed);
            }
            for system in &world.scenario.systems {
                let paths: HashSet<u8> = system
                    .control_units
                    .iter()
                    .flat_map(|unit| unit.chpids.iter().copied())
                    .collect();
                let state = &mut partitions[system.partition as usize];
                state[1] += costs.storage_w * (system.storage_mib / MIB_PER_GIB);
                state[2] += costs.channel_w * paths.len() as f64;
            }
            let cores: f64 = (world.scenario.machine.cores.iter())
                .map(|cores| f64::from(cores.count))
                .sum();
            let unassigned = costs.unassigned_w + costs.core_idle_w * (cores - entitled).max(0.0);
            let all: f64 = partitions.iter().flatten().sum();
            let total = all + unassigned + costs.infrastructure_w;
            let [cpu, storage, io] = partitions[own.partition as usize];
            let readings = (world.now - power.begin) / seconds(costs.reading_s).max(1);
            let read = readings - power.readings;
            power.readings = readings;
            let watts = [cpu, storage, io, total, unassigned, costs.infrastructure_w];
            for (sum, watts) in power.sums.iter_mut().zip(watts) {
                *sum += read * (watts * MILLIWATTS + 0.5) as u64;
            }
        }
        power.last = world.now;
        power.dispatched = dispatched;
        let (name, sums, readings) = (
            &world.scenario.partitions[own.partition as usize].name,
            power.sums,
            power.readings,
        );
        let read_at = power.begin + readings * seconds(costs.reading_s).max(1);
        let sees_machine = own.cp.unparking.global_performance_data;
        self.write_record("D0R25", tod, |record| {
            record
                .number("POWCOUNT", readings)
                .number("POWTOD", read_at)
                .text("POWPARNM", name)
                .number("POWCPU", sums[0])
                .number("POWSTO", sums[1])
                .number("POWIO", sums[2]);
            if sees_machine {
                record
                    .number("POWTOTCPC", sums[3])
                    .number("POWUNASGN", sums[4])
                    .number("ZLPOWINF", sums[5]);
            }
        });
    }
}
