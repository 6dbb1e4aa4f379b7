//! Compression of a file, by its first bytes.

/// Compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip: one stream, or several back to back.
    Gzip,
    /// A ZIP archive; all its members are decompressed, back to back.
    Zip,
    /// Zstandard: one frame, or several back to back.
    Zstd,
}

impl Compression {
    /// Returns the compression of a file with these first bytes, if any.
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
