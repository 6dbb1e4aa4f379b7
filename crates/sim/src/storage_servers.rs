//! What members of a cluster share behind their control units: the ranks of a storage server, and the extents of
//! its volumes.
//!
//! Each system starts I/O to a volume by itself, and the storage server runs operations of several systems to one
//! volume at the same time. Reads that miss the cache of the server wait for one of its ranks, whichever system they
//! are from. An operation whose extents are in use waits for what uses them, if one of both writes.

use crate::scenario::Scenario;
use crate::time::Ticks;

/// The storage servers of all systems.
#[derive(Clone, Debug, Default)]
pub struct StorageServers {
    /// When each rank of a server has read what missed its cache; empty if ranks are not simulated.
    ranks: Vec<Vec<Ticks>>,
    /// Of each shared volume, when the operations that read and that write it so far have ended.
    ends: Vec<[Ticks; 2]>,
}

impl StorageServers {
    /// The storage servers of a scenario, at rest.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let mut servers = Self::default();
        for system in &scenario.systems {
            for unit in &system.control_units {
                let number = unit.server as usize;
                if servers.ranks.len() <= number {
                    servers.ranks.resize(number + 1, Vec::new());
                }
                servers.ranks[number] = vec![0; unit.ranks.unwrap_or(0) as usize];
            }
            for shared in system.volumes.iter().filter_map(|volume| volume.shared) {
                let count = servers.ends.len().max(shared as usize + 1);
                servers.ends.resize(count, [0; 2]);
            }
        }
        servers
    }

    /// Returns the disconnect time of a read that missed the cache: the rank that is free first reads it.
    pub(crate) fn read(&mut self, server: u32, asked: Ticks, read: Ticks) -> Ticks {
        let ranks = self.ranks.get_mut(server as usize);
        match ranks.and_then(|ranks| ranks.iter_mut().min()) {
            Some(free) => {
                *free = asked.max(*free) + read;
                *free - asked
            }
            None => read,
        }
    }

    /// Returns the time that an operation waits for its extents, which others use.
    pub(crate) fn wait(&self, volume: u32, asked: Ticks, write: bool) -> Ticks {
        let [read, written] = self.ends[volume as usize];
        let free = if write { read.max(written) } else { written };
        free.saturating_sub(asked)
    }

    /// An operation uses its extents until a moment.
    pub(crate) fn uses(&mut self, volume: u32, until: Ticks, write: bool) {
        let end = &mut self.ends[volume as usize][usize::from(write)];
        *end = until.max(*end);
    }
}
