//! Any bytes as records of sections: the number of rows does not depend on the columns selected, for
//! complete and broken records, and problems have offsets within the file.

#![no_main]

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use zlens_columns::sections::{Decoder, Plan, Selection, System};
use zlens_columns::{DumpSet, File, IncrementalScan, Step};
use zlens_frames::ReadAt;
use zlens_frames::smf::index;

/// A plan with every kind of column.
static PLAN: LazyLock<Plan> = LazyLock::new(|| {
    Plan::parse(include_str!(
        "../../crates/columns/tests/sections/plan.json"
    ))
    .expect("a good plan")
});

fuzz_target!(|bytes: Vec<u8>| {
    let found = index(&bytes, &[], &mut |_, _| true).expect("memory can be read");
    let ids: BTreeSet<[u8; 4]> = found.kinds.iter().map(|info| info.kind.system).collect();
    let systems = ids.into_iter().map(|id| System {
        name: format!("{id:?}"),
        ids: vec![(0, 70, id)],
        zone_us: (id[3] & 1 == 0).then_some(3_600_000_000),
    });
    let size = bytes.len() as u64;
    let source: Arc<dyn ReadAt> = Arc::new(bytes);
    let file = File {
        name: "dump".to_owned(),
        source,
        index: Arc::new(found),
    };
    let dumps = DumpSet {
        source: "smf".to_owned(),
        systems: systems.collect(),
        files: vec![file],
        leap_s: 0,
    };
    let decoder = Arc::new(Decoder::new(dumps, vec![PLAN.clone()]));
    let all = decoder.everything(&PLAN.name);
    let together = rows(&decoder, &all);
    for (number, table) in PLAN.tables.iter().enumerate() {
        let few = ["section_no", "interval_end"].map(str::to_owned);
        let selection = decoder
            .select(&table.name, Some(&few))
            .expect("such columns");
        assert_eq!(
            rows(&decoder, &[selection]),
            [together[number]],
            "{}",
            table.name
        );
    }
    let mut scan = decoder.intervals(&[PLAN.name.clone()]);
    while !matches!(scan.step().expect("memory can be read"), Step::Done) {}
    let problems = decoder.problems();
    assert!(problems.iter().all(|found| found.problem.offset < size));
});

/// Counts the rows of some tables.
fn rows(decoder: &Arc<Decoder>, selections: &[Selection]) -> Vec<usize> {
    let mut scan = decoder.scan(selections);
    let mut rows = vec![0; selections.len()];
    loop {
        match scan.step().expect("memory can be read") {
            Step::Batch(table, batch) => rows[table] += batch.num_rows(),
            Step::Working => {}
            Step::Done => return rows,
        }
    }
}
