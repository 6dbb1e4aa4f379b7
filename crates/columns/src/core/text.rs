//! Text of a column while it is built.

use zlens_frames::ebcdic::{BLANK, CP037};

/// All values back to back, and where each ends (the first offset is 0).
///
/// A batch holds at most 16,384 values of at most 128 KiB (a record of 64 KiB in UTF-8 or hexadecimal), below the
/// 2 GiB that the offsets can address.
#[derive(Debug)]
pub(crate) struct TextBuilder {
    offsets: Vec<i32>,
    /// The values, followed by spare capacity.
    values: Vec<u8>,
    end: usize,
    names: TranslationCache,
}

/// Words of text that were translated before: the same names come in every interval.
#[derive(Debug, Default)]
struct TranslationCache {
    known: Vec<CachedName>,
}

#[derive(Debug, Clone, Copy, Default)]
struct CachedName {
    field: u64,
    /// The same in ASCII, and how much of it is left without the blanks and zeros at its end.
    text: [u8; WORD],
    kept: usize,
}

/// Bytes of text that are translated at a time.
const WORD: usize = 8;
/// Number of cached words.
const NAMES: usize = 512;

impl TranslationCache {
    /// Returns the slots of the words, always `NAMES` of them.
    fn places(&mut self) -> &mut [CachedName; NAMES] {
        if self.known.len() < NAMES {
            self.known.resize(NAMES, CachedName::default());
        }
        self.known.first_chunk_mut().expect("resized above")
    }
}

/// The text of up to eight bytes, the others zeros; nothing if it is not ASCII.
#[inline(always)]
fn translate(known: &mut [CachedName; NAMES], field: [u8; WORD]) -> Option<CachedName> {
    let word = u64::from_ne_bytes(field);
    let place = (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - NAMES.ilog2())) as usize;
    let name = known[place % NAMES];
    if name.field == word {
        Some(name)
    } else {
        translate_uncached(known, field, place % NAMES)
    }
}

#[inline(never)]
fn translate_uncached(
    known: &mut [CachedName; NAMES],
    field: [u8; WORD],
    place: usize,
) -> Option<CachedName> {
    let text = field.map(|byte| CP037[usize::from(byte)]);
    let kept = field
        .iter()
        .rposition(|&byte| byte != BLANK && byte != 0)
        .map_or(0, |last| last + 1);
    if !text.is_ascii() {
        return None;
    }
    let name = CachedName {
        field: u64::from_ne_bytes(field),
        text,
        kept,
    };
    // The first slot is reserved for the word of zeros, which is the most frequent and the content of an empty slot.
    if place != 0 {
        known[place] = name;
    }
    Some(name)
}

impl Default for TextBuilder {
    fn default() -> Self {
        Self::new(Vec::new(), Vec::new(), TranslationCache::default())
    }
}

impl TextBuilder {
    fn new(mut offsets: Vec<i32>, values: Vec<u8>, names: TranslationCache) -> Self {
        offsets.clear();
        offsets.push(0);
        Self {
            offsets,
            values,
            end: 0,
            names,
        }
    }

    /// Forgets the values.
    pub(crate) fn clear(&mut self) {
        self.offsets.truncate(1);
        self.end = 0;
    }

    /// Returns offsets and values, and how many bytes of the values are used; continues with other vectors, that
    /// are asked for with what these had.
    pub(crate) fn take(
        &mut self,
        next: impl FnOnce(usize, usize) -> (Vec<i32>, Vec<u8>),
    ) -> (Vec<i32>, Vec<u8>, usize) {
        let (offsets, values) = next(self.offsets.len(), self.values.len());
        let names = std::mem::take(&mut self.names);
        let done = std::mem::replace(self, Self::new(offsets, values, names));
        (done.offsets, done.values, done.end)
    }

    /// Bytes of one value.
    pub(crate) fn get(&self, row: usize) -> &[u8] {
        &self.values[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }

    /// `count` empty values.
    pub(crate) fn empty(&mut self, count: usize) {
        self.offsets
            .resize(self.offsets.len() + count, self.end as i32);
    }

    /// Space for this many more bytes.
    fn room(&mut self, bytes: usize) {
        let needed = self.end + bytes;
        if needed > self.values.len() {
            self.values.resize(needed.max(2 * self.values.len()), 0);
        }
    }

    /// Appends EBCDIC text of `len` bytes at each offset.
    pub(crate) fn text(&mut self, window: &[u8], places: &[u32], len: u32) {
        match len {
            1 => self.words::<1>(window, places),
            2 => self.words::<2>(window, places),
            3 => self.words::<3>(window, places),
            4 => self.words::<4>(window, places),
            6 => self.words::<6>(window, places),
            8 => self.words::<8>(window, places),
            16 => self.words::<16>(window, places),
            _ => {
                let len = len as usize;
                places
                    .iter()
                    .for_each(|&at| self.push_text(&window[at as usize..at as usize + len]));
            }
        }
    }

    /// Text of up to eight bytes, or of sixteen.
    fn words<const N: usize>(&mut self, window: &[u8], places: &[u32]) {
        // Every value is written with whole words, of which the next one takes back what is not its own.
        self.room(N * places.len() + 2 * WORD);
        let Self {
            offsets,
            values,
            end,
            names,
        } = self;
        let known = names.places();
        let from = offsets.len();
        offsets.resize(from + places.len(), 0);
        // Columns that say the same in many rows are frequent, and all entries of a record have the texts of the
        // record.
        let mut last = [CachedName::default(); 2];
        for (number, (offset, &place)) in offsets[from..].iter_mut().zip(places).enumerate() {
            let field = &window[place as usize..place as usize + N];
            let Some(kept) = word::<N>(known, &mut last, field, &mut values[*end..]) else {
                offsets.truncate(from + number);
                for &place in &places[number..] {
                    self.push_text(&window[place as usize..place as usize + N]);
                }
                return;
            };
            *end += kept;
            *offset = *end as i32;
        }
    }

    /// EBCDIC text of one value.
    pub(crate) fn push_text(&mut self, field: &[u8]) {
        let kept = field
            .iter()
            .rposition(|&byte| byte != BLANK && byte != 0)
            .map_or(0, |last| last + 1);
        self.room(2 * kept);
        let mut end = self.end;
        let known = self.names.places();
        for word in field[..kept].chunks(WORD) {
            let mut bytes = [0; WORD];
            bytes[..word.len()].copy_from_slice(word);
            match translate(known, bytes) {
                // Blanks within the value count.
                Some(name) => {
                    self.values[end..end + word.len()].copy_from_slice(&name.text[..word.len()]);
                    end += word.len();
                }
                None => end = latin(word, &mut self.values, end),
            }
        }
        self.end = end;
        self.offsets.push(end as i32);
    }

    /// ASCII text of one value.
    pub(crate) fn push_ascii(&mut self, field: &[u8]) {
        let kept = field
            .iter()
            .rposition(|&byte| byte != b' ' && byte != 0)
            .map_or(0, |last| last + 1);
        self.room(kept);
        for (out, &byte) in self.values[self.end..].iter_mut().zip(&field[..kept]) {
            *out = if byte.is_ascii() { byte } else { b'?' };
        }
        self.end += kept;
        self.offsets.push(self.end as i32);
    }

    /// Appends the `len` bytes at each offset in hexadecimal.
    pub(crate) fn hex(&mut self, window: &[u8], places: &[u32], len: u32) {
        match len {
            1 => self.digits::<1>(window, places),
            2 => self.digits::<2>(window, places),
            4 => self.digits::<4>(window, places),
            8 => self.digits::<8>(window, places),
            _ => {
                let len = len as usize;
                places
                    .iter()
                    .for_each(|&at| self.push_hex(&window[at as usize..at as usize + len]));
            }
        }
    }

    fn digits<const N: usize>(&mut self, window: &[u8], places: &[u32]) {
        self.room(2 * N * places.len());
        let start = self.end;
        self.end += 2 * N * places.len();
        for (value, &place) in self.values[start..self.end]
            .chunks_exact_mut(2 * N)
            .zip(places)
        {
            let mut field = [0; N];
            field.copy_from_slice(&window[place as usize..place as usize + N]);
            digits(value, &field);
        }
        self.offsets
            .extend((1..=places.len()).map(|count| (start + 2 * N * count) as i32));
    }

    /// One value in hexadecimal.
    pub(crate) fn push_hex(&mut self, field: &[u8]) {
        self.room(2 * field.len());
        let start = self.end;
        self.end += 2 * field.len();
        many_digits(&mut self.values[start..self.end], field);
        self.offsets.push(self.end as i32);
    }
}

/// Writes one field to the start of `out`; how much of it is its text, or nothing if it is not ASCII.
#[inline(always)]
fn word<const N: usize>(
    known: &mut [CachedName; NAMES],
    last: &mut [CachedName; 2],
    field: &[u8],
    out: &mut [u8],
) -> Option<usize> {
    let mut put = |field: &[u8], last: &mut CachedName, out: &mut [u8]| {
        let mut bytes = [0; WORD];
        bytes[..field.len()].copy_from_slice(field);
        if last.field != u64::from_ne_bytes(bytes) {
            *last = translate(known, bytes)?;
        }
        out[..WORD].copy_from_slice(&last.text);
        Some(last.kept)
    };
    let kept = put(&field[..N.min(WORD)], &mut last[0], out)?;
    if N <= WORD {
        return Some(kept);
    }
    let rest = put(&field[WORD..N], &mut last[1], &mut out[WORD..])?;
    Some(if rest == 0 { kept } else { WORD + rest })
}

/// Writes text, of which each byte may need two, at `end`; where it ends.
#[cold]
fn latin(field: &[u8], values: &mut [u8], mut end: usize) -> usize {
    for &byte in field {
        let latin = CP037[usize::from(byte)];
        if latin < 0x80 {
            values[end] = latin;
            end += 1;
        } else {
            values[end..end + 2].copy_from_slice(&[0xC0 | latin >> 6, 0x80 | latin & 0x3F]);
            end += 2;
        }
    }
    end
}

/// Writes the digits of bytes, four bytes at a time where there are.
#[inline(always)]
fn digits(out: &mut [u8], field: &[u8]) {
    let (words, rest) = field.as_chunks::<4>();
    let (eights, out_rest) = out.as_chunks_mut::<8>();
    for (out, word) in eights.iter_mut().zip(words) {
        *out = eight_digits(u32::from_be_bytes(*word)).to_be_bytes();
    }
    let (pairs, _) = out_rest.as_chunks_mut::<2>();
    for (out, &byte) in pairs.iter_mut().zip(rest) {
        let [.., high, low] = eight_digits(u32::from(byte)).to_be_bytes();
        *out = [high, low];
    }
}

/// The eight digits of a word, the first in the highest byte.
#[inline(always)]
fn eight_digits(word: u32) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let spread = u64::from(word);
    let spread = (spread | spread << 16) & 0x0000_FFFF_0000_FFFF;
    let spread = (spread | spread << 8) & 0x00FF_00FF_00FF_00FF;
    let nibbles = (spread | spread << 4) & (15 * ONES);
    // One in each byte whose digit is a letter, which come 39 places after the nine.
    let letters = ((nibbles + 6 * ONES) >> 4) & ONES;
    nibbles + 0x30 * ONES + 39 * letters
}

/// Writes the digits of many bytes; without a table, so that many are done at once.
fn many_digits(out: &mut [u8], field: &[u8]) {
    let digit = |nibble: u8| nibble + if nibble > 9 { b'a' - 10 } else { b'0' };
    let (pairs, _) = out.as_chunks_mut::<2>();
    for (pair, &byte) in pairs.iter_mut().zip(field) {
        *pair = [digit(byte >> 4), digit(byte & 15)];
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use zlens_frames::ebcdic;

    use super::*;

    /// Bytes of a field: many blanks and zeros, some letters, few others.
    fn field(len: usize) -> impl Strategy<Value = Vec<u8>> {
        let byte =
            prop_oneof![3 => Just(BLANK), 2 => Just(0), 6 => 0xC1..=0xC9u8, 1 => any::<u8>()];
        prop::collection::vec(byte, len)
    }

    fn window() -> impl Strategy<Value = (Vec<Vec<u8>>, usize)> {
        (1..=20usize).prop_flat_map(|len| (prop::collection::vec(field(len), 0..40), Just(len)))
    }

    fn strings(texts: &TextBuilder) -> Vec<String> {
        (0..texts.offsets.len() - 1)
            .map(|row| String::from_utf8(texts.get(row).to_vec()).unwrap())
            .collect()
    }

    proptest! {
        #[test]
        fn text_and_hex_equal_single_values((fields, len) in window()) {
            let window = fields.concat();
            let places: Vec<u32> = (0..fields.len()).map(|at| (at * len) as u32).collect();
            let mut texts = TextBuilder::default();
            texts.text(&window, &places, len as u32);
            let expected: Vec<String> = fields.iter().map(|field| ebcdic::text(field)).collect();
            prop_assert_eq!(strings(&texts), expected);
            let mut texts = TextBuilder::default();
            texts.hex(&window, &places, len as u32);
            let digits = |field: &Vec<u8>| field.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            let expected: Vec<String> = fields.iter().map(digits).collect();
            prop_assert_eq!(strings(&texts), expected);
        }
    }
}
