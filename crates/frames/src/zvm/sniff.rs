//! Telling from the first bytes whether a file is MONWRITE output or a capture of the live stream, and
//! whether a transfer has damaged it.

use super::control::{Control, ENTRIES_AT, SearchHint};
use super::element;
use crate::problem::ProblemKind;
use crate::source::PAGE;

/// Format of a file by its first bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sniff {
    /// MONWRITE output.
    Monwrite,
    /// A capture of the live stream.
    Capture,
    /// MONWRITE output that a transfer has damaged; a sentence names the likely mistake and its
    /// cure.
    Damaged(String),
    /// Something else.
    No,
}

/// How to transfer a file so that it arrives as it was.
const CURE: &str =
    "transfer it again in binary (FTP: BINARY, and QUOTE SITE FIX 4096 or LOCSITE FIX 4096)";

/// Says what a file is from its first bytes (256 KiB are checked; 8 KiB are enough for an
/// undamaged file) and its size.
#[must_use]
pub fn sniff(head: &[u8], size: u64) -> Sniff {
    let head = &head[..head.len().min(crate::source::WINDOW)];
    if let Some(damage) = line_ends(head, size) {
        return Sniff::Damaged(damage);
    }
    let (pages, _) = head.as_chunks::<PAGE>();
    let found = (0..).zip(pages).any(|(number, page)| {
        let at = number * PAGE as u64;
        let peek = |offset: u64| {
            let at = usize::try_from(at + offset).ok()?;
            head.get(at..)?.first_chunk().copied()
        };
        Control::found(page, peek).is_some()
    });
    if found || begins(head) {
        return Sniff::Monwrite;
    }
    if element::begins(head) {
        return Sniff::Capture;
    }
    if let Some(damage) = translated_capture(head) {
        return Sniff::Damaged(damage);
    }
    // With bytes added before the first control record, or lost.
    let like = SearchHint {
        room: size,
        grid: None,
        uncounted: false,
    };
    if Control::anywhere(head, head.len(), like).is_some() {
        return Sniff::Monwrite;
    }
    translated(head).map_or(Sniff::No, Sniff::Damaged)
}

/// Whether the first bytes are those of a control record, however few there are after its first
/// entry.
fn begins(head: &[u8]) -> bool {
    let mut page = [0; PAGE];
    let count = head.len().min(PAGE);
    page[..count].copy_from_slice(&head[..count]);
    let control = Control::parse(&page);
    control.counted && !control.entries.is_empty()
}

/// Problem kind and sentence for a file that does not begin with a control record.
pub(crate) fn other(head: &[u8]) -> (ProblemKind, String) {
    if let Some(damage) = translated(head) {
        return (ProblemKind::Transfer, damage);
    }
    let text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    let what = if head.iter().take(PAGE).all(text) {
        ": it is text"
    } else {
        ""
    };
    (
        ProblemKind::Header,
        format!("the file does not begin with a control record{what}"),
    )
}

/// Recognizes a file whose EBCDIC was taken for text and translated; such a file cannot be read.
fn translated(head: &[u8]) -> Option<String> {
    let head = &head[..head.len().min(2 * PAGE)];
    // Monitor data is full of zeros, and most translations leave those alone.
    let zeros = head.iter().filter(|&&byte| byte == 0).count() * 16 >= head.len();
    if head.windows(3).any(|bytes| bytes == [0xEF, 0xBF, 0xBD]) && zeros {
        return Some(format!(
            "bytes were replaced by the Unicode replacement character (x'EFBFBD'): the file was \
             transferred or copied as text; {CURE}"
        ));
    }
    if let Some(&flag @ (b'S' | b'E')) = head.get(ENTRIES_AT)
        && zeros
    {
        return Some(format!(
            "offset {ENTRIES_AT} has x'{flag:02X}', which is {} in ASCII where EBCDIC is expected: \
             the file was translated to ASCII in transfer; {CURE}",
            char::from(flag)
        ));
    }
    // Every byte above x'7F' became two. The last character may be cut off.
    let utf8 = std::str::from_utf8(head).map_or_else(|error| error.error_len().is_none(), |_| true);
    let begin = &head[..head.len().min(2 * ENTRIES_AT)];
    let flagged = begin
        .windows(2)
        .any(|two| two == [0xC3, 0xA2] || two == [0xC3, 0x85]);
    if zeros && utf8 && flagged {
        return Some(format!(
            "the file was re-encoded as UTF-8 text: it was copied as text; {CURE}"
        ));
    }
    None
}

/// Recognizes a capture whose EBCDIC was translated: zeros are where they belong, the flag is not.
fn translated_capture(head: &[u8]) -> Option<String> {
    let begin = head.first_chunk::<32>()?;
    let flag = begin[0];
    let zeros = [3, 14, 15, 17].iter().all(|&at| begin[at] == 0);
    let addresses = begin[4..8] != begin[8..12];
    (matches!(flag, b'S' | b'E') && zeros && addresses).then(|| {
        format!(
            "offset 0 has x'{flag:02X}', which is {} in ASCII where EBCDIC is expected: the capture \
             was translated to ASCII in transfer; transfer it again in binary",
            char::from(flag)
        )
    })
}

/// Recognizes a file into which line ends were inserted; only a size that is no multiple of 4096 is suspect.
pub(crate) fn line_ends(head: &[u8], size: u64) -> Option<String> {
    if size.is_multiple_of(PAGE as u64) {
        return None;
    }
    for separator in [&b"\r\n"[..], b"\n", b"\x15", b"\x25"] {
        let stride = PAGE + separator.len();
        let mut ends = (1..)
            .map(|number| number * stride)
            .map_while(|end| head.get(end - separator.len()..end));
        // Once could be chance; the bytes between two records would have to be chance twice.
        let (mut seen, mut same) = (0, true);
        for end in ends.by_ref().take(8) {
            seen += 1;
            same &= end == separator;
        }
        if same && seen >= 2 {
            return Some(format!(
                "a line end (x'{}') follows every 4096 bytes: the file was transferred as text; \
                 {CURE}",
                separator
                    .iter()
                    .map(|byte| format!("{byte:02X}"))
                    .collect::<String>()
            ));
        }
    }
    let feeds = head.iter().filter(|&&byte| byte == b'\n').count();
    let pairs = head.windows(2).filter(|bytes| bytes == b"\r\n").count();
    let binary = head
        .get(ENTRIES_AT)
        .is_some_and(|&flag| super::record::Class::from_flag(flag).is_some());
    if binary && feeds >= 3 && feeds == pairs {
        return Some(format!(
            "every x'0A' of its first bytes follows a x'0D': line ends were changed in \
             transfer; {CURE}"
        ));
    }
    None
}
