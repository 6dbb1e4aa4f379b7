//! Tests of zeros written over dumps of every format: every loss is reported.

use crate::builders;
use crate::physical::{blocked, segments, spanned};

#[test]
fn records_lost_to_zeros_are_reported() {
    let mut records = builders::sample();
    records.truncate(70);
    let forms = [
        builders::file(&records),
        blocked(&records, 32_760, false),
        blocked(&records, 90_000, true),
        spanned(&records, 4000, false),
        spanned(&records, 27_998, true),
        segments(&records, 700),
    ];
    let mut fell = 0;
    for whole in forms {
        let (index, _) = builders::read(&whole);
        assert!(index.problems.is_empty());
        for (nth, begin) in (0..whole.len()).step_by(2048).enumerate() {
            // Sectors, pages, and other ranges.
            let (begin, count) = [
                (begin, 512),
                (begin, 4096),
                (begin + nth % 97, 1024),
                (begin + nth % 89, 61),
                (begin + 512, 40_000),
            ][nth % 5];
            let mut bytes = whole.clone();
            let end = bytes.len().min(begin + count);
            bytes[begin.min(end)..end].fill(0);
            let (found, _) = builders::read(&bytes);
            if found.records < index.records {
                fell += 1;
                assert!(!found.problems.is_empty(), "{count} at {begin}");
            }
        }
    }
    assert!(fell > 150, "{fell}");
}
