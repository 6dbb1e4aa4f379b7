//! Tests with thousands of seeded mutations: no panic, every byte accounted for, few records lost.

use std::collections::HashSet;

use zlens_frames::smf::{Sniff, sniff};

use crate::builders;
use crate::random::Random;

/// Changes the bytes in one of many ways; `places` are the offsets of the records.
fn damage(bytes: &mut Vec<u8>, places: &[usize], random: &mut Random) {
    const VALUES: [u8; 8] = [0, 1, 0x12, 0x18, 0x40, 0x5E, 0x71, 0xFF];
    let at = random.below(bytes.len());
    let place = places[random.below(places.len())].min(bytes.len());
    match random.below(11) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        // In a header, or in the triplets after it.
        1..=4 => {
            if let Some(byte) = bytes.get_mut(place + random.below(30)) {
                *byte = VALUES[random.below(VALUES.len())];
            }
        }
        5 => {
            let end = bytes.len().min(at + 1 + random.below(8));
            bytes[at..end].fill(VALUES[random.below(VALUES.len())]);
        }
        6 => bytes.truncate(at),
        7 => {
            let end = bytes.len().min(at + 1 + random.below(50));
            bytes.drain(at..end);
        }
        8 => {
            let count = 1 + random.below(50);
            bytes.splice(at..at, (0..count).map(|_| random.next() as u8));
        }
        9 => {
            let end = bytes.len().min(place + random.below(3000));
            let copy = bytes[place..end].to_vec();
            bytes.splice(at..at, copy);
        }
        _ => {
            let end = bytes.len().min(place + random.below(5000));
            bytes[place..end].fill_with(|| random.next() as u8);
        }
    }
}

fn places(records: &[Vec<u8>]) -> Vec<usize> {
    let mut at = 0;
    records
        .iter()
        .map(|record| {
            let here = at;
            at += record.len();
            here
        })
        .collect()
}

/// Returns fewer and shorter records than the sample, for many rounds.
fn small() -> Vec<Vec<u8>> {
    let mut records = builders::sample();
    records.retain(|record| record.len() < 2000);
    records.truncate(40);
    records.extend((0..10).map(|nth| builders::counters("SYSB", nth, nth + 1, nth + 1)));
    records
}

#[test]
fn any_damage_is_accounted_for() {
    let records = small();
    let (whole, places) = (builders::file(&records), places(&records));
    let mut random = Random(20_260_113);
    let mut with_problems = 0;
    for _ in 0..6000 {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(6) {
            damage(&mut bytes, &places, &mut random);
        }
        let (index, _) = builders::read(&bytes);
        with_problems += u32::from(!index.problems.is_empty());
        let _ = sniff(&bytes, bytes.len() as u64);
    }
    assert!(with_problems > 3000, "{with_problems}");
}

#[test]
fn random_bytes_are_handled() {
    let mut random = Random(7);
    for _ in 0..300 {
        let size = 1 + random.below(20_000);
        let bytes: Vec<u8> = (0..size).map(|_| random.next() as u8).collect();
        let (index, _) = builders::read(&bytes);
        assert_eq!(index.skipped_bytes, size as u64);
        assert_eq!(sniff(&bytes, size as u64), Sniff::No);
    }
}

#[test]
fn damaged_record_costs_only_itself() {
    let records = small();
    let (whole, places) = (builders::file(&records), places(&records));
    let offsets = |bytes: &[u8]| -> HashSet<u64> {
        let (_, found) = builders::read(bytes);
        found.iter().map(|record| record.offset).collect()
    };
    let all = offsets(&whole);
    let mut random = Random(99);
    for (nth, &place) in places.iter().enumerate() {
        for _ in 0..60 {
            let mut bytes = whole.clone();
            for _ in 0..=random.below(4) {
                let within = random.below(records[nth].len().min(40));
                bytes[place + within] = random.next() as u8;
            }
            let left = offsets(&bytes);
            let lost: Vec<_> = all.difference(&left).collect();
            assert!(
                lost.iter().all(|&&offset| offset == place as u64),
                "damage to the record at {place} lost {lost:?}: {:?}",
                builders::problems(&bytes)
            );
        }
    }
}

#[test]
fn damaged_blocks_and_segments_are_accounted_for() {
    use crate::physical::{blocked, segments, spanned};
    let records = small();
    let forms = [
        blocked(&records, 4000, false),
        blocked(&records, 40_000, true),
        spanned(&records, 3000, false),
        spanned(&records, 700, true),
        segments(&records, 600),
        [spanned(&records, 900, false), builders::file(&records)].concat(),
    ];
    let places: Vec<usize> = (0..60).map(|nth| nth * 701).collect();
    let mut random = Random(20_261_122);
    let mut with_problems = 0;
    for nth in 0..3000 {
        let whole = &forms[nth % forms.len()];
        let mut bytes = whole.clone();
        for _ in 0..1 + random.below(4) {
            if bytes.is_empty() {
                break;
            }
            damage(&mut bytes, &places, &mut random);
        }
        let (index, _) = builders::read(&bytes);
        with_problems += u32::from(!index.problems.is_empty());
    }
    assert!(with_problems > 1500, "{with_problems}");
}
