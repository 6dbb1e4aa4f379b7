//! Dispatch vectors, and which of a pool has the earliest deadline.

use super::Pool;
use crate::heap::{ABSENT, Entry, Heap};
use crate::tournament::NO_KEY;

/// Dispatch vectors: heaps of ready virtual CPUs.
#[derive(Clone, Debug)]
pub struct Vectors {
    /// By vector.
    pub heaps: Vec<Heap>,
    /// Position of each virtual CPU in its heap.
    pub positions: Vec<u32>,
}

impl Vectors {
    /// Empty vectors.
    pub fn new(vectors: usize, vcpus: usize) -> Self {
        Self {
            heaps: vec![Heap::default(); vectors],
            positions: vec![ABSENT; vcpus],
        }
    }

    /// Adds a virtual CPU to a vector of a pool, or moves it there.
    pub fn push(&mut self, pool: &mut Pool, vector: u32, key: u64, vcpu: u32) {
        let entry = Entry { key, number: vcpu };
        self.heaps[vector as usize].set(entry, &mut self.positions);
        self.update_first(pool, vector);
    }

    /// Removes a virtual CPU.
    pub fn remove(&mut self, pool: &mut Pool, vector: u32, vcpu: u32) {
        self.heaps[vector as usize].remove(vcpu, &mut self.positions);
        self.update_first(pool, vector);
    }

    /// The key of a virtual CPU in its vector, or `NO_KEY`.
    pub fn key(&self, vector: u32, vcpu: usize) -> u64 {
        let entry = self.heaps[vector as usize].at(self.positions[vcpu]);
        entry.map_or(NO_KEY, |entry| entry.key)
    }

    fn update_first(&mut self, pool: &mut Pool, vector: u32) {
        let first = self.heaps[vector as usize].first();
        let key = first.map_or(NO_KEY, |first| first.key);
        pool.ready.set((vector - pool.vectors.0) as usize, key);
    }
}
