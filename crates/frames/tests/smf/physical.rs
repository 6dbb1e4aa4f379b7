//! Tests of the physical formats of a dump: the same records are read back from each.

/// Writes blocks of at most `size` bytes, each after its descriptor word, extended or not.
pub fn blocked(records: &[Vec<u8>], size: usize, extended: bool) -> Vec<u8> {
    let mut blocks = Blocks::new(size, extended);
    for record in records {
        if blocks.room() < record.len() {
            blocks.close();
        }
        blocks.body.extend_from_slice(record);
    }
    blocks.finish()
}

/// Writes blocks of at most `size` bytes, which records span in segments.
pub fn spanned(records: &[Vec<u8>], size: usize, extended: bool) -> Vec<u8> {
    let mut blocks = Blocks::new(size, extended);
    for record in records {
        let mut rest = &record[4..];
        let mut first = true;
        loop {
            if blocks.room() < 5 {
                blocks.close();
            }
            let count = rest.len().min(blocks.room() - 4);
            let (part, behind) = rest.split_at(count);
            blocks
                .body
                .extend(word(part.len(), first, behind.is_empty()));
            blocks.body.extend_from_slice(part);
            first = false;
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
    }
    blocks.finish()
}

/// Writes segments of at most `size` bytes, without blocks.
pub fn segments(records: &[Vec<u8>], size: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for record in records {
        let parts: Vec<&[u8]> = record[4..].chunks(size - 4).collect();
        for (nth, part) in parts.iter().enumerate() {
            out.extend(word(part.len(), nth == 0, nth + 1 == parts.len()));
            out.extend_from_slice(part);
        }
    }
    out
}

fn word(part: usize, first: bool, last: bool) -> [u8; 4] {
    let [high, low] = (part as u16 + 4).to_be_bytes();
    let bits = match (first, last) {
        (true, true) => 0,
        (true, false) => 1,
        (false, true) => 2,
        (false, false) => 3,
    };
    [high, low, bits, 0]
}

struct Blocks {
    out: Vec<u8>,
    body: Vec<u8>,
    size: usize,
    extended: bool,
}

impl Blocks {
    fn new(size: usize, extended: bool) -> Self {
        Self {
            out: Vec::new(),
            body: Vec::new(),
            size,
            extended,
        }
    }

    fn room(&self) -> usize {
        self.size.saturating_sub(4 + self.body.len())
    }

    fn close(&mut self) {
        if self.body.is_empty() {
            return;
        }
        let length = self.body.len() as u32 + 4;
        let word = if self.extended {
            0x8000_0000 | length
        } else {
            length << 16
        };
        self.out.extend(word.to_be_bytes());
        self.out.append(&mut self.body);
    }

    fn finish(mut self) -> Vec<u8> {
        self.close();
        self.out
    }
}

mod tests {
    use std::sync::Arc;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use zlens_frames::smf::{BlockStats, EXTENDED, Sniff, index, open, sniff};
    use zlens_frames::{ProblemKind, ReadAt, WINDOW};

    use super::{blocked, segments, spanned};
    use crate::builders;

    prop_compose! {
        fn one_record()(
            kind in prop_oneof![8 => 0_u16..256, 1 => 256_u16..2048],
            subtype in prop_oneof![4 => (0_u16..5).prop_map(Some), 1 => Just(None)],
            length in prop_oneof![6 => 56_usize..2000, 1 => 56_usize..=60, 1 => 56_usize..32_756],
            nth in 0_u32..1_000_000,
        ) -> Vec<u8> {
            // An extended header has a subtype, because the subtype flag is part of its definition.
            builders::record(kind, if kind > 255 { subtype.or(Some(1)) } else { subtype }, length, nth)
        }
    }

    /// Returns the bytes of all records with a subtype and a type other than 126.
    fn plain(records: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let decoded = |record: &&Vec<u8>| record[4] & 0x40 != 0 && record[5] != 126;
        records.iter().filter(decoded).cloned().collect()
    }

    fn found(bytes: &[u8]) -> Vec<Vec<u8>> {
        let found = builders::read(bytes).1.into_iter();
        found
            .map(|record| record.bytes)
            .filter(|record| record[5] != 126)
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 120,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn all_formats_have_same_records(
            records in vec(one_record(), 1..120),
            size in prop_oneof![Just(27_998_usize), Just(32_760), 70_usize..9000],
            segment in 30_usize..9000,
        ) {
            let stream = builders::file(&records);
            let expected = plain(&records);
            prop_assert!(found(&stream) == expected);
            let long = size.max(32_760);
            let forms = [
                blocked(&records, long, false),
                blocked(&records, long * 8, true),
                spanned(&records, size, false),
                spanned(&records, size, true),
                segments(&records, segment),
                // Two dumps in sequence, in different formats.
                [blocked(&records, long, false), stream.clone()].concat(),
                [stream.clone(), spanned(&records, size, false), segments(&records, segment)].concat(),
            ];
            for bytes in forms {
                prop_assert_eq!(say(&bytes), Sniff::Smf);
                let (index, _) = builders::read(&bytes);
                let rows = index.problems.rows();
                prop_assert!(rows.is_empty(), "{:?}", rows);
                let times = index.records as usize / records.len();
                let all: Vec<_> = (0..times).flat_map(|_| expected.clone()).collect();
                prop_assert!(found(&bytes) == all);
                // The offset of each record is that of its descriptor word in the file.
                for record in builders::read(&bytes).1 {
                    let at = record.offset as usize;
                    prop_assert!(bytes[at + 2] <= 1 && bytes[at + 4] == record.bytes[4]);
                }
            }
        }
    }

    fn say(bytes: &[u8]) -> Sniff {
        sniff(&bytes[..bytes.len().min(65_536)], bytes.len() as u64)
    }

    fn forms(bytes: &[u8]) -> BlockStats {
        builders::read(bytes).0.forms
    }

    #[test]
    fn bytes_besides_records_are_counted() {
        let records = builders::sample();
        assert_eq!(forms(&builders::file(&records)), BlockStats::default());
        let found = forms(&blocked(&records, 32_760, false));
        assert!(
            found.blocks > 10 && found.extended == 0 && found.spanned == 0,
            "{found:?}"
        );
        let found = forms(&spanned(&records, 4000, true));
        assert_eq!(found.blocks, found.extended);
        assert!(
            found.segments > 2 * found.spanned && found.spanned > 50,
            "{found:?}"
        );
    }

    #[test]
    fn record_longer_than_block() {
        let records: Vec<Vec<u8>> = [40_000, 65_535, 100, 32_761]
            .into_iter()
            .map(|length| builders::record(70, Some(1), length, 7))
            .collect();
        let bytes = spanned(&records, 27_998, false);
        assert_eq!(found(&bytes), records);
        // A record longer than a descriptor word allows is skipped and reported.
        let mut longest = builders::record(70, Some(1), 65_535, 8);
        longest.extend([1; 10]);
        let bytes = spanned(
            &[records[0].clone(), longest, records[2].clone()],
            27_998,
            false,
        );
        let (index, found) = builders::read(&bytes);
        assert_eq!(found.len(), 2);
        let rows = index.problems.rows();
        assert!(
            builders::says(&rows, ProblemKind::Length, "65545 bytes in 3 segments"),
            "{rows:?}"
        );
    }

    #[test]
    fn extended_header_names_its_type() {
        let mut records = builders::sample();
        records.insert(5, builders::record(1154, Some(2), 400, 9));
        for bytes in [builders::file(&records), spanned(&records, 700, false)] {
            let (index, _) = builders::read(&bytes);
            let info = index.kinds.iter().find(|info| info.kind.record == 1154);
            let info = info.expect("it is counted by its own type");
            assert_eq!((info.kind.subtype, info.count), (Some(2), 1));
            assert!(usize::from(info.min_length) >= EXTENDED);
        }
        // A record of a type with layouts for the usual header is counted, but not returned.
        records[5][52..54].copy_from_slice(&113_u16.to_be_bytes());
        let source: Arc<dyn ReadAt> = Arc::new(builders::file(&records));
        let (source, index) = open(source, &[], &[], &mut |_, _| true).expect("memory can be read");
        assert!(
            index
                .kinds
                .iter()
                .any(|info| info.kind.record == 113 && info.kind.subtype == Some(2))
        );
        let first = Arc::new(index).first_records(&source, (113, 2), None, 1);
        assert!(first.expect("memory can be read").is_empty());
    }

    /// Returns spanned records, their blocks, and the offset of the third block.
    fn three_blocks() -> (Vec<Vec<u8>>, Vec<u8>, usize) {
        let records: Vec<Vec<u8>> = (0..40)
            .map(|nth| builders::record(30, Some(4), 500 + nth as usize, nth))
            .collect();
        let bytes = spanned(&records, 4000, false);
        let length = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        let second = length(0);
        (records, bytes.clone(), second + length(second))
    }

    #[test]
    fn missing_block_costs_its_records() {
        let (records, mut bytes, third) = three_blocks();
        let length = usize::from(u16::from_be_bytes([bytes[third], bytes[third + 1]]));
        bytes.drain(third..third + length);
        let (_, found) = builders::read(&bytes);
        let good = found.iter().filter(|one| records.contains(&one.bytes));
        // The start of one record and the end of another form one record; nothing distinguishes them.
        assert!(good.count() + 1 >= found.len());
        assert!(found.len() >= records.len() - 9, "{}", found.len());
    }

    #[test]
    fn lost_start_or_end() {
        let (records, bytes, third) = three_blocks();
        // From the third block on, which starts with the end of a record.
        let (index, found) = builders::read(&bytes[third..]);
        let rows = index.problems.rows();
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert!(builders::says(
            &rows,
            ProblemKind::Truncated,
            "first segment is not in the file"
        ));
        assert_eq!(rows[0].offset, 4);
        let found: Vec<_> = found.into_iter().map(|one| one.bytes).collect();
        assert!(records.ends_with(&found));
        // Up to the third block, and up to its middle.
        for (end, words) in [
            (third, "file ends before its last segment"),
            (third + 1700, "the file ends"),
        ] {
            let (index, found) = builders::read(&bytes[..end]);
            let rows = index.problems.rows();
            assert!(
                builders::says(&rows, ProblemKind::Truncated, words),
                "{rows:?}"
            );
            let found: Vec<_> = found.into_iter().map(|one| one.bytes).collect();
            assert!(found.len() > 10 && records.starts_with(&found));
        }
    }

    #[test]
    fn wrong_block_length_costs_few_records() {
        let (records, bytes, third) = three_blocks();
        for (change, kind) in [
            (-300_i32, "it ends inside"),
            (2600, "another begins inside"),
        ] {
            let mut bytes = bytes.clone();
            let length = i32::from(u16::from_be_bytes([bytes[third], bytes[third + 1]])) + change;
            bytes[third..third + 2].copy_from_slice(&(length as u16).to_be_bytes());
            let (index, found) = builders::read(&bytes);
            let rows = index.problems.rows();
            assert!(
                builders::says(&rows, ProblemKind::Length, kind),
                "{change} {rows:?}"
            );
            assert!(
                found.len() >= records.len() - 3,
                "{change} {} {rows:?}",
                found.len()
            );
        }
    }

    #[test]
    fn growing_or_shrinking_file() {
        let (_, bytes, third) = three_blocks();
        struct Says(Vec<u8>, u64);
        impl ReadAt for Says {
            fn read_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<usize> {
                self.0.read_at(offset, buf)
            }
            fn size(&self) -> u64 {
                self.1
            }
        }
        let size = bytes.len() as u64;
        for (source, words) in [
            (Says(bytes.clone(), third as u64), "has grown"),
            (Says(bytes[..third].to_vec(), size), "has lost its last"),
        ] {
            let (_, index) =
                open(Arc::new(source), &[], &[], &mut |_, _| true).expect("it can be read");
            let rows = index.problems.rows();
            assert!(
                builders::says(&rows, ProblemKind::Changed, words),
                "{rows:?}"
            );
            assert!(index.records > 10);
            assert_eq!(
                index.record_bytes + index.skipped_bytes + index.word_bytes,
                index.size
            );
        }
    }

    #[test]
    fn records_across_windows_are_reassembled() {
        let records: Vec<Vec<u8>> = (0..60)
            .map(|nth| builders::record(70, Some(1), 30_000 + 37 * nth as usize, nth))
            .collect();
        let bytes = spanned(&records, 32_760, false);
        assert!(bytes.len() > 6 * WINDOW);
        assert_eq!(found(&bytes), records);
    }

    #[test]
    fn stream_is_read_once() {
        use std::sync::atomic::{AtomicU64, Ordering};
        struct Counting(Vec<u8>, AtomicU64);
        impl ReadAt for Counting {
            fn read_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<usize> {
                let got = self.0.read_at(offset, buf)?;
                self.1.fetch_add(got as u64, Ordering::Relaxed);
                Ok(got)
            }
            fn size(&self) -> u64 {
                self.0.size()
            }
        }
        let bytes = builders::file(&builders::sample()).repeat(4);
        let size = bytes.len() as u64;
        let source = Arc::new(Counting(bytes, AtomicU64::new(0)));
        let (_, found) =
            open(source.clone(), &[], &[], &mut |_, _| true).expect("memory can be read");
        assert_eq!(found.records as usize, 4 * builders::sample().len());
        let read = source.1.load(Ordering::Relaxed);
        assert!(read < size + size / 4, "{read} of {size}");
        // To a reader of streams, blocks are damage.
        let blocks = blocked(&builders::sample(), 32_760, false);
        let found = index(&blocks, &[], &mut |_, _| true).expect("memory can be read");
        assert!(!found.problems.is_empty());
    }
}
