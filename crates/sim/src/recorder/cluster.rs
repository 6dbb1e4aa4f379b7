//! Records of a member of an SSI cluster: the cluster, and the ISFC logical links of its relocations.
//!
//! Nothing changes the cluster while it is simulated, so its counters stay zero. A link carries what relocations
//! send, and both of its ends count it if both are simulated; acknowledgments are not simulated.

use std::io::Write;

use super::*;
use crate::scenario::{Link, Relocation};

/// The members that a system's relocations go to, in the order in which they are first named, and those that guests
/// come from.
fn members(world: &World, system: usize) -> Vec<&str> {
    let systems = &world.scenario.systems;
    let sent = systems[system]
        .relocations
        .iter()
        .map(|relocation| relocation.to.as_str());
    let received = systems
        .iter()
        .filter(|other| other.relocations.iter().any(|one| arrives(one, system)))
        .map(|other| other.name.as_str());
    let link = systems[system].link.as_ref();
    let named = link.into_iter().flat_map(|link| &link.members);
    let mut members: Vec<&str> = Vec::new();
    for member in sent.chain(received).chain(named.map(String::as_str)) {
        if !members.contains(&member) {
            members.push(member);
        }
    }
    members
}

fn arrives(relocation: &Relocation, system: usize) -> bool {
    relocation
        .target
        .is_some_and(|[to, _]| to as usize == system)
}

/// MiB that the relocations of a system sent which are of interest.
fn sent_by(world: &World, system: usize, counts: impl Fn(&Relocation) -> bool) -> f64 {
    let relocations = &world.scenario.systems[system].relocations;
    relocations
        .iter()
        .zip(&world.relocations[system].states)
        .filter(|(relocation, _)| counts(relocation))
        .map(|(_, state)| state.sent)
        .sum()
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
        let members = members(world, self.system);
        for at in 0..members.len() {
            self.write_record("D9R2", tod, |record| {
                record.number("SCKID", at as u64 + 1);
            });
        }
        for member in &members {
            let sent = sent_by(world, self.system, |one| one.to == *member);
            let systems = &world.scenario.systems;
            let other = systems.iter().position(|other| other.name == *member);
            let received = other.map_or(0.0, |other| {
                sent_by(world, other, |one| arrives(one, self.system))
            });
            self.write_record("D9R4", tod, |record| {
                record
                    .text("ZLNODE", member)
                    .number("ZLLRCV", (received * MIB) as u64)
                    .number("ZLLSND", (sent * MIB) as u64);
            });
        }
        self.write_record("D11R1", tod, |_| {});
        self.write_record("D11R2", tod, |_| {});
    }
}
