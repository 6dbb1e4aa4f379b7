//! Records of a member of an SSI cluster: the cluster, and the ISFC logical links of its relocations.
//!
//! Nothing changes the cluster while it is simulated, so its counters stay zero. A link carries what relocations
//! send; what comes back is not simulated.

use std::io::Write;

use super::*;
use crate::scenario::Link;

/// The members that a system's relocations go to, in the order in which they are first named.
fn members(world: &World, system: usize) -> Vec<&str> {
    let mut members: Vec<&str> = Vec::new();
    for relocation in &world.scenario.systems[system].relocations {
        if !members.contains(&relocation.to.as_str()) {
            members.push(&relocation.to);
        }
    }
    members
}

impl<W: Write> Recorder<W> {
    fn link<'w>(&self, world: &'w World) -> Option<&'w Link> {
        world.scenario.systems[self.system].link.as_ref()
    }

    /// The cluster, and an end point and a logical link for each other member.
    pub(super) fn cluster_configuration(&mut self, world: &World, tod: Ticks) {
        let Some(link) = self.link(world) else { return };
        let members = members(world, self.system);
        for (at, member) in members.iter().enumerate() {
            self.write_record("D1R23", tod, |record| {
                record
                    .number("ZLEPID", at as u64 + 1)
                    .text("ZLTYPE", "")
                    .text("ZLACT", "")
                    .text("ZLPORT", "")
                    .text("ZLASSOC", "")
                    .text("ZLONODE", member)
                    .text("ZLOPORT", "")
                    .text("ZLNAME", "");
            });
        }
        for member in &members {
            self.write_record("D1R24", tod, |record| {
                record
                    .text("ZLNODE", member)
                    .number("ZLDEVCT", link.devices.len() as u64);
                for (at, device) in link.devices.iter().enumerate() {
                    record.element("ZLDEVS", at, u64::from(*device));
                }
            });
        }
        self.write_record("D1R25", tod, |record| {
            record.text("SYSPLXNM", &link.cluster);
        });
    }

    /// Samples of the cluster and its links.
    pub(super) fn cluster(&mut self, world: &World, tod: Ticks) {
        if self.link(world).is_none() {
            return;
        }
        let relocations = &world.scenario.systems[self.system].relocations;
        let members = members(world, self.system);
        for at in 0..members.len() {
            self.write_record("D9R2", tod, |record| {
                record.number("SCKID", at as u64 + 1);
            });
        }
        for member in &members {
            let sent: f64 = relocations
                .iter()
                .zip(&world.relocations[self.system].states)
                .filter(|(relocation, _)| relocation.to == *member)
                .map(|(_, state)| state.sent)
                .sum();
            self.write_record("D9R4", tod, |record| {
                record
                    .text("ZLNODE", member)
                    .number("ZLLSND", (sent * MIB) as u64);
            });
        }
        self.write_record("D11R1", tod, |_| {});
        self.write_record("D11R2", tod, |_| {});
    }
}
