//! Events of sources.

use std::time::Duration;

/// The most bytes of one read. The smallest spool has space for several.
pub(super) const READ: usize = 256 << 10;

/// The kind of a source, as sent to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The monitor device of a Linux guest of z/VM.
    Monreader,
    /// A file that grows.
    File,
    /// A pipe.
    Stdin,
}

impl SourceKind {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Monreader => "monreader",
            Self::File => "file",
            Self::Stdin => "stdin",
        }
    }

    /// Whether it loses data unless it is read. The others wait until there is space.
    #[must_use]
    pub const fn overflows(self) -> bool {
        matches!(self, Self::Monreader)
    }
}

/// Reason of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The device was not read fast enough.
    Overflow,
    /// The device said that a set cannot be used (EIO).
    SetInvalid,
    /// The device could not return a set (EFAULT).
    SetNotCopied,
    /// A set is larger than what is kept.
    SetTooLarge,
    /// The device was lost and opened again.
    DeviceLost,
    /// The monitor suspended its records.
    Suspended,
    /// The forwarder did not run.
    Restart,
    /// The file became shorter, or is another one.
    FileReplaced,
    /// The spool was full.
    SpoolFull,
    /// The spool was damaged on disk.
    SpoolDamaged,
}

impl Reason {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::SetInvalid => "set_invalid",
            Self::SetNotCopied => "set_not_copied",
            Self::SetTooLarge => "set_too_large",
            Self::DeviceLost => "device_lost",
            Self::Suspended => "suspended",
            Self::Restart => "restart",
            Self::FileReplaced => "file_replaced",
            Self::SpoolFull => "spool_full",
            Self::SpoolDamaged => "spool_damaged",
        }
    }
}

/// Something that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Its reason.
    pub reason: Reason,
    /// Sets that are lost, where that is known.
    pub sets: Option<u64>,
    /// Bytes that were read and are lost.
    pub bytes: Option<u64>,
    /// Its start, since 1970, if known.
    pub from: Option<Duration>,
}

impl Gap {
    /// A gap of which only the reason is known.
    #[must_use]
    pub const fn new(reason: Reason) -> Self {
        Self {
            reason,
            sets: None,
            bytes: None,
            from: None,
        }
    }
}

/// A file begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileStart {
    /// Its name, without folders.
    pub file: String,
    /// Its device and inode.
    pub id: (u64, u64),
}

/// An event of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Bytes that belong together.
    Data(Vec<u8>),
    /// Something is missing here.
    Gap(Gap),
    /// A file begins.
    Start(FileStart),
    /// Nothing is new; the caller may do something else.
    Idle,
    /// Nothing comes any more.
    End,
}

/// Source of data.
pub trait Source: Send {
    /// Returns the next event. Errors of the source are gaps; the source tries to recover from them.
    fn next(&mut self) -> Event;
}
