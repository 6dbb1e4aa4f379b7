//! Tests that any records in any groups and entries, from any start, read back the same.

use proptest::collection::vec;
use proptest::prelude::*;
use zlens_frames::zvm::{Class, Header, IntervalEnd, MAX_RECORD};

use crate::builders::{self, Made};

prop_compose! {
    fn one_record()(
        domain in 0_u8..=11,
        number in prop_oneof![9 => 1_u16..=40, 1 => any::<u16>()],
        length in prop_oneof![4 => 20_usize..600, 2 => 20_usize..=24, 1 => 20..=MAX_RECORD],
        nth in 0_u64..1_000_000_000,
    ) -> Vec<u8> {
        // Callers do not write end-of-frame records.
        let end_of_frame = (domain, number) == Header::END_OF_FRAME;
        builders::record(domain, if end_of_frame { 11 } else { number }, length, nth)
    }
}

/// Runs of equal records, as in real files, between single ones.
fn records() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let run = (
        one_record(),
        prop_oneof![2 => Just(1_usize), 1 => 1_usize..30],
    )
        .prop_map(|(record, count)| vec![record; count]);
    vec(run, 1..12).prop_map(|runs| runs.concat())
}

prop_compose! {
    fn group()(
        class in prop_oneof![Just(Class::Sample), Just(Class::Event)],
        place in prop_oneof![Just(0_u32), 0_u32..=0xFEC],
        page in 0_u32..0x000F_0000,
        records in records(),
    ) -> Made {
        Made { class, start: page << 12 | place, records }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn written_records_round_trip(controls in vec(vec(group(), 1..5), 1..5)) {
        let bytes = builders::file(&controls);
        let (index, records) = builders::read(&bytes);
        let expected = builders::expected(&controls);
        let plain = builders::plain(&records);
        prop_assert_eq!(plain.len(), expected.len());
        prop_assert!(plain == expected);
        prop_assert_eq!(index.skipped_bytes, 0);
        prop_assert!(index.complete);
        prop_assert_eq!(index.control_records, controls.len() as u64);
        prop_assert_eq!(index.control_bytes, (controls.len() as u64 + 1) * 4096);
        // Intervals end at interval-end records, and count the samples before them.
        let mut ends = Vec::new();
        let mut sampled = vec![Vec::new()];
        for record in records.iter().filter(|record| record.class == Class::Sample) {
            let tod = Header::parse(&record.bytes).map_or(0, |header| header.tod);
            match (record.id(), sampled.last_mut()) {
                (Header::INTERVAL_END, Some(samples)) => {
                    let count = samples.len() as u64;
                    ends.push(IntervalEnd { tod, records: count, offset: record.offset });
                    sampled.push(Vec::new());
                }
                ((1, _), _) => {}
                (_, samples) => samples.into_iter().for_each(|times| times.push(tod)),
            }
        }
        // One that is before its samples, or not before the next ones, has the time of its last sample.
        let mut moved = 0;
        for (place, end) in ends.iter_mut().enumerate() {
            let Some(last) = sampled[place].iter().max() else { continue };
            let early = sampled[place].iter().all(|time| end.tod < *time);
            let next = sampled.get(place + 1).filter(|_| place + 1 < sampled.len() - 1);
            let late = next.and_then(|times| times.iter().min()).is_some_and(|&next| {
                *last < next && next <= if early { *last } else { end.tod }
            });
            if early || late {
                end.tod = *last;
                moved += 1;
            }
        }
        prop_assert_eq!(index.problems.is_empty(), moved == 0, "{:?}", index.problems);
        prop_assert_eq!(&index.interval_ends, &ends);
    }
}

#[test]
fn file_of_only_end_has_one_problem() {
    let bytes = builders::file(&[]);
    let index = builders::indexed(&bytes);
    assert_eq!(index.types.len(), 0);
    assert_eq!(index.problems.len(), 1);
}

#[test]
fn synthetic_sample_has_no_problem() {
    let (index, records) = builders::read(&builders::file(&builders::sample()));
    assert!(index.problems.is_empty(), "{:?}", index.problems);
    assert!(index.complete);
    assert_eq!(index.interval_ends.len(), 6);
    assert!(index.interval_ends.iter().all(|end| end.records == 47));
    assert_eq!(index.first_tod, Some(builders::time(0)));
    assert_eq!(index.last_tod, Some(builders::time(5_000_099)));
    assert_eq!(
        builders::plain(&records),
        builders::expected(&builders::sample())
    );
}
