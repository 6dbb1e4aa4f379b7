//! Subjects: whom a row is about, numbered as they are met.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use crate::column::Value;

/// How many subjects of one table and system are told apart; there are thousands, junk that looks like more is
/// bounded by this.
pub(crate) const MAX_SUBJECTS: usize = 1_000_000;

/// A row that is about no subject that is kept track of.
pub(crate) const NOBODY: u32 = u32::MAX;

/// The subjects of one table of one system.
#[derive(Debug, Default)]
pub(crate) struct Subjects {
    /// All keys one after the other, and where each ends.
    keys: Vec<u8>,
    ends: Vec<usize>,
    /// Slots by hash of the key; keys of one hash follow each other through `same`.
    slots: HashMap<u64, u32>,
    same: Vec<u32>,
    /// Which subject came after each the last time: the order of subjects is nearly the same in every interval, so
    /// that most rows need one comparison and no hash.
    after: Vec<u32>,
    last: Option<u32>,
    hasher: RandomState,
    key: Vec<u8>,
}

/// A row's subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Met before.
    Known(u32),
    /// Met for the first time.
    New(u32),
    /// There are too many.
    Full,
}

impl Subjects {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The subject that `values` identify.
    pub(crate) fn find<'v>(&mut self, values: impl Iterator<Item = Value<'v>>) -> Found {
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        values.for_each(|value| encode(value, &mut key));
        let found = self.find_key(&key);
        self.key = key;
        found
    }

    fn find_key(&mut self, key: &[u8]) -> Found {
        if let Some(&guess) = self.last.and_then(|last| self.after.get(last as usize))
            && self.bytes(guess) == Some(key)
        {
            self.last = Some(guess);
            return Found::Known(guess);
        }
        let mut hasher = self.hasher.build_hasher();
        hasher.write(key);
        let hash = hasher.finish();
        let mut slot = self.slots.get(&hash).copied().unwrap_or(NOBODY);
        while let Some(bytes) = self.bytes(slot) {
            if bytes == key {
                self.follow(slot);
                return Found::Known(slot);
            }
            slot = self.same[slot as usize];
        }
        if self.ends.len() >= MAX_SUBJECTS {
            return Found::Full;
        }
        let slot = self.ends.len() as u32;
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len());
        self.same
            .push(self.slots.insert(hash, slot).unwrap_or(NOBODY));
        self.after.push(NOBODY);
        self.follow(slot);
        Found::New(slot)
    }

    fn follow(&mut self, slot: u32) {
        if let Some(before) = self.last.replace(slot) {
            self.after[before as usize] = slot;
        }
    }

    fn bytes(&self, slot: u32) -> Option<&[u8]> {
        let slot = slot as usize;
        let end = *self.ends.get(slot)?;
        let start = if slot == 0 { 0 } else { self.ends[slot - 1] };
        Some(&self.keys[start..end])
    }

    /// The subject as a person reads it: its values joined by `/`; empty where the system is the subject.
    pub(crate) fn name(&self, slot: u32) -> String {
        decode(self.bytes(slot).unwrap_or(&[]))
    }
}

const NULL: u8 = 0;
const INT: u8 = 1;
const FLOAT: u8 = 2;
const BOOL: u8 = 3;
const TEXT: u8 = 4;

fn encode(value: Value<'_>, key: &mut Vec<u8>) {
    let (tag, eight) = match value {
        Value::Null => return key.push(NULL),
        Value::Text(text) => {
            key.push(TEXT);
            key.extend((text.len() as u32).to_be_bytes());
            return key.extend_from_slice(text);
        }
        Value::Int(value) => (INT, value.to_be_bytes()),
        Value::Float(value) => (FLOAT, value.to_bits().to_be_bytes()),
        Value::Bool(value) => (BOOL, u64::from(value).to_be_bytes()),
    };
    key.push(tag);
    key.extend(eight);
}

fn decode(mut key: &[u8]) -> String {
    let mut parts = Vec::new();
    while let Some((&tag, rest)) = key.split_first() {
        key = rest;
        if tag == NULL {
            parts.push(String::new());
        } else if tag == TEXT {
            let (len, rest) = key.split_first_chunk::<4>().unwrap_or((&[0; 4], &[]));
            let (text, rest) = rest
                .split_at_checked(u32::from_be_bytes(*len) as usize)
                .unwrap_or((rest, &[]));
            parts.push(String::from_utf8_lossy(text).into_owned());
            key = rest;
        } else {
            let (eight, rest) = key.split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
            parts.push(match tag {
                FLOAT => f64::from_be_bytes(*eight).to_string(),
                BOOL => (i64::from_be_bytes(*eight) != 0).to_string(),
                _ => i64::from_be_bytes(*eight).to_string(),
            });
            key = rest;
        }
    }
    parts.join("/")
}

/// The same for the same value in every run; for noticing that a value has changed.
pub(crate) fn fingerprint(value: Value<'_>) -> u64 {
    let mut key = Vec::new();
    encode(value, &mut key);
    // FNV-1a: the values are compared with themselves, so nothing is gained by making two alike.
    key.iter().fold(0xCBF2_9CE4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_keep_their_slot_and_have_a_name() {
        let mut subjects = Subjects::default();
        let linux = [Value::Text(b"LINUX1"), Value::Int(-3)];
        let other = [Value::Text(b"LINUX"), Value::Int(13)];
        assert_eq!(subjects.find(linux.into_iter()), Found::New(0));
        assert_eq!(subjects.find(other.into_iter()), Found::New(1));
        for _ in 0..3 {
            assert_eq!(subjects.find(linux.into_iter()), Found::Known(0));
            assert_eq!(subjects.find(other.into_iter()), Found::Known(1));
        }
        assert_eq!(subjects.find(other.into_iter()), Found::Known(1));
        assert_eq!(subjects.name(0), "LINUX1/-3");
        assert_eq!(subjects.find([].into_iter()), Found::New(2));
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
            assert_eq!(subjects.find([value].into_iter()), Found::New(slot));
        }
        let names: Vec<String> = (0..5).map(|slot| subjects.name(slot)).collect();
        assert_eq!(names, ["", "1", "true", "1", "1"]);
    }

    #[test]
    fn a_change_changes_the_fingerprint() {
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
