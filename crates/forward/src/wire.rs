//! Frames between the forwarder and a receiver, which are also the records of the spool.
//!
//! A frame is the letters ZF, its kind, flags, the length of its payload, a sequence number, and a checksum of all that
//! and the payload; numbers are big-endian. The other end is `python/zlens/live/protocol.py`.

use std::fmt::Write as _;

/// The version of the protocol.
pub const VERSION: &str = "1";
/// Bytes of a frame before its payload.
pub const HEADER: usize = 20;
/// The most bytes of a payload.
pub const MAX_PAYLOAD: usize = 1 << 20;
/// The flag of a record that ends a set of data.
pub const ENDS_SET: u8 = 1;

const MAGIC: [u8; 2] = *b"ZF";
const CHECKED: usize = HEADER - 4;

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// The forwarder identifies itself.
    Hello = 1,
    /// A file begins.
    Begin = 2,
    /// Bytes of the source.
    Data = 3,
    /// Something is missing.
    Gap = 4,
    /// Nothing is new.
    Alive = 5,
    /// The source ended.
    End = 6,
    /// The receiver says which record it needs next.
    Welcome = 17,
    /// All records before this number are durable.
    Acknowledged = 18,
    /// The receiver says why it does not take this.
    Refused = 19,
}

impl FrameKind {
    const ALL: [Self; 9] = [
        Self::Hello,
        Self::Begin,
        Self::Data,
        Self::Gap,
        Self::Alive,
        Self::End,
        Self::Welcome,
        Self::Acknowledged,
        Self::Refused,
    ];

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|&kind| kind as u8 == byte)
    }
}

/// Reason why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Something else speaks there.
    #[error("not a zlens-forward frame")]
    Magic,
    /// The payload would be too long.
    #[error("a frame of {0} bytes is too long")]
    Length(usize),
    /// The checksum is another one.
    #[error("a frame is damaged")]
    Damaged,
}

/// Header of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Kind of the frame.
    pub kind: FrameKind,
    /// Flags of a record.
    pub flags: u8,
    /// The length of the payload.
    pub length: usize,
    /// The number of the record, or of the one to continue with.
    pub sequence: u64,
    checksum: u32,
}

impl FrameHeader {
    /// Reads the bytes before a payload; says nothing of their checksum.
    ///
    /// # Errors
    /// If no frame begins so.
    pub fn parse(bytes: &[u8; HEADER]) -> Result<Self, FrameError> {
        let [z, f, kind, flags, l0, l1, l2, l3, rest @ ..] = *bytes;
        let [s0, s1, s2, s3, s4, s5, s6, s7, c0, c1, c2, c3] = rest;
        let kind = FrameKind::from_byte(kind)
            .filter(|_| [z, f] == MAGIC)
            .ok_or(FrameError::Magic)?;
        let length = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
        if length > MAX_PAYLOAD {
            return Err(FrameError::Length(length));
        }
        Ok(Self {
            kind,
            flags,
            length,
            sequence: u64::from_be_bytes([s0, s1, s2, s3, s4, s5, s6, s7]),
            checksum: u32::from_be_bytes([c0, c1, c2, c3]),
        })
    }
}

/// Appends a frame to bytes; a payload has at most [`MAX_PAYLOAD`].
pub fn encode(out: &mut Vec<u8>, kind: FrameKind, flags: u8, sequence: u64, payload: &[u8]) {
    debug_assert!(payload.len() <= MAX_PAYLOAD);
    let from = out.len();
    out.extend(MAGIC);
    out.extend([kind as u8, flags]);
    out.extend((payload.len() as u32).to_be_bytes());
    out.extend(sequence.to_be_bytes());
    let checksum = checksum(&out[from..], payload);
    out.extend(checksum.to_be_bytes());
    out.extend(payload);
}

/// The frame that bytes begin with, and its payload; none if there are not enough of them.
///
/// # Errors
/// If it is not a frame, or is damaged.
pub fn decode(bytes: &[u8]) -> Result<Option<(FrameHeader, &[u8])>, FrameError> {
    let Some((start, rest)) = bytes.split_first_chunk::<HEADER>() else {
        return Ok(None);
    };
    let head = FrameHeader::parse(start)?;
    let Some(payload) = rest.get(..head.length) else {
        return Ok(None);
    };
    if checksum(&start[..CHECKED], payload) != head.checksum {
        return Err(FrameError::Damaged);
    }
    Ok(Some((head, payload)))
}

fn checksum(start: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(start);
    hasher.update(payload);
    hasher.finalize()
}

/// Fields as a payload: lines of a key and a value; what would break a line becomes a space.
#[must_use]
pub fn text(fields: &[(&str, String)]) -> Vec<u8> {
    let mut out = String::new();
    for (key, value) in fields {
        let value = value.replace(char::is_control, " ");
        let _ = writeln!(out, "{key} {value}");
    }
    out.into_bytes()
}

/// A field of a payload of text.
#[must_use]
pub fn field<'a>(payload: &'a [u8], key: &str) -> Option<&'a str> {
    let text = std::str::from_utf8(payload).ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))
}
