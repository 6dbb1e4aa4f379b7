//! A heap whose entries can be moved and removed: the base of the event queue and of dispatch vectors.

/// Children of a node: four share a cache line.
const WAYS: usize = 4;
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
    /// Creates an empty heap with this capacity.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            entries: Vec::with_capacity(capacity),
        }
    }

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
            let parent = (position - 1) / WAYS;
            if self.entries[parent] < entry {
                break;
            }
            self.store(position, self.entries[parent], positions);
            position = parent;
        }
        self.store(position, entry, positions);
    }

    fn down(&mut self, mut position: usize, entry: Packed, positions: &mut [u32]) {
        loop {
            let first = position * WAYS + 1;
            let end = (first + WAYS).min(self.entries.len());
            let Some(children) = self.entries.get(first..end) else {
                break;
            };
            let Some((mut least, rest)) = children.split_first().map(|(one, rest)| (*one, rest))
            else {
                break;
            };
            let mut child = 0;
            for (at, other) in rest.iter().enumerate() {
                let before = *other < least;
                least = std::hint::select_unpredictable(before, *other, least);
                child = std::hint::select_unpredictable(before, at + 1, child);
            }
            if entry < least {
                break;
            }
            self.store(position, least, positions);
            position = first + child;
        }
        self.store(position, entry, positions);
    }

    fn store(&mut self, position: usize, entry: Packed, positions: &mut [u32]) {
        self.entries[position] = entry;
        positions[entry as u32 as usize] = position as u32;
    }
}
