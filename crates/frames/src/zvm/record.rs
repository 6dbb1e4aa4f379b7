//! The header that every monitor record begins with.

/// The length of a record header.
pub const HEADER: usize = 20;

/// The highest domain number there is (documented: 11, SSI).
pub const MAX_DOMAIN: u8 = 11;

/// Whether a record was written as sample or as event data. It is the control record that says so;
/// the record itself does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Written at the end of every interval, or once as configuration.
    Sample,
    /// Written when something happened.
    Event,
}

impl Class {
    /// The flag of this class in a control record (documented: EBCDIC S and E).
    #[must_use]
    pub const fn flag(self) -> u8 {
        match self {
            Self::Sample => 0xE2,
            Self::Event => 0xC5,
        }
    }

    /// The class that a flag means.
    #[must_use]
    pub const fn from_flag(flag: u8) -> Option<Self> {
        match flag {
            0xE2 => Some(Self::Sample),
            0xC5 => Some(Self::Event),
            _ => None,
        }
    }
}

/// A record header (MRRECHDR; documented, the same in every release): length including the header,
/// two bytes of zero, domain, a reserved byte, record number, time of day when the record was
/// built, four reserved bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Length of the record, this header included.
    pub length: u16,
    /// Domain, 0 to 11.
    pub domain: u8,
    /// Number of the record within its domain.
    pub record: u16,
    /// Time of the record, a TOD value.
    pub tod: u64,
}

/// Reason why bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The halfword after the length is not zero.
    Halfword(u16),
    /// The domain does not exist.
    Domain(u8),
    /// The length is below that of a header.
    Length(u16),
}

impl Header {
    /// Domain and number of the end-of-frame record (documented: nothing more in this frame, the
    /// next one follows).
    pub const END_OF_FRAME: (u8, u16) = (1, 13);

    /// Domain and number of the interval-end record.
    pub const INTERVAL_END: (u8, u16) = (1, 11);
    /// Domain and number of the last record before event recording is suspended (documented).
    pub const SUSPENDED: (u8, u16) = (1, 12);
    /// Domain and number of the first record after that (documented).
    pub const RESUMED: (u8, u16) = (1, 3);
    /// System configuration, of which name, type and serial number are those of a system.
    pub const CONFIGURATION: (u8, u16) = (1, 4);

    /// The header at the start of `bytes`, if there are enough of them and they can be one.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.first_chunk::<HEADER>()?;
        let header = Self::from_bytes(bytes);
        header.fault(bytes).is_none().then_some(header)
    }

    /// The fields of a header, plausible or not.
    #[inline]
    pub(crate) fn from_bytes(bytes: &[u8; HEADER]) -> Self {
        let [
            l0,
            l1,
            _,
            _,
            domain,
            _,
            r0,
            r1,
            t0,
            t1,
            t2,
            t3,
            t4,
            t5,
            t6,
            t7,
            ..,
        ] = *bytes;
        Self {
            length: u16::from_be_bytes([l0, l1]),
            domain,
            record: u16::from_be_bytes([r0, r1]),
            tod: u64::from_be_bytes([t0, t1, t2, t3, t4, t5, t6, t7]),
        }
    }

    /// Length, zeros, domain, reserved byte and number as one word; equal words are equal types and
    /// lengths.
    #[inline]
    pub(crate) fn word(bytes: &[u8; HEADER]) -> u64 {
        let [w0, w1, w2, w3, w4, w5, w6, w7, ..] = *bytes;
        u64::from_be_bytes([w0, w1, w2, w3, w4, w5, w6, w7])
    }

    /// Its fault, independent of its frame.
    #[inline]
    pub(crate) fn fault(&self, bytes: &[u8; HEADER]) -> Option<Fault> {
        let halfword = u16::from_be_bytes([bytes[2], bytes[3]]);
        if halfword != 0 {
            Some(Fault::Halfword(halfword))
        } else if self.domain > MAX_DOMAIN {
            Some(Fault::Domain(self.domain))
        } else if usize::from(self.length) < HEADER {
            Some(Fault::Length(self.length))
        } else {
            None
        }
    }

    /// The header as bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0..2].copy_from_slice(&self.length.to_be_bytes());
        bytes[4] = self.domain;
        bytes[6..8].copy_from_slice(&self.record.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.tod.to_be_bytes());
        bytes
    }
}
