//! Hardware counters of an interval.

use std::io::Write;

use super::*;

/// Counter sets with their bits in the mask of active ones.
const SETS: [(&str, u64); 5] = [
    ("basic", 2),
    ("problem", 4),
    ("crypto", 8),
    ("extended", 1),
    (MT_DIAGNOSTIC, 32),
];
/// The set of a core's multithreading counters, which has a record of its own.
const MT_DIAGNOSTIC: &str = "mt_diag";
/// Bytes of counters in the first of two records.
const FIRST_BYTES: usize = 1_000;

impl<W: Write> Recorder<W> {
    /// Hardware counters of every thread; they take two records if one is too short.
    pub(super) fn counters(&mut self, world: &World, tod: Ticks) {
        let Some(hardware) = &world.scenario.machine.counters else {
            return;
        };
        let table = &hardware.table;
        for core in self.cores(world).collect::<Vec<_>>() {
            let state = &world.cores[core];
            let kind = code(world, core);
            for cpu in state.first as usize..(state.first + state.threads) as usize {
                if world.cpus[cpu].state == CpuState::Offline {
                    continue;
                }
                let (number, thread) = self.address(world, cpu);
                let mut bytes = Vec::new();
                let mut diagnostic = Vec::new();
                let mut mask = 0;
                for (at, set) in table.sets.iter().enumerate() {
                    let bit = SETS.iter().find(|(name, _)| *name == set.name);
                    let Some((name, bit)) = bit else { continue };
                    let target = if *name == MT_DIAGNOSTIC {
                        &mut diagnostic
                    } else {
                        mask |= bit;
                        &mut bytes
                    };
                    for value in world.counting.set(cpu, at) {
                        target.extend_from_slice(&value.to_be_bytes());
                    }
                }
                let versions = (u64::from(table.cfvn), u64::from(table.csvn));
                let (first, rest) = bytes.split_at(bytes.len().min(FIRST_BYTES));
                for part in [first, rest] {
                    if part.is_empty() {
                        continue;
                    }
                    let more = std::ptr::eq(part, first) && !rest.is_empty();
                    self.write_record("D5R13", tod, |record| {
                        record
                            .number("ZLCPUAD", number)
                            .number("ZLCPUTY", kind)
                            .number("ZLMORE", if more { 0x80 } else { 0 })
                            .number("CCFCMFAC", mask)
                            .number("ZLCPSP", u64::from(world.scenario.machine.megahertz))
                            .number("ZLCTROF", 40)
                            .number("ZLCTRLN", part.len() as u64)
                            .number("ZLCFVN", versions.0)
                            .number("ZLCSVN", versions.1)
                            .bytes("COUNTERS", part);
                    });
                }
                if state.threads > 1 && !diagnostic.is_empty() {
                    self.write_record("D5R20", tod, |record| {
                        record
                            .number("ZLCPUAD", number)
                            .number("ZLTHRD", thread)
                            .number("ZLCORE", u64::from(state.number))
                            .number("CAL_MFMMASK", 32)
                            .number("ZLMTDOF", 36)
                            .number("ZLMTDLN", diagnostic.len() as u64)
                            .number("ZLCFVN", versions.0)
                            .number("ZLCSVN", versions.1)
                            .bytes("ZLCTRS", &diagnostic);
                    });
                }
            }
        }
    }
}
