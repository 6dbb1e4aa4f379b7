//! Dispatch vectors, and which of a pool has the earliest deadline.

use crate::heap::{ABSENT, Entry, Heap};

/// Dispatch vectors: heaps of ready virtual CPUs.
#[derive(Clone, Debug)]
pub struct Vectors {
    /// By vector.
    pub heaps: Vec<Heap>,
    /// Position of each virtual CPU in its heap.
    pub positions: Vec<u32>,
    /// Position of each vector in its pool's heap.
    pub tops: Vec<u32>,
}

impl Vectors {
    /// Empty vectors.
    pub fn new(vectors: usize, vcpus: usize) -> Self {
        Self {
            heaps: vec![Heap::default(); vectors],
            positions: vec![ABSENT; vcpus],
            tops: vec![ABSENT; vectors],
        }
    }

    /// Adds a virtual CPU.
    pub fn push(&mut self, ready: &mut Heap, vector: u32, key: u64, vcpu: u32) {
        let entry = Entry { key, number: vcpu };
        self.heaps[vector as usize].set(entry, &mut self.positions);
        self.top(ready, vector);
    }

    /// Removes a virtual CPU.
    pub fn remove(&mut self, ready: &mut Heap, vector: u32, vcpu: u32) {
        self.heaps[vector as usize].remove(vcpu, &mut self.positions);
        self.top(ready, vector);
    }

    fn top(&mut self, ready: &mut Heap, vector: u32) {
        match self.heaps[vector as usize].first() {
            Some(first) => {
                let entry = Entry {
                    key: first.key,
                    number: vector,
                };
                // Often another one than the first came or went.
                if ready.at(self.tops[vector as usize]) != Some(entry) {
                    ready.set(entry, &mut self.tops);
                }
            }
            None => ready.remove(vector, &mut self.tops),
        }
    }
}
