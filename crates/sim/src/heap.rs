//! A heap whose entries can be moved and removed: the base of dispatch vectors and of what waits for physical cores.

/// The position of what is in no heap.
pub const ABSENT: u32 = u32::MAX;

/// An entry: the least key comes first, and among equal keys the least number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Sort key.
    pub key: u64,
    /// The item; its index in the array of positions.
    pub number: u32,
}

impl Entry {
    const fn packed(self) -> Packed {
        (self.key as Packed) << 32 | self.number as Packed
    }

    const fn unpacked(packed: Packed) -> Self {
        Self {
            key: (packed >> 32) as u64,
            number: packed as u32,
        }
    }
}

/// Key and number of an entry as one number, so that one comparison orders both.
type Packed = u128;

/// A heap of entries. Positions are kept in an array outside, which several heaps share if nothing is in
/// two of them.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    entries: Vec<Packed>,
}

impl Heap {
    /// The first entry.
    pub fn first(&self) -> Option<Entry> {
        self.entries.first().copied().map(Entry::unpacked)
    }

    /// The entry at a position.
    pub fn at(&self, position: u32) -> Option<Entry> {
        let packed = self.entries.get(position as usize).copied();
        packed.map(Entry::unpacked)
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an entry, or moves the one of this number.
    pub fn set(&mut self, entry: Entry, positions: &mut [u32]) {
        let position = positions[entry.number as usize];
        let packed = entry.packed();
        if position == ABSENT {
            self.entries.push(packed);
            self.up(self.entries.len() - 1, packed, positions);
        } else if packed < self.entries[position as usize] {
            self.up(position as usize, packed, positions);
        } else {
            self.down(position as usize, packed, positions);
        }
    }

    /// Removes the entry of this number, if it is here.
    pub fn remove(&mut self, number: u32, positions: &mut [u32]) {
        let position = positions[number as usize];
        if position == ABSENT {
            return;
        }
        positions[number as usize] = ABSENT;
        let Some(last) = self.entries.pop() else {
            return;
        };
        let position = position as usize;
        if position == self.entries.len() {
            return;
        }
        if last < self.entries[position] {
            self.up(position, last, positions);
        } else {
            self.down(position, last, positions);
        }
    }

    fn up(&mut self, mut position: usize, entry: Packed, positions: &mut [u32]) {
        while position > 0 {
            let parent = (position - 1) / 2;
            if self.entries[parent] < entry {
                break;
            }
            self.store(position, self.entries[parent], positions);
            position = parent;
        }
        self.store(position, entry, positions);
    }

    /// Lets an entry take the place of the lesser children down to a leaf, and rise from there: most are late ones.
    fn down(&mut self, mut position: usize, entry: Packed, positions: &mut [u32]) {
        let mut child = 2 * position + 1;
        while child < self.entries.len() {
            if let Some(right) = self.entries.get(child + 1) {
                // Which one it is cannot be predicted, so there is no branch.
                child += usize::from(*right < self.entries[child]);
            }
            self.store(position, self.entries[child], positions);
            position = child;
            child = 2 * position + 1;
        }
        self.up(position, entry, positions);
    }

    fn store(&mut self, position: usize, entry: Packed, positions: &mut [u32]) {
        self.entries[position] = entry;
        positions[entry as u32 as usize] = position as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn heap_has_least_of_what_is_in_it_first() {
        let mut stream = Stream::new(1, "heap");
        let mut heap = Heap::default();
        let mut positions = vec![ABSENT; 50];
        let mut keys = [None; 50];
        for _ in 0..5_000 {
            let number = stream.below(50) as usize;
            if stream.below(3) == 0 {
                keys[number] = None;
                heap.remove(number as u32, &mut positions);
            } else {
                // Few different keys, so that some are equal.
                let key = stream.below(20);
                keys[number] = Some(key);
                let number = number as u32;
                heap.set(Entry { key, number }, &mut positions);
            }
            let numbered = (0..50).zip(keys);
            let entries = numbered.filter_map(|(number, key)| key.map(|key| Entry { key, number }));
            assert_eq!(heap.first(), entries.clone().min());
            assert_eq!(heap.len(), entries.clone().count());
            for entry in entries {
                assert_eq!(heap.at(positions[entry.number as usize]), Some(entry));
            }
        }
    }
}
