//! Any bytes, in any physical format: the index accounts for every byte, a pass finds the counted
//! records, and the decoder returns the same number of rows for any selection.

#![no_main]

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use zlens_columns::counters::{Decoder, Plan, System};
use zlens_columns::{DumpSet, File, IncrementalScan, Step};
use zlens_frames::smf::{Header, Index, MAX_KINDS, Pass, index, open, sniff};
use zlens_frames::{ReadAt, Windows};

/// The plan of the catalog, as in the tests of the decoder.
static PLAN: LazyLock<Plan> = LazyLock::new(|| {
    Plan::parse(include_str!(
        "../../crates/columns/tests/counters/plan.json"
    ))
    .expect("a good plan")
});

fuzz_target!(|bytes: Vec<u8>| {
    let _ = sniff(&bytes, bytes.len() as u64);
    accounted(&index(&bytes, &PLAN.clocks(), &mut |_, _| true).expect("memory can be read"));
    let source: Arc<dyn ReadAt> = Arc::new(bytes);
    let opened = open(source, &PLAN.clocks(), &[], &mut |done, total| {
        assert!(done <= total);
        true
    });
    let (source, found) = opened.expect("memory can be read");
    accounted(&found);
    let found = Arc::new(found);
    pass(&source, &found);
    decode(&source, &found);
});

/// Every byte belongs to a record, a descriptor word, or a problem.
fn accounted(found: &Index) {
    assert_eq!(
        found.record_bytes + found.skipped_bytes + found.word_bytes,
        found.size
    );
    let rows = found.problems.rows();
    assert_eq!(
        rows.iter().map(|row| row.bytes).sum::<u64>(),
        found.skipped_bytes
    );
    assert!(
        rows.iter()
            .all(|row| row.offset + row.bytes <= found.size || row.detail.contains("only counted"))
    );
}

/// A pass returns the counted records.
fn pass(source: &Arc<dyn ReadAt>, found: &Arc<Index>) {
    let with_subtype = || {
        found
            .kinds
            .iter()
            .filter(|info| info.kind.subtype.is_some() && info.kind.record < 256)
    };
    let wanted: BTreeSet<(u8, u16)> = with_subtype()
        .filter_map(|info| Some((info.kind.record.try_into().ok()?, info.kind.subtype?)))
        .collect();
    let wanted: Vec<(u8, u16)> = wanted.into_iter().collect();
    let counted: u64 = with_subtype().map(|info| info.count).sum();
    let mut pass = Pass::new(Arc::clone(source), Arc::clone(found), &wanted);
    let mut records = 0;
    while let Some(window) = pass.next_window().expect("memory can be read") {
        for (slot, &kind) in wanted.iter().enumerate() {
            for &record in window.records(slot) {
                let bytes = window.bytes_of(record);
                let header = Header::parse(bytes).expect("a record has a header");
                assert_eq!(
                    (header.record, header.subtype),
                    (u16::from(kind.0), Some(kind.1))
                );
                assert!(window.offset_of(record) < found.size);
                assert_eq!(usize::from(header.length), bytes.len());
                records += 1;
            }
        }
    }
    assert!(pass.problems().is_empty());
    // Records with extended headers are counted but not returned, whatever their type.
    let mut bytes = vec![0; source.size() as usize];
    source.read_at(0, &mut bytes).expect("memory can be read");
    let extended = bytes.windows(4).any(|four| four == [0, 32, 0, 1]);
    assert!(
        records == counted || found.kinds.len() == MAX_KINDS || (extended && records < counted)
    );
}

/// All columns, with subtypes compared, and a few columns have the same number of rows.
fn decode(source: &Arc<dyn ReadAt>, found: &Arc<Index>) {
    let ids: BTreeSet<[u8; 4]> = found.kinds.iter().map(|info| info.kind.system).collect();
    let systems = ids.into_iter().map(|id| {
        let own = || found.intervals.iter().filter(|one| one.system == id);
        let ends: BTreeSet<u64> = own().map(|one| one.end).collect();
        let first: BTreeSet<u64> = own()
            .filter(|one| one.subtype == 1)
            .map(|one| one.end)
            .collect();
        System {
            name: format!("{id:?}"),
            ids: vec![(0, 113, id)],
            covered: ends.iter().map(|end| first.contains(end)).collect(),
            interval_ends: ends.into_iter().collect(),
            nominal_s: Some(900.0),
        }
    });
    let file = File {
        name: "dump".to_owned(),
        source: Arc::clone(source),
        index: Arc::clone(found),
    };
    let dumps = DumpSet {
        source: "smf".to_owned(),
        systems: systems.collect(),
        files: vec![file],
        leap_s: 0,
    };
    let decoder = Arc::new(Decoder::new(dumps, PLAN.clone()));
    let rows = |columns: Option<&[String]>, check: bool| {
        let selection = decoder.select(columns).expect("such columns");
        let mut scan = decoder.scan(&selection, check);
        let mut rows = 0;
        loop {
            match scan.step().expect("memory can be read") {
                Step::Batch(_, batch) => rows += batch.num_rows(),
                Step::Working => {}
                Step::Done => return rows,
            }
        }
    };
    let few = ["c0_d", "c287_d", "interval_end", "seconds"].map(str::to_owned);
    assert_eq!(rows(None, true), rows(Some(&few), false));
    let size = found.size;
    assert!(
        decoder
            .problems()
            .iter()
            .all(|found| found.problem.offset < size)
    );
}
