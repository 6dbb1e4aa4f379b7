//! Tests with thousands of seeded mutations: no panic, every byte accounted for, few records lost.

use std::collections::HashSet;

use zlens_frames::PAGE;
use zlens_frames::zvm::{Sniff, sniff};

use crate::builders;
use crate::random::Random;

/// Changes the bytes in one of many ways.
pub fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    const VALUES: [u8; 8] = [0, 1, 0x13, 0x14, 0x7F, 0x80, 0xC5, 0xFF];
    let at = random.below(bytes.len());
    let page = at / PAGE * PAGE;
    let behind = bytes.len().min(page + PAGE);
    match random.below(12) {
        0 | 1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        2 => {
            let end = bytes.len().min(at + 1 + random.below(8));
            let value = VALUES[random.below(VALUES.len())];
            bytes[at..end].fill(value);
        }
        // At the start of a page, where control records have entries and frames their first record.
        3..=5 => {
            let at = page + random.below(80);
            if let Some(byte) = bytes.get_mut(at) {
                *byte = VALUES[random.below(VALUES.len())];
            }
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
            bytes.drain(page..behind);
        }
        10 => {
            let copy = bytes[page..behind].to_vec();
            let to = random.below(bytes.len() / PAGE + 1) * PAGE;
            let to = to.min(bytes.len());
            bytes.splice(to..to, copy);
        }
        _ => bytes[page..behind].fill_with(|| random.next() as u8),
    }
}

#[test]
fn any_damage_is_accounted_for() {
    let whole = builders::file(&builders::sample());
    let mut random = Random(20_260_101);
    let mut with_problems = 0;
    for _ in 0..6000 {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(6) {
            damage(&mut bytes, &mut random);
        }
        let (index, _) = builders::read(&bytes);
        with_problems += u32::from(!index.problems.is_empty());
        let _ = sniff(&bytes[..bytes.len().min(8192)], bytes.len() as u64);
    }
    assert!(with_problems > 3000, "{with_problems}");
}

#[test]
fn random_bytes_are_handled() {
    let mut random = Random(7);
    for _ in 0..300 {
        let size = random.below(5 * PAGE);
        let bytes: Vec<u8> = (0..size).map(|_| random.next() as u8).collect();
        let (index, _) = builders::read(&bytes);
        assert_eq!(index.skipped_bytes, size as u64);
        assert_eq!(sniff(&bytes, size as u64), Sniff::No);
    }
}

#[test]
fn random_bytes_after_control_record_are_handled() {
    let mut random = Random(8);
    let control = builders::file(&builders::sample())[..PAGE].to_vec();
    for _ in 0..500 {
        let mut bytes = control.clone();
        bytes.extend((0..random.below(20 * PAGE)).map(|_| random.next() as u8));
        // Half of the frames start with bytes that could be a record.
        for frame in bytes[PAGE..].chunks_mut(PAGE).step_by(2) {
            for (at, value) in [(0, 1), (2, 0), (3, 0), (4, 4)] {
                if let Some(byte) = frame.get_mut(at) {
                    *byte = value;
                }
            }
        }
        builders::read(&bytes);
    }
}

/// Returns the offsets of the records that are read.
fn offsets(bytes: &[u8]) -> HashSet<u64> {
    let (_, found) = builders::read(bytes);
    found.iter().map(|record| record.offset).collect()
}

#[test]
fn damaged_data_page_costs_only_its_records() {
    let whole = builders::file(&builders::sample());
    let all = offsets(&whole);
    let mut random = Random(99);
    for page in (0..whole.len()).step_by(PAGE) {
        if whole[page + 3] == 9 {
            continue;
        }
        for _ in 0..40 {
            let mut bytes = whole.clone();
            for _ in 0..=random.below(4) {
                bytes[page + random.below(PAGE)] = random.next() as u8;
            }
            let left = offsets(&bytes);
            let here = page as u64..(page + PAGE) as u64;
            let lost = all.difference(&left).find(|&offset| !here.contains(offset));
            assert_eq!(lost, None, "damage to the page at {page}");
        }
    }
}

#[test]
fn damaged_control_record_costs_only_its_frames() {
    let whole = builders::file(&builders::sample());
    let all = offsets(&whole);
    let mut controls: Vec<usize> = (0..whole.len())
        .step_by(PAGE)
        .filter(|&page| whole[page + 3] == 9)
        .collect();
    controls.push(whole.len());
    let mut random = Random(100);
    for pair in controls.windows(2) {
        for _ in 0..300 {
            let mut bytes = whole.clone();
            for _ in 0..=random.below(4) {
                bytes[pair[0] + random.below(70)] = random.next() as u8;
            }
            let left = offsets(&bytes);
            let here = pair[0] as u64..pair[1] as u64;
            let lost = all.difference(&left).find(|&offset| !here.contains(offset));
            assert_eq!(lost, None, "damage to the control record at {}", pair[0]);
        }
    }
}
