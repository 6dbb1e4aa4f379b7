//! The header that every SMF record begins with, and what makes it plausible.

/// The length of a record descriptor word.
pub const RDW: usize = 4;
/// The length of a header without subsystem and subtype.
pub const SHORT: usize = 18;
/// The length of a header with subsystem and subtype.
pub const LONG: usize = 24;

/// The length of an extended header.
pub const EXTENDED: usize = 56;
/// Number of bytes that contain all fields read from any header.
pub(crate) const HEAD: usize = 54;

/// The flag that says that subsystem and subtype follow the system's name.
const SUBTYPE_VALID: u8 = 0x40;
/// The flags of an extended header.
const EXTENDED_FLAGS: u8 = 0x60;
/// The type that is in an extended header where the type is in others.
const EXTENDED_TYPE: u8 = 126;
/// The greatest type that an extended header can name.
const MAX_TYPE: u16 = 2047;
/// Hundredths of a second in a day.
pub(crate) const DAY: u32 = 24 * 60 * 60 * 100;

/// A record header (documented: descriptor word, flag, type, local time and date, system; subsystem
/// and subtype where the flag says so). An extended header (documented: type 126, two flags, at
/// least 56 bytes, 32 and 1 in the halfwords at 24 and 26) has its type at 52.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Length of the record with its descriptor word.
    pub length: u16,
    /// The other two bytes of the descriptor word: zero but for segments of a spanned record.
    pub segment: u16,
    /// System indicator.
    pub flags: u8,
    /// Type of the record: up to 255, or up to 2047 by an extended header.
    pub record: u16,
    /// Local time when it was moved to the buffer, in hundredths of a second since midnight.
    pub time: u32,
    /// Local date, packed decimal `0cyydddF`.
    pub date: Date,
    /// Name of the system, EBCDIC.
    pub system: [u8; 4],
    /// Name of the subsystem, EBCDIC; blank without subtypes.
    pub subsystem: [u8; 4],
    /// Subtype, where there are subtypes.
    pub subtype: Option<u16>,
}

/// A date in packed decimal, `0cyydddF`: century (0 is 19), year and day of the year.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub u32);

/// Reason why bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The length is below that of a header.
    Length(u16),
    /// The record is one segment of a spanned one.
    Segment(u16),
    /// The date is invalid.
    Date(u32),
    /// The time is beyond a day.
    Time(u32),
    /// The system's name is not printable.
    System([u8; 4]),
}

impl Fault {
    pub(crate) fn describe(self) -> String {
        match self {
            Self::Length(0) => "a record has length zero".to_owned(),
            Self::Length(length) => format!("a record of {length} bytes cannot hold its header"),
            Self::Segment(bits) => {
                format!("bytes 2 and 3 of a record descriptor word are x'{bits:04X}'")
            }
            Self::Date(date) => format!("invalid date x'{date:08X}' in a record header"),
            Self::Time(time) => format!("invalid time of day x'{time:08X}' in a record header"),
            Self::System(name) => format!(
                "invalid system name x'{:08X}' in a record header",
                u32::from_be_bytes(name)
            ),
        }
    }
}

impl Date {
    /// The date of a day of a year.
    #[must_use]
    pub const fn new(year: u16, day: u16) -> Self {
        let century = (year / 100).saturating_sub(19) as u32;
        let (year, day) = (year as u32 % 100, day as u32);
        Self(
            century << 24
                | (year / 10) << 20
                | (year % 10) << 16
                | (day / 100) << 12
                | (day / 10 % 10) << 8
                | (day % 10) << 4
                | 0xF,
        )
    }

    /// Year and day of the year, if the digits are digits, the sign is one and there is such a day.
    #[must_use]
    pub const fn parts(self) -> Option<(u16, u16)> {
        let digits = [
            self.0 >> 20 & 0xF,
            self.0 >> 16 & 0xF,
            self.0 >> 12 & 0xF,
            self.0 >> 8 & 0xF,
            self.0 >> 4 & 0xF,
        ];
        let mut number = 0;
        let mut place = 0;
        while place < digits.len() {
            if digits[place] > 9 {
                return None;
            }
            number = number * 10 + digits[place];
            place += 1;
        }
        let (century, sign) = (self.0 >> 24, self.0 & 0xF);
        let day = number % 1000;
        // A sign of C is written by programs that pack dates themselves.
        if century > 1 || (sign != 0xF && sign != 0xC) || day == 0 || day > 366 {
            return None;
        }
        Some(((1900 + 100 * century + number / 1000) as u16, day as u16))
    }

    /// Days since 1970-01-01, of a date that is one.
    #[must_use]
    pub fn days(self) -> Option<i64> {
        let (year, day) = self.parts()?;
        let before = i64::from(year) - 1;
        // Leap days of the Gregorian calendar up to the end of a year.
        let leaps = |year: i64| year / 4 - year / 100 + year / 400;
        Some((before - 1969) * 365 + leaps(before) - leaps(1969) + i64::from(day) - 1)
    }
}

impl Header {
    /// The header at the start of `bytes`, whatever it says; nothing if there are too few. Bytes
    /// missing after the shortest header count as zero.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut whole = [0; HEAD];
        let count = bytes.len().min(HEAD);
        if count < SHORT {
            return None;
        }
        whole[..count].copy_from_slice(&bytes[..count]);
        Some(Self::from_bytes(&whole))
    }

    #[inline]
    pub(crate) fn from_bytes(bytes: &[u8; HEAD]) -> Self {
        let word = |at: usize| -> u32 {
            u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let half = |at: usize| -> u16 { u16::from_be_bytes([bytes[at], bytes[at + 1]]) };
        let flags = bytes[4];
        let subtypes = flags & SUBTYPE_VALID != 0;
        let extended = bytes[5] == EXTENDED_TYPE
            && flags & EXTENDED_FLAGS == EXTENDED_FLAGS
            && usize::from(half(0)) >= EXTENDED
            && (half(24), half(26)) == (32, 1)
            && half(52) <= MAX_TYPE;
        Self {
            length: half(0),
            segment: half(2),
            flags,
            record: if extended {
                half(52)
            } else {
                u16::from(bytes[5])
            },
            time: word(6),
            date: Date(word(10)),
            system: word(14).to_be_bytes(),
            subsystem: if subtypes {
                word(18).to_be_bytes()
            } else {
                [0x40; 4]
            },
            subtype: subtypes.then(|| half(22)),
        }
    }

    /// The bytes of the header: [`EXTENDED`] of them for a type above 255, [`LONG`] with a subtype, else
    /// [`SHORT`].
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(EXTENDED);
        let plain = u8::try_from(self.record);
        bytes.extend(self.length.to_be_bytes());
        bytes.extend(self.segment.to_be_bytes());
        bytes.push(self.flags | if plain.is_ok() { 0 } else { EXTENDED_FLAGS });
        bytes.push(plain.unwrap_or(EXTENDED_TYPE));
        bytes.extend(self.time.to_be_bytes());
        bytes.extend(self.date.0.to_be_bytes());
        bytes.extend(self.system);
        if let Some(subtype) = self.subtype {
            bytes.extend(self.subsystem);
            bytes.extend(subtype.to_be_bytes());
        }
        if plain.is_err() {
            bytes.resize(LONG, 0);
            bytes.extend([0, 32, 0, 1]);
            bytes.resize(52, 0);
            bytes.extend(self.record.to_be_bytes());
            bytes.resize(EXTENDED, 0);
        }
        bytes
    }

    /// Whether this can be the header of a whole record.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let least = if self.subtype.is_some() { LONG } else { SHORT };
        if usize::from(self.length) < least {
            return Err(Fault::Length(self.length));
        }
        if self.segment != 0 {
            return Err(Fault::Segment(self.segment));
        }
        if self.time > DAY {
            return Err(Fault::Time(self.time));
        }
        if self.date.parts().is_none() {
            return Err(Fault::Date(self.date.0));
        }
        if !self.system.iter().all(|&byte| printable(byte)) {
            return Err(Fault::System(self.system));
        }
        Ok(())
    }

    /// Local time in hundredths of a second since 1970-01-01 00:00, if the date is one.
    #[must_use]
    pub fn local(&self) -> Option<i64> {
        Some(self.date.days()? * i64::from(DAY) + i64::from(self.time))
    }
}

/// Whether a byte is a character that can be in a name: a blank or a graphic character that
/// ASCII has too.
#[inline]
fn printable(byte: u8) -> bool {
    const TABLE: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            let character = crate::ebcdic::CP037[byte];
            table[byte] = character >= 0x20 && character < 0x7F;
            byte += 1;
        }
        table
    };
    TABLE[usize::from(byte)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_counts_days() {
        for (year, day, days) in [
            (1970, 1, 0),
            (1970, 365, 364),
            (1971, 1, 365),
            (2000, 1, 10_957),
            (2000, 366, 11_322),
            (2026, 1, 20_454),
            (1969, 365, -1),
        ] {
            let date = Date::new(year, day);
            assert_eq!(date.parts(), Some((year, day)));
            assert_eq!(date.days(), Some(days), "{year} {day}");
        }
        assert_eq!(Date::new(2025, 1), Date(0x0125_001F));
        assert_eq!(Date(0x0099_365F).parts(), Some((1999, 365)));
    }

    #[test]
    fn invalid_date_is_none() {
        for date in [
            0,
            0x0125_000F,
            0x0125_367F,
            0x0125_0010,
            0x0225_001F,
            0x012A_001F,
            0x1125_001F,
        ] {
            assert_eq!(Date(date).parts(), None, "{date:08X}");
        }
    }

    #[test]
    fn header_round_trips() {
        let header = Header {
            length: 1022,
            segment: 0,
            flags: 0xDE,
            record: 113,
            time: 1500,
            date: Date::new(2025, 1),
            system: [0xE2, 0xE8, 0xF0, 0xF0],
            subsystem: [0xE2, 0xE3, 0xC3, 0x40],
            subtype: Some(1),
        };
        let bytes = header.encode();
        assert_eq!(bytes.len(), LONG);
        assert_eq!(Header::parse(&bytes), Some(header));
        assert_eq!(header.check(), Ok(()));
        assert_eq!(header.local(), Some(20_089 * i64::from(DAY) + 1500));
        let plain = Header {
            flags: 0x1E,
            subsystem: [0x40; 4],
            subtype: None,
            length: 18,
            ..header
        };
        assert_eq!(plain.encode().len(), SHORT);
        assert_eq!(Header::parse(&plain.encode()), Some(plain));
        assert_eq!(plain.check(), Ok(()));
        assert_eq!(Header::parse(&bytes[..17]), None);
    }

    #[test]
    fn extended_header_has_type_after_it() {
        let header = Header {
            length: 60,
            segment: 0,
            flags: 0x7E,
            record: 1154,
            time: 1,
            date: Date::new(2026, 1),
            system: [0xE2; 4],
            subsystem: [0x40; 4],
            subtype: Some(3),
        };
        let bytes = header.encode();
        assert_eq!((bytes.len(), bytes[5]), (EXTENDED, 126));
        assert_eq!(Header::parse(&bytes), Some(header));
        // Any deviation from the documented header makes it a record of type 126.
        for at in [1, 4, 25, 27, 52] {
            let mut other = bytes.clone();
            other[at] ^= 0x20;
            assert_eq!(Header::parse(&other).map(|header| header.record), Some(126));
        }
    }

    #[test]
    fn every_header_field_is_checked() {
        let good = Header::parse(&[
            0x00, 0x12, 0, 0, 0x1E, 2, 0, 0, 0, 1, 0x01, 0x25, 0x00, 0x1F, 0xE2, 0xE8, 0xF0, 0x40,
        ])
        .unwrap();
        assert_eq!(good.check(), Ok(()));
        let cases = [
            (Header { length: 0, ..good }, Fault::Length(0)),
            (
                Header {
                    segment: 0x0100,
                    ..good
                },
                Fault::Segment(0x0100),
            ),
            (
                Header {
                    time: DAY + 1,
                    ..good
                },
                Fault::Time(DAY + 1),
            ),
            (
                Header {
                    date: Date(0),
                    ..good
                },
                Fault::Date(0),
            ),
            (
                Header {
                    system: [0; 4],
                    ..good
                },
                Fault::System([0; 4]),
            ),
            (
                Header {
                    subtype: Some(1),
                    ..good
                },
                Fault::Length(18),
            ),
        ];
        for (header, fault) in cases {
            assert_eq!(header.check(), Err(fault));
            assert!(!fault.describe().is_empty());
        }
    }
}
