//! Telling from the first bytes whether a file is an SMF dump, and what a transfer has made of it.

use super::header::{Header, LONG, RDW};
use super::search::View;
use crate::ebcdic;
use crate::problem::ProblemKind;

/// What the first bytes of a file say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sniff {
    /// A stream of SMF records, each behind its descriptor word.
    Smf,
    /// SMF records in a form that cannot be read; a sentence names the form and its cure.
    Damaged(String),
    /// Something else.
    No,
}

/// How to transfer a dump so that it arrives as a stream of whole records.
pub(crate) const CURE: &str = "transfer it again in binary with record descriptor words (FTP: \
     BINARY, then QUOTE SITE RDW, then GET), from a copy made by IFASMFDP or IFASMFDL";

/// How much is looked at for a beginning.
const LOOK: usize = 64 * 1024;
/// A block is at least this long (documented for data sets on disk: 8 bytes).
const BLOCK: usize = 8;

/// Says what a file is from its first bytes (64 KiB are looked at; those of two records are enough)
/// and its size.
#[must_use]
pub fn sniff(head: &[u8], size: u64) -> Sniff {
    let head = &head[..head.len().min(LOOK)];
    if chain(head, 0, size) {
        return Sniff::Smf;
    }
    if let Some(form) = form(head) {
        return Sniff::Damaged(form);
    }
    // A dump whose beginning is lost: two records one behind the other.
    let found = (1..head.len()).any(|at| {
        let bytes = &head[at..];
        bytes.get(2..4) == Some(&[0, 0]) && chain(head, at, size) && leads(head, at).is_some()
    });
    if found { Sniff::Smf } else { Sniff::No }
}

/// What a file is that does not begin with a record: kind of problem and sentence.
pub(crate) fn other(head: &[u8]) -> (ProblemKind, String) {
    match form(&head[..head.len().min(LOOK)]) {
        Some(form) => (ProblemKind::Transfer, form),
        None => (
            ProblemKind::Header,
            "the file does not begin with an SMF record".to_owned(),
        ),
    }
}

/// Whether a plausible record begins at `at`, and another behind it as far as the bytes show.
fn chain(head: &[u8], at: usize, size: u64) -> bool {
    let Some(header) = plausible(&head[at..]) else {
        return false;
    };
    let next = at + usize::from(header.length);
    if next as u64 == size || next + LONG > head.len() {
        return next as u64 <= size;
    }
    let view = View {
        source: &Vec::new(),
        end: size,
        base: 0,
        bytes: head,
    };
    view.continues(next as u64)
}

/// Where the record at `at` leads to, if that is in these bytes too.
fn leads(head: &[u8], at: usize) -> Option<usize> {
    let next = at + usize::from(plausible(&head[at..])?.length);
    (next + LONG <= head.len()).then_some(next)
}

fn plausible(bytes: &[u8]) -> Option<Header> {
    Header::parse(bytes).filter(|header| header.check().is_ok())
}

/// The form of SMF data that cannot be read, in a sentence.
fn form(head: &[u8]) -> Option<String> {
    blocks(head)
        .or_else(|| spanned(head))
        .or_else(|| without_words(head))
        .or_else(|| translated(head))
}

/// Records in blocks, each block behind a descriptor word (BDW) of its own.
fn blocks(head: &[u8]) -> Option<String> {
    let word = u32::from_be_bytes(*head.first_chunk()?);
    let extended = word >> 31 == 1;
    let block = if extended {
        (word & 0x7FFF_FFFF) as usize
    } else if word & 0xFFFF == 0 {
        (word >> 16) as usize
    } else {
        return None;
    };
    let mut bytes = head.get(RDW..)?.to_vec();
    let segment = u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]);
    if segment != 0 {
        bytes[2..4].fill(0);
    }
    let record = usize::from(plausible(&bytes)?.length);
    if block < BLOCK || record + RDW > block {
        return None;
    }
    // The lengths in a block fill it exactly, as far as it is in these bytes.
    let mut at = RDW;
    while at < block && at + 4 <= head.len() {
        let length = usize::from(u16::from_be_bytes([head[at], head[at + 1]]));
        if length < RDW || at + length > block {
            return None;
        }
        at += length;
    }
    let spanned = if segment != 0 { " and segments" } else { "" };
    Some(format!(
        "SMF records in blocks (block descriptor words{spanned}, as record format U or VBS leaves \
         them), which zlens does not read yet; {CURE}"
    ))
}

/// A first record in segments.
fn spanned(head: &[u8]) -> Option<String> {
    let first = *head.get(2)?;
    if first != 1 || *head.get(3)? != 0 {
        return None;
    }
    let mut bytes = head.to_vec();
    bytes[2] = 0;
    plausible(&bytes)?;
    Some(format!(
        "SMF records in segments of spanned blocks, which zlens does not read yet; {CURE}"
    ))
}

/// Records whose descriptor words are gone: nothing tells any more where one ends.
fn without_words(head: &[u8]) -> Option<String> {
    let mut bytes = vec![0xFF, 0xFF, 0, 0];
    bytes.extend_from_slice(head.get(..LONG)?);
    plausible(&bytes)?;
    Some(format!(
        "SMF records without their record descriptor words: nothing tells where one ends; {CURE}"
    ))
}

/// Records that were translated from EBCDIC to ASCII.
fn translated(head: &[u8]) -> Option<String> {
    let back: Vec<u8> = head
        .iter()
        .take(2 * LONG)
        .map(|&byte| ebcdic::from_char(char::from(byte)).unwrap_or(byte))
        .collect();
    let begins = |bytes: &[u8]| {
        // Lengths do not survive a translation, nor do descriptor words; what stands behind them is
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
