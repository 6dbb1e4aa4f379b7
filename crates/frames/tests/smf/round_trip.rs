//! Tests that any records read back as written.

use proptest::collection::vec;
use proptest::prelude::*;
use zlens_frames::smf::{MAX_RECORD, WriteError, Writer};

use crate::builders;

prop_compose! {
    fn one_record()(
        kind in 0_u16..256,
        subtype in prop_oneof![4 => (0_u16..5).prop_map(Some), 1 => any::<u16>().prop_map(Some), 1 => Just(None)],
        length in prop_oneof![6 => 24_usize..2000, 1 => 24_usize..=26, 1 => 24..=MAX_RECORD],
        nth in 0_u32..1_000_000,
    ) -> Vec<u8> {
        builders::record(kind, subtype, length, nth)
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn written_records_round_trip(records in vec(one_record(), 1..200)) {
        let bytes = builders::file(&records);
        let (index, found) = builders::read(&bytes);
        prop_assert!(index.problems.is_empty(), "{:?}", index.problems);
        prop_assert_eq!(index.records, records.len() as u64);
        let plain: Vec<Vec<u8>> = found.into_iter().map(|record| record.bytes).collect();
        let with_subtype = |record: &&Vec<u8>| record[4] & 0x40 != 0;
        let expected: Vec<Vec<u8>> = records.iter().filter(with_subtype).cloned().collect();
        prop_assert!(plain == expected);
    }
}

#[test]
fn synthetic_sample_has_no_problem() {
    let (index, found) = builders::read(&builders::file(&builders::sample()));
    assert!(index.problems.is_empty(), "{:?}", index.problems);
    assert_eq!(index.kinds.len(), 8);
    assert_eq!(index.records, builders::sample().len() as u64);
    assert_eq!(found.len(), 150 + 150 + 15);
}

#[test]
fn invalid_record_is_not_written() {
    let mut writer = Writer::new(Vec::new());
    let mut bad = builders::record(113, Some(1), 100, 0);
    bad[10] = 9;
    assert!(matches!(writer.write(&bad), Err(WriteError::Header(_))));
    assert!(matches!(writer.write(&[0; 9]), Err(WriteError::Header(_))));
    let mut short = builders::record(113, Some(1), 24, 0);
    short.truncate(20);
    assert!(matches!(writer.write(&short), Err(WriteError::Header(_))));
    let mut long = builders::record(113, Some(1), MAX_RECORD, 0);
    long.push(0);
    assert!(matches!(writer.write(&long), Err(WriteError::Long(_))));
    assert!(writer.finish().expect("memory takes it").is_empty());
}
