//! Telling from the first bytes whether a file is an SMF dump, and what a transfer has made of it.

use super::header::{HEAD, Header, RDW, SHORT};
use super::search::View;
use crate::ebcdic;
use crate::problem::ProblemKind;

/// Format of a file by its first bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sniff {
    /// SMF records after their descriptor words, in blocks or segments or without.
    Smf,
    /// SMF records in a form that cannot be read; a sentence names the form and its cure.
    Damaged(String),
    /// Something else.
    No,
}

/// How to transfer a dump so that it arrives as a stream of complete records.
pub const CURE: &str = "transfer it again in binary with record descriptor words (FTP: \
     BINARY, then QUOTE SITE RDW, then GET; or as record format U, which preserves the descriptor words of \
     blocks and records), from a copy made by IFASMFDP or IFASMFDL";

/// Bytes that are checked for the start of a record.
const LOOK: usize = 64 * 1024;
/// This many records without words are looked for.
const STARTS: usize = 4;

/// Says what a file is from its first bytes (64 KiB are checked; those of two records are enough)
/// and its size.
#[must_use]
pub fn sniff(head: &[u8], size: u64) -> Sniff {
    let head = &head[..head.len().min(LOOK)];
    if chain(head, 0, size) || view(head, size).is_blocked(0) {
        return Sniff::Smf;
    }
    if let Some(form) = form(head) {
        return Sniff::Damaged(form);
    }
    // A dump whose beginning is lost: two records back to back.
    let found = (1..head.len()).any(|at| {
        let bytes = &head[at..];
        bytes.get(2..4) == Some(&[0, 0]) && chain(head, at, size) && leads(head, at).is_some()
    });
    if found { Sniff::Smf } else { Sniff::No }
}

/// Problem kind and sentence for a file that does not begin with a record.
pub(crate) fn other(head: &[u8]) -> (ProblemKind, String) {
    match form(&head[..head.len().min(LOOK)]) {
        Some(form) => (ProblemKind::Transfer, form),
        None => (
            ProblemKind::Header,
            "the file does not begin with an SMF record".to_owned(),
        ),
    }
}

/// Whether a plausible record begins at `at`, and another after it, as far as the bytes show.
fn chain(head: &[u8], at: usize, size: u64) -> bool {
    let Some(header) = plausible(&head[at..]) else {
        return false;
    };
    let next = at + usize::from(header.length);
    if next as u64 == size || next + HEAD > head.len() {
        return next as u64 <= size;
    }
    view(head, size).continues(next as u64)
}

/// The first bytes of a file, and nothing after them.
fn view(head: &[u8], size: u64) -> View<'_> {
    const NOTHING: &Vec<u8> = &Vec::new();
    View {
        source: NOTHING,
        end: size,
        base: 0,
        bytes: head,
    }
}

/// Returns the offset of the record after the one at `at`, if its header is in these bytes.
fn leads(head: &[u8], at: usize) -> Option<usize> {
    let next = at + usize::from(plausible(&head[at..])?.length);
    (next + HEAD <= head.len()).then_some(next)
}

fn plausible(bytes: &[u8]) -> Option<Header> {
    Header::parse(bytes).filter(|header| header.check().is_ok())
}

/// The form of SMF data that cannot be read, in a sentence.
fn form(head: &[u8]) -> Option<String> {
    miscounted(head)
        .or_else(|| without_words(head))
        .or_else(|| translated(head))
}

/// Records whose descriptor words are there, with lengths in another order of bytes, or without the
/// four bytes of the word itself.
fn miscounted(head: &[u8]) -> Option<String> {
    let wrong = [(true, 0), (false, RDW), (true, RDW)];
    let &(swapped, more) = wrong
        .iter()
        .find(|&&(swapped, more)| leads_to(head, swapped, more))?;
    let how = match (swapped, more) {
        (true, 0) => "are little-endian",
        (false, _) => "do not count themselves: each length is four bytes too small",
        (true, _) => {
            "are little-endian and do not count themselves: each length is four bytes too small"
        }
    };
    Some(format!(
        "SMF records whose record descriptor words {how}; write each word as a length of two bytes, \
         big-endian, that counts the four bytes of the word, and two bytes of zero; or {CURE}"
    ))
}

/// Whether lengths read in that way lead from one record to another, or to the end.
fn leads_to(head: &[u8], swapped: bool, more: usize) -> bool {
    let length = |at: usize| {
        let &[a, b, 0, 0] = head.get(at..)?.first_chunk::<RDW>()? else {
            return None;
        };
        let length = usize::from(u16::from_be_bytes(if swapped { [b, a] } else { [a, b] })) + more;
        (length >= SHORT && wordless(&head[at + RDW..]).is_some()).then_some(length)
    };
    length(0).is_some_and(|next| next == head.len() || length(next).is_some())
}

/// Records without descriptor words: their boundaries are unrecoverable.
fn without_words(head: &[u8]) -> Option<String> {
    let first = wordless(head)?;
    // Where others of the same system and day seem to begin.
    let same = |at: &usize| {
        wordless(&head[*at..])
            .is_some_and(|other| (other.system, other.date) == (first.system, first.date))
    };
    let rest = SHORT - RDW..head.len();
    let starts: Vec<usize> = rest.filter(same).take(STARTS).collect();
    let cause = match starts.as_slice() {
        [] => "as a transfer leaves a record that does not ask for its word".to_owned(),
        [second, ..] if starts.iter().all(|&at| line_end(&head[..at])) => format!(
            "with line ends between them (the second seems to begin at byte {second}), as a transfer \
             in text mode leaves them"
        ),
        [second, others @ ..]
            if !others.is_empty() && (2..).zip(others).all(|(n, at)| *at == n * second) =>
        {
            format!(
                "each filled up to {second} bytes, as a copy into records of fixed length leaves them"
            )
        }
        [second, ..] => format!(
            "directly back to back (the second seems to begin at byte {second}), as FTP \
             leaves them without SITE RDW, and Connect:Direct but for record format U"
        ),
    };
    Some(format!(
        "SMF records without their record descriptor words, {cause}: their ends are unknown; \
         {CURE}"
    ))
}

/// Where in a record, from `from` on, another of the same system and day begins without its
/// descriptor word.
#[must_use]
pub fn swallowed(record: &[u8], from: usize) -> Option<usize> {
    // Date and system are after type and time.
    let own: &[u8; 8] = record.get(10..SHORT)?.first_chunk()?;
    let rest = record.get(from..)?;
    let mut places = rest.windows(own.len()).enumerate();
    places.find_map(|(at, bytes)| {
        let start = (from + at).checked_sub(10 - RDW)?;
        let found = bytes == own && start >= from && wordless(&record[start..]).is_some();
        found.then_some(start)
    })
}

/// The header at the start of bytes, if one can begin there without its descriptor word.
fn wordless(bytes: &[u8]) -> Option<Header> {
    // Cheap looks first: century and sign of the date.
    if *bytes.get(6)? > 1 || bytes.get(9)? & 0xC != 0xC {
        return None;
    }
    let mut whole = vec![0xFF, 0xFF, 0, 0];
    whole.extend_from_slice(&bytes[..bytes.len().min(HEAD)]);
    plausible(&whole)
}

/// Whether bytes end with the end of a line, of ASCII or EBCDIC.
fn line_end(bytes: &[u8]) -> bool {
    matches!(bytes, [.., b'\r', b'\n'] | [.., b'\n' | 0x15 | 0x25])
}

/// Records that were translated from EBCDIC to ASCII.
fn translated(head: &[u8]) -> Option<String> {
    let back: Vec<u8> = head
        .iter()
        .take(2 * HEAD)
        .map(|&byte| ebcdic::from_char(char::from(byte)).unwrap_or(byte))
        .collect();
    let begins = |bytes: &[u8]| {
        // Lengths do not survive a translation, nor do descriptor words; what is after them is
        // names and packed decimals, which do.
        let mut bytes = bytes.to_vec();
        if let Some(word) = bytes.first_chunk_mut::<RDW>() {
            *word = [0xFF, 0xFF, 0, 0];
        }
        plausible(&bytes).is_some()
    };
    let mut behind = vec![0; RDW];
    behind.extend_from_slice(&back);
    (begins(&back) || begins(&behind)).then(|| {
        format!("SMF records that were translated from EBCDIC to ASCII in transfer; {CURE}")
    })
}
