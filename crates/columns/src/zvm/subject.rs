//! Subjects: whom a row is about, numbered as they are found.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use crate::core::column::Value;

/// Limit on subjects per table and system. Real systems have thousands; corrupt data must not exhaust memory.
pub(crate) const MAX_SUBJECTS: usize = 1_000_000;

/// A row that is about no subject that is kept track of.
pub(crate) const UNTRACKED: u32 = u32::MAX;

/// The subjects of one table of one system.
#[derive(Debug, Default)]
pub(crate) struct Subjects {
    /// All keys back to back, and where each ends.
    keys: Vec<u64>,
    ends: Vec<usize>,
    /// Slots by hash of the key; keys of one hash follow each other through `same`.
    slots: HashMap<u64, u32>,
    same: Vec<u32>,
    /// Which subject came after each the last time: the order of subjects is nearly the same in every interval, so
    /// that most rows need one comparison and no hash.
    after: Vec<u32>,
    last: Option<u32>,
    hasher: RandomState,
    key: Vec<u64>,
}

/// A row's subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// Met before.
    Known(u32),
    /// Met for the first time.
    New(u32),
    /// There are too many.
    Full,
}

impl Subjects {
    /// Number of subjects.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The subject that `values` identify.
    pub(crate) fn find<'v>(&mut self, values: impl Iterator<Item = Value<'v>>) -> Lookup {
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        values.for_each(|value| encode(value, &mut key));
        let found = self.find_key(&key);
        self.key = key;
        found
    }

    fn find_key(&mut self, key: &[u64]) -> Lookup {
        if let Some(&guess) = self.last.and_then(|last| self.after.get(last as usize))
            && self.words(guess).is_some_and(|words| same(words, key))
        {
            self.last = Some(guess);
            return Lookup::Known(guess);
        }
        let mut hasher = self.hasher.build_hasher();
        key.iter().for_each(|word| hasher.write_u64(*word));
        let hash = hasher.finish();
        let mut slot = self.slots.get(&hash).copied().unwrap_or(UNTRACKED);
        while let Some(words) = self.words(slot) {
            if same(words, key) {
                self.follow(slot);
                return Lookup::Known(slot);
            }
            slot = self.same[slot as usize];
        }
        if self.ends.len() >= MAX_SUBJECTS {
            return Lookup::Full;
        }
        let slot = self.ends.len() as u32;
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len());
        self.same
            .push(self.slots.insert(hash, slot).unwrap_or(UNTRACKED));
        self.after.push(UNTRACKED);
        self.follow(slot);
        Lookup::New(slot)
    }

    fn follow(&mut self, slot: u32) {
        if let Some(before) = self.last.replace(slot) {
            self.after[before as usize] = slot;
        }
    }

    fn words(&self, slot: u32) -> Option<&[u64]> {
        let slot = slot as usize;
        let end = *self.ends.get(slot)?;
        let start = if slot == 0 { 0 } else { self.ends[slot - 1] };
        Some(&self.keys[start..end])
    }

    /// The subject as a person reads it: its values joined by `/`; empty where the system is the subject.
    pub(crate) fn name(&self, slot: u32) -> String {
        decode(self.words(slot).unwrap_or(&[]))
    }
}

/// Whether two keys are equal. Compared word by word: a key just written cannot be read in larger units at once.
#[inline]
fn same(a: &[u64], b: &[u64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b)
}

// A value is a tag and its word; a text is a tag with its length and as many words as it fills.
const NULL: u64 = 0;
const INT: u64 = 1;
const FLOAT: u64 = 2;
const BOOL: u64 = 3;
const TEXT: u64 = 4;
const LENGTH_SHIFT: u32 = 8;

fn encode(value: Value<'_>, key: &mut Vec<u64>) {
    let (tag, word) = match value {
        Value::Null => return key.push(NULL),
        Value::Text(text) => {
            key.push(TEXT | (text.len() as u64) << LENGTH_SHIFT);
            let (words, rest) = text.as_chunks::<8>();
            key.extend(words.iter().map(|word| u64::from_be_bytes(*word)));
            if !rest.is_empty() {
                key.push(
                    rest.iter()
                        .fold(0, |word, &byte| word << 8 | u64::from(byte)),
                );
            }
            return;
        }
        Value::Int(value) => (INT, value.cast_unsigned()),
        Value::Float(value) => (FLOAT, value.to_bits()),
        Value::Bool(value) => (BOOL, u64::from(value)),
    };
    key.extend([tag, word]);
}

fn decode(key: &[u64]) -> String {
    let mut parts = Vec::new();
    let mut words = key.iter().copied();
    while let Some(tag) = words.next() {
        if tag == NULL {
            parts.push(String::new());
        } else if tag & ((1 << LENGTH_SHIFT) - 1) == TEXT {
            let len = (tag >> LENGTH_SHIFT) as usize;
            let mut text = Vec::with_capacity(len);
            while text.len() < len {
                let bytes = words.next().unwrap_or(0).to_be_bytes();
                text.extend_from_slice(&bytes[8 - (len - text.len()).min(8)..]);
            }
            parts.push(String::from_utf8_lossy(&text).into_owned());
        } else {
            let word = words.next().unwrap_or(0);
            parts.push(match tag {
                FLOAT => f64::from_bits(word).to_string(),
                BOOL => (word != 0).to_string(),
                _ => word.cast_signed().to_string(),
            });
        }
    }
    parts.join("/")
}

/// The same for the same value in every run; for noticing that a value has changed.
pub(crate) fn fingerprint(value: Value<'_>) -> u64 {
    let mut key = Vec::new();
    encode(value, &mut key);
    // FNV-1a over words: the values are compared with those of the same column, so nothing is gained by making two
    // alike.
    key.iter().fold(0xCBF2_9CE4_8422_2325, |hash: u64, word| {
        let mixed = (hash ^ word).wrapping_mul(0x0100_0000_01B3);
        mixed ^ mixed >> 32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_keep_slot_and_name() {
        let mut subjects = Subjects::default();
        let linux = [Value::Text(b"LINUX ON Z 1"), Value::Int(-3)];
        let other = [Value::Text(b"LINUX"), Value::Int(13)];
        assert_eq!(subjects.find(linux.into_iter()), Lookup::New(0));
        assert_eq!(subjects.find(other.into_iter()), Lookup::New(1));
        for _ in 0..3 {
            assert_eq!(subjects.find(linux.into_iter()), Lookup::Known(0));
            assert_eq!(subjects.find(other.into_iter()), Lookup::Known(1));
        }
        assert_eq!(subjects.find(other.into_iter()), Lookup::Known(1));
        assert_eq!(subjects.name(0), "LINUX ON Z 1/-3");
        assert_eq!(subjects.find([].into_iter()), Lookup::New(2));
        assert_eq!(subjects.name(2), "");
        assert_eq!(subjects.len(), 3);
    }

    #[test]
    fn values_of_different_kinds_are_different_subjects() {
        let mut subjects = Subjects::default();
        let all = [
            Value::Null,
            Value::Int(1),
            Value::Bool(true),
            Value::Float(1.0),
            Value::Text(b"1"),
        ];
        for (slot, value) in (0..).zip(all) {
            assert_eq!(subjects.find([value].into_iter()), Lookup::New(slot));
        }
        let names: Vec<String> = (0..5).map(|slot| subjects.name(slot)).collect();
        assert_eq!(names, ["", "1", "true", "1", "1"]);
    }

    #[test]
    fn change_alters_fingerprint() {
        assert_eq!(
            fingerprint(Value::Text(b"a")),
            fingerprint(Value::Text(b"a"))
        );
        assert_ne!(
            fingerprint(Value::Text(b"a")),
            fingerprint(Value::Text(b"b"))
        );
        assert_ne!(fingerprint(Value::Int(0)), fingerprint(Value::Null));
    }
}
