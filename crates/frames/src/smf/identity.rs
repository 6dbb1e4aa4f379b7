//! Whose records are: several streams of records may have one system's name.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use super::header::Header;
use super::section::{Section, Triplet};
use crate::source::ReadAt;

/// Positions of writer, machine and interval length in the records of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Type of the record.
    pub record: u16,
    /// Its subtype, if those of a type differ.
    pub subtype: Option<u16>,
    /// Fields in which two streams of one system name differ.
    pub parts: Vec<Part>,
}

/// Some bytes of the first section of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Triplet of the section.
    pub triplet: Triplet,
    /// Start of the bytes in the section.
    pub at: u16,
    /// Number of them.
    pub length: u16,
}

impl Identity {
    /// The bytes that identify a record's stream, those that the record lacks as zeros; false if it has none.
    fn read(&self, record: &[u8], into: &mut Vec<u8>) -> bool {
        into.clear();
        let mut any = false;
        for part in &self.parts {
            let bytes = match part.triplet.section(record) {
                Section::At { offset, length, .. }
                    if u32::from(part.at + part.length) <= length =>
                {
                    let start = offset as usize + usize::from(part.at);
                    record.get(start..start + usize::from(part.length))
                }
                _ => None,
            };
            any |= bytes.is_some();
            match bytes {
                Some(bytes) => into.extend(bytes),
                None => into.resize(into.len() + usize::from(part.length), 0),
            }
        }
        any
    }
}

/// The name that represents a stream in this file, and that of its system in the records.
pub type Alias = ([u8; 4], [u8; 4]);

/// Streams while a file is walked. The first of a system and type keeps the system's name; each other one gets a
/// name that no system has.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    identities: Vec<Identity>,
    names: HashMap<([u8; 4], u16, Vec<u8>), [u8; 4]>,
    first: HashMap<([u8; 4], u16), Vec<u8>>,
    aliases: Vec<Alias>,
    renamed: Vec<(u64, [u8; 4])>,
    read: Vec<u8>,
}

/// More streams are not distinguished: they keep the system's name.
const MAX_STREAMS: usize = 1000;
/// More records are not renamed; 16 bytes each.
const MAX_RENAMED: usize = 16_000_000;

impl Streams {
    pub(crate) fn new(identities: &[Identity]) -> Self {
        Self {
            identities: identities.to_vec(),
            ..Self::default()
        }
    }

    /// The name of the stream of a record.
    #[inline]
    pub(crate) fn name(&mut self, header: &Header, record: &[u8]) -> [u8; 4] {
        let mut identities = self.identities.iter();
        let own = |one: &&Identity| {
            one.record == header.record && (one.subtype.is_none() || one.subtype == header.subtype)
        };
        let Some(identity) = identities.find(own) else {
            return header.system;
        };
        if !identity.read(record, &mut self.read) {
            return header.system;
        }
        let key = (header.system, header.record);
        match self.first.get(&key) {
            Some(first) if *first == self.read => return header.system,
            Some(_) => {}
            None => {
                self.first.insert(key, self.read.clone());
                return header.system;
            }
        }
        let key = (header.system, header.record, std::mem::take(&mut self.read));
        if let Some(&name) = self.names.get(&key) {
            self.read = key.2;
            return name;
        }
        if self.aliases.len() >= MAX_STREAMS {
            self.read = key.2;
            return header.system;
        }
        // EBCDIC: a tilde, which is in no system's name, and three digits.
        let number = self.aliases.len() as u16;
        let digit = |place: u16| 0xF0 + (number / place % 10) as u8;
        let name = [0xA1, digit(100), digit(10), digit(1)];
        self.aliases.push((name, header.system));
        self.names.insert(key, name);
        name
    }

    /// A record of this name counts: readers see the name of its stream.
    pub(crate) fn rename(&mut self, at: u64, name: [u8; 4]) {
        if self.renamed.len() < MAX_RENAMED {
            self.renamed.push((at + NAME, name));
        }
    }

    pub(crate) fn finish(self) -> (Vec<Alias>, Vec<(u64, [u8; 4])>) {
        (self.aliases, self.renamed)
    }
}

/// Position of the system's name in a record.
const NAME: u64 = 14;

/// A stream of records in which those of several streams of one name have names of their own.
pub(crate) struct Renamed {
    pub source: Arc<dyn ReadAt>,
    /// Position of a name, in rising order, and which.
    pub names: Vec<(u64, [u8; 4])>,
}

impl ReadAt for Renamed {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read_at(offset, buf)?;
        let end = offset + count as u64;
        let from = self.names.partition_point(|(at, _)| at + 4 <= offset);
        for (at, name) in self.names[from..].iter().take_while(|(at, _)| *at < end) {
            for (place, &byte) in (*at..).zip(name) {
                if (offset..end).contains(&place) {
                    buf[(place - offset) as usize] = byte;
                }
            }
        }
        Ok(count)
    }

    fn size(&self) -> u64 {
        self.source.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_from_any_start() {
        let bytes: Vec<u8> = (0..40).collect();
        let names = vec![(5, *b"abcd"), (12, *b"efgh")];
        let mut expected = bytes.clone();
        expected[5..9].copy_from_slice(b"abcd");
        expected[12..16].copy_from_slice(b"efgh");
        let renamed = Renamed {
            source: Arc::new(bytes),
            names,
        };
        for start in 0..40 {
            for end in start..=40 {
                let mut found = vec![0; end - start];
                assert_eq!(
                    renamed.read_at(start as u64, &mut found).unwrap(),
                    end - start
                );
                assert_eq!(found, expected[start..end]);
            }
        }
    }
}
