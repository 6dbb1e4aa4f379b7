//! ZIP archives: stored, deflated and Zstandard members, as the central directory lists them.

use std::io::{self, Read};

use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use ruzstd::decoding::StreamingDecoder;

use super::input::Input;
use super::prefix::{LOOK, begin, ended_well};
use super::sink::Sink;
use crate::problem::{ProblemKind, ProblemLog};
use crate::source::{ReadAt, read_full};

/// Maximum number of members that are checked.
const MAX_MEMBERS: usize = 10_000;
/// The lengths of the directory's end, of its entries and of the header before a member.
const END: usize = 22;
const ENTRY: usize = 46;
const LOCAL: usize = 30;
/// A comment at the end can be this long.
const COMMENT: usize = 65_535;

#[derive(Debug)]
struct Member {
    name: String,
    flags: u16,
    method: u16,
    /// None where it is not known.
    crc: Option<u32>,
    packed: u64,
    size: u64,
    /// Start of its header.
    at: u64,
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The header before a member, and how long it is.
fn local(bytes: &[u8], at: u64) -> Option<(Member, u64)> {
    if !bytes.starts_with(b"PK\x03\x04") {
        return None;
    }
    let (name, extra) = (half(bytes, 26)?, half(bytes, 28)?);
    let text = bytes.get(LOCAL..LOCAL + usize::from(name))?;
    let flags = half(bytes, 6)?;
    // Where the sizes are after the data, they are zero here.
    let behind = flags & 8 != 0;
    let member = Member {
        name: String::from_utf8_lossy(text).into_owned(),
        flags,
        method: half(bytes, 8)?,
        crc: (!behind).then_some(word(bytes, 14)?),
        packed: if behind {
            u64::MAX
        } else {
            word(bytes, 18)?.into()
        },
        size: if behind {
            u64::MAX
        } else {
            word(bytes, 22)?.into()
        },
        at,
    };
    Some((
        member,
        (LOCAL + usize::from(name) + usize::from(extra)) as u64,
    ))
}

/// The first bytes of the first member that `wanted` says yes to, or else of the first.
pub(super) fn peek_decompressed(head: &[u8], wanted: &dyn Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
    let mut first = None;
    let mut at = 0_u64;
    for _ in 0..MAX_MEMBERS {
        let rest = usize::try_from(at).ok().and_then(|at| head.get(at..))?;
        let Some((member, length)) = local(rest, at) else {
            break;
        };
        let Some(data) = rest.get(length as usize..) else {
            break;
        };
        let mut begun = Vec::new();
        match member.method {
            0 => {
                let size = usize::try_from(member.packed).unwrap_or(usize::MAX);
                begin(&data[..data.len().min(size)], &mut begun);
            }
            8 => begin(DeflateDecoder::new(data), &mut begun),
            93 => {
                if let Ok(decoder) = StreamingDecoder::new(data) {
                    begin(decoder, &mut begun);
                }
            }
            _ => {}
        }
        if wanted(&begun) {
            return Some(begun);
        }
        first = first.or_else(|| (!begun.is_empty()).then_some(begun));
        at = at.checked_add(length)?.checked_add(member.packed)?;
        if at >= head.len() as u64 {
            break;
        }
    }
    first
}

/// Decompresses all members, back to back.
pub(super) fn all(
    source: &dyn ReadAt,
    sink: &mut Sink<'_>,
    problems: &mut ProblemLog,
    wanted: &dyn Fn(&[u8], u64) -> bool,
) {
    let members = directory(source).unwrap_or_else(|| {
        problems.add(ProblemKind::Truncated, 0, 0, None, || {
            "the ZIP archive has no directory at its end, so it is truncated; only its first member \
             is read, as far as it is there"
                .to_owned()
        });
        let mut head = vec![0; LOCAL + 2 * COMMENT];
        let got = read_full(source, 0, &mut head).unwrap_or(0);
        local(&head[..got], 0)
            .map(|(member, _)| member)
            .into_iter()
            .collect()
    });
    for member in &members {
        if member.name.ends_with('/') && member.size == 0 {
            continue;
        }
        if !one(source, member, sink, problems, wanted) {
            return;
        }
    }
}

/// Decompresses one member; whether to continue to the next.
fn one(
    source: &dyn ReadAt,
    member: &Member,
    sink: &mut Sink<'_>,
    problems: &mut ProblemLog,
    wanted: &dyn Fn(&[u8], u64) -> bool,
) -> bool {
    let name: String = member
        .name
        .chars()
        .filter(|c| !c.is_control())
        .take(80)
        .collect();
    let mut leave = |why: &str| {
        problems.add(ProblemKind::Header, sink.written(), 0, None, || {
            format!("member {name} of the ZIP archive is not read: {why}")
        });
        true
    };
    if member.flags & 1 != 0 {
        return leave("it is encrypted; unpack it with its password first");
    }
    let mut head = vec![0; LOCAL + 2 * COMMENT];
    let got = read_full(source, member.at, &mut head).unwrap_or(0);
    let Some((_, length)) = local(&head[..got], member.at) else {
        return leave("no such member at the offset in the directory");
    };
    let from = member.at.saturating_add(length);
    let mut input = Input::new(
        source,
        from,
        from.saturating_add(member.packed),
        sink.done.clone(),
    );
    let mut inflated;
    let mut decoded;
    let packed: &mut dyn Read = match member.method {
        0 => &mut input,
        8 => {
            inflated = DeflateDecoder::new(&mut input);
            &mut inflated
        }
        93 => match StreamingDecoder::new(&mut input) {
            Ok(decoder) => {
                decoded = decoder;
                &mut decoded
            }
            Err(error) => return leave(&format!("its Zstandard data is damaged ({error})")),
        },
        other => {
            return leave(&format!(
                "compression method {other} is not supported; unpack it with unzip first"
            ));
        }
    };
    let mut begun = Vec::new();
    begin(&mut *packed, &mut begun);
    let whole = begun.len() < LOOK;
    let size = match member.size {
        _ if whole => begun.len() as u64,
        size => size,
    };
    if !wanted(&begun, size) {
        return leave("it is not an SMF dump");
    }
    sink.member();
    let mut checked = Checked {
        from: packed,
        crc: Crc::new(),
        count: 0,
    };
    checked.crc.update(&begun);
    checked.count = begun.len() as u64;
    let copied = if sink.write(&begun) {
        sink.copy(&mut checked)
    } else {
        Ok(false)
    };
    let (sum, count) = (checked.crc.sum(), checked.count);
    let going = ended_well(copied, from, sink, "ZIP", problems);
    let short = member.size != u64::MAX && count < member.size;
    if going && (short || member.crc.is_some_and(|crc| crc != sum)) {
        problems.add(ProblemKind::Transfer, sink.written(), 0, None, || {
            format!(
                "member {name} of the ZIP archive is damaged: its {count} bytes are not those that \
                 were packed (checksum {sum:08x})"
            )
        });
    }
    // Damage is one member's; the limit and a full disk are for all.
    going || (sink.at_limit().is_none() && !sink.has_ended())
}

/// Sums up what is read.
struct Checked<'r> {
    from: &'r mut dyn Read,
    crc: Crc,
    count: u64,
}

impl Read for Checked<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buf)?;
        self.crc.update(&buf[..count]);
        self.count += count as u64;
        Ok(count)
    }
}

/// The members by the directory at the end of the archive.
fn directory(source: &dyn ReadAt) -> Option<Vec<Member>> {
    let size = source.size();
    let from = size.saturating_sub((END + COMMENT + 20) as u64);
    let mut tail = vec![0; usize::try_from(size - from).ok()?];
    let got = read_full(source, from, &mut tail).ok()?;
    tail.truncate(got);
    let at = (0..=tail.len().checked_sub(END)?)
        .rev()
        .find(|&at| tail[at..].starts_with(b"PK\x05\x06"))?;
    let end = &tail[at..];
    let mut count = u64::from(half(end, 10)?);
    let mut start = u64::from(word(end, 16)?);
    // Large archives have another end before that one.
    if let Some(locator) = at.checked_sub(20).map(|at| &tail[at..])
        && locator.starts_with(b"PK\x06\x07")
    {
        let mut large = [0; 56];
        read_full(source, long(locator, 8)?, &mut large).ok()?;
        if large.starts_with(b"PK\x06\x06") {
            count = long(&large, 32)?;
            start = long(&large, 48)?;
        }
    }
    let mut members = Vec::new();
    let mut at = start;
    let mut entry = vec![0; ENTRY + 2 * COMMENT];
    for _ in 0..count.min(MAX_MEMBERS as u64) {
        let got = read_full(source, at, &mut entry).unwrap_or(0);
        let Some((member, length)) = listed(&entry[..got]) else {
            break;
        };
        members.push(member);
        at = at.checked_add(length)?;
    }
    (!members.is_empty()).then_some(members)
}

/// An entry of the directory, and how long it is.
fn listed(bytes: &[u8]) -> Option<(Member, u64)> {
    if !bytes.starts_with(b"PK\x01\x02") {
        return None;
    }
    let length = |at: usize| half(bytes, at).map(usize::from);
    let (name, extra, comment) = (length(28)?, length(30)?, length(32)?);
    let text = bytes.get(ENTRY..ENTRY + name)?;
    let mut member = Member {
        name: String::from_utf8_lossy(text).into_owned(),
        flags: half(bytes, 8)?,
        method: half(bytes, 10)?,
        crc: Some(word(bytes, 16)?),
        packed: word(bytes, 20)?.into(),
        size: word(bytes, 24)?.into(),
        at: word(bytes, 42)?.into(),
    };
    let mut rest = bytes.get(ENTRY + name..ENTRY + name + extra)?;
    while let (Some(id), Some(size)) = (half(rest, 0), half(rest, 2)) {
        let body = rest.get(4..4 + usize::from(size))?;
        if id == 1 {
            // Contains only the values that did not fit their field, in this order.
            let fields = [&mut member.size, &mut member.packed, &mut member.at];
            let missing = fields
                .into_iter()
                .filter(|field| **field == u64::from(u32::MAX));
            for (nth, field) in missing.enumerate() {
                *field = long(body, 8 * nth)?;
            }
        }
        rest = &rest[4 + usize::from(size)..];
    }
    Some((member, (ENTRY + name + extra + comment) as u64))
}
