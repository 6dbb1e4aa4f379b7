//! How a file is packed, by its first bytes.

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip: one stream, or several one behind the other.
    Gzip,
    /// A ZIP archive; all its members are unpacked, one behind the other.
    Zip,
    /// Zstandard: one frame, or several one behind the other.
    Zstd,
}

impl Compression {
    /// How a file that begins so is packed, if it is.
    #[must_use]
    pub fn detect(head: &[u8]) -> Option<Self> {
        match head {
            [0x1F, 0x8B, 8, ..] => Some(Self::Gzip),
            [b'P', b'K', 3, 4, ..] => Some(Self::Zip),
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Some(Self::Zstd),
            [skip, 0x2A, 0x4D, 0x18, ..] if skip >> 4 == 5 => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zip => "ZIP",
            Self::Zstd => "Zstandard",
        }
    }
}
