//! A control element of the live stream.

use super::control::{ENTRY, Entry};
use super::record::{HEADER, Header};
use crate::source::PAGE;
use crate::tod;

/// The length of an element and of the first record's header after it.
pub(crate) const BEGIN: usize = ENTRY + HEADER;

/// The element at the start of bytes, if they are one, and whether a record follows it.
pub(crate) fn element(bytes: &[u8]) -> Option<(Entry, bool)> {
    let first = bytes.first_chunk::<ENTRY>()?;
    let entry = Entry::parse(first).ok().filter(|_| first[3] == 0)?;
    let length = u64::from(entry.end - entry.start) + 1;
    let record = bytes.get(ENTRY..).and_then(Header::parse);
    let begins = record.is_some_and(|header| {
        usize::from(header.length) <= PAGE - entry.first()
            && u64::from(header.length) <= length
            && tod::is_plausible(header.tod)
    });
    Some((entry, begins))
}

/// Whether a file that begins so is a capture.
pub(crate) fn begins(head: &[u8]) -> bool {
    element(head).is_some_and(|(_, begins)| begins)
}
