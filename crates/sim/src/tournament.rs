//! A tournament: the least of some keys, each of which has its place and can be replaced there.
//!
//! The keys are the leaves of a tree whose inner nodes are the least of their four children. Replacing a key plays its
//! matches again, one per level, without a branch that depends on the outcome. Nodes have no more than the key: the
//! winner is found on the way down from the root, and of equal keys it is the first one.

/// The key of a place without one.
pub const NO_KEY: u64 = u64::MAX;
/// Children of a node.
const WAYS: usize = 4;

/// The keys of some places.
#[derive(Clone, Debug)]
pub struct Tournament {
    /// The root.
    least: u64,
    /// The children of node `n` are the nodes `4n + 1` to `4n + 4`, group `n`; the leaves come last.
    groups: Vec<[u64; WAYS]>,
    /// The first leaf.
    leaves: usize,
}

impl Tournament {
    /// Places without keys.
    pub fn new(places: usize) -> Self {
        let (mut groups, mut width) = (1, WAYS);
        while width < places {
            groups += width;
            width *= WAYS;
        }
        Self {
            least: NO_KEY,
            groups: vec![[NO_KEY; WAYS]; groups],
            leaves: groups,
        }
    }

    /// The least key, or `NO_KEY`.
    pub const fn least(&self) -> u64 {
        self.least
    }

    /// The first place with the least key; without keys, the first place.
    pub fn winner(&self) -> usize {
        let mut node = 0;
        while let Some(group) = self.groups.get(node) {
            let half = 2 * usize::from((group[0] != self.least) & (group[1] != self.least));
            node = WAYS * node + 1 + half + usize::from(group[half] != self.least);
        }
        node - self.leaves
    }

    /// The key of a place, or `NO_KEY`.
    pub fn key(&self, place: usize) -> u64 {
        let at = self.leaves + place - 1;
        self.groups[at / WAYS][at % WAYS]
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        let leaves = &self.groups.as_flattened()[self.leaves - 1..];
        leaves.iter().filter(|key| **key != NO_KEY).count()
    }

    /// Replaces the key of a place; `NO_KEY` removes it.
    pub fn set(&mut self, place: usize, key: u64) {
        let mut node = self.leaves + place;
        let mut winner = key;
        while node > 0 {
            let at = (node - 1) % WAYS;
            node = (node - 1) / WAYS;
            let group = &mut self.groups[node];
            // Above a match whose winner stays the same nothing changes.
            if group[at] == winner {
                return;
            }
            group[at] = winner;
            winner = winner
                .min(group[at ^ 1])
                .min(group[at ^ 2].min(group[at ^ 3]));
        }
        self.least = winner;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn tournament_finds_first_of_least_keys() {
        let mut stream = Stream::new(1, "tournament");
        for places in [0, 1, 2, 3, 8, 100] {
            let mut tournament = Tournament::new(places);
            let mut keys = vec![NO_KEY; places];
            assert_eq!((tournament.least(), tournament.len()), (NO_KEY, 0));
            for _ in 0..20 * places {
                let place = stream.below(places as u64) as usize;
                // Few different keys, so that some are equal.
                let key = stream.below(8);
                keys[place] = if key == 0 { NO_KEY } else { key };
                tournament.set(place, keys[place]);
                let least = keys.iter().copied().min();
                assert_eq!(Some(tournament.least()), least);
                if least < Some(NO_KEY) {
                    let first = keys.iter().position(|key| Some(*key) == least);
                    assert_eq!(Some(tournament.winner()), first);
                }
                assert_eq!(tournament.key(place), keys[place]);
                let count = keys.iter().filter(|key| **key != NO_KEY).count();
                assert_eq!(tournament.len(), count);
            }
        }
    }
}
