//! Reassembly of split records.

use std::collections::VecDeque;

use zlens_frames::ProblemKind;

use super::locate::{Located, SectionRun, SectionRuns};
use super::plan::{MAX_PARTS, Plan, Reassembly};
use super::times::RecordMeta;

/// Limit on the bytes of pending parts of all plans.
const MAX_WAITING: usize = 64 << 20;
/// Length of the start of a section that identifies its interval.
const KEY: usize = 60;

/// One part of a split record.
#[derive(Debug)]
pub(crate) struct SplitPart {
    pub sequence: u64,
    pub key: Key,
    pub facts: RecordMeta,
    pub bytes: Vec<u8>,
    pub runs: SectionRuns,
    pub more: Vec<SectionRuns>,
    /// By kind of section: the number in the complete record and the index of the first one in this part, if recorded.
    pub places: Option<[(u32, u32); MAX_PARTS]>,
}

/// Key shared by all parts of a split record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    system: u16,
    subtype: u16,
    total: u64,
    section: Vec<u8>,
    /// Number of sections of each kind of the complete record.
    sections: Option<[u32; MAX_PARTS]>,
}

/// The known parts of a split record.
#[derive(Debug)]
struct SplitGroup {
    key: Key,
    pieces: Vec<SplitPart>,
}

/// A reassembled record: the bytes of its parts, concatenated, and the sections of each.
pub(crate) struct ReassembledRecord {
    pub bytes: Vec<u8>,
    pub pieces: Vec<SectionRuns>,
    pub facts: RecordMeta,
    /// Problems to report of it.
    pub faults: Vec<(ProblemKind, &'static str, String)>,
}

/// Parts of incomplete records of one plan.
#[derive(Debug)]
pub(crate) struct PendingParts {
    groups: VecDeque<SplitGroup>,
    bytes: usize,
    limit: usize,
}

/// Reassembly data of a split record: sequence, total, and offsets of its sections.
pub(crate) struct SplitInfo {
    pub sequence: u64,
    pub total: u64,
    pub places: Option<[(u32, u32); MAX_PARTS]>,
}

/// Returns the reassembly data of a split part; an error if the record is marked as one but its data is invalid.
pub(crate) fn split_info(
    plan: &Plan,
    record: &[u8],
    runs: &SectionRuns,
) -> Result<Option<SplitInfo>, String> {
    let Some(broken) = &plan.broken else {
        return Ok(None);
    };
    let run = runs[broken.part];
    let section = if run.count > 0 {
        run.section(0, record)
    } else {
        &[]
    };
    if broken.at.number.number(section).unwrap_or(0) == 0 {
        return Ok(None);
    }
    let base = |place: u64| -> Option<&[u8]> {
        let at = u64::from(run.at) + place;
        record.get(usize::try_from(at).ok()?..)
    };
    let read = || {
        let at = broken.at.offset.number(section).filter(|&at| at > 0)?;
        let length = broken.at.length.number(section)?;
        let area = base(at)?.get(..usize::try_from(length).ok()?)?;
        let fields = &broken.fields;
        let total = fields.total.number(area)?;
        let sequence = fields.sequence.number(area)?;
        let blocks = fields.blocks.number(area)?;
        let length = fields.block_length.number(area)?;
        let number = fields.block_number.number(area)?;
        let told = total > 1 && (1..=total).contains(&sequence);
        told.then_some((total, sequence, blocks, length, number))
    };
    let (total, sequence, blocks, length, number) = read().ok_or(
        "record is marked as part of a split record, but its reassembly area is invalid; decoded on its own",
    )?;
    let places = base(blocks).and_then(|bytes| places(plan, broken, bytes, length, number));
    Ok(Some(SplitInfo {
        sequence,
        total,
        places,
    }))
}

/// Returns the blocks of a part by kind of section: in the order of the triplets, with or without the section
/// that contains them.
fn places(
    plan: &Plan,
    broken: &Reassembly,
    blocks: &[u8],
    length: u64,
    number: u64,
) -> Option<[(u32, u32); MAX_PARTS]> {
    let length = usize::try_from(length).ok().filter(|&length| length > 0)?;
    let number = usize::try_from(number).ok()?;
    let all = plan.order.len();
    let skipped = plan.order.iter().position(|&part| part == broken.part)?;
    // Levels with fewer kinds of section have fewer blocks; without that section its block is missing at the front.
    let with_it = number == all || number < all && skipped != 0;
    let mut places = [(0, 0); MAX_PARTS];
    let parts = plan
        .order
        .iter()
        .filter(|&&part| with_it || part != broken.part);
    for (nth, &part) in parts.take(number).enumerate() {
        let block = blocks.get(nth * length..)?.get(..length)?;
        let total = broken.block.total.number(block)?;
        let first = broken.block.first.number(block)?;
        places[part] = (u32::try_from(total).ok()?, u32::try_from(first).ok()?);
    }
    Some(places)
}

impl Key {
    /// Of a piece whose section with the interval is `section`.
    pub(crate) fn new(facts: &RecordMeta, told: &SplitInfo, section: &[u8]) -> Self {
        Self {
            system: facts.system,
            subtype: facts.subtype,
            total: told.total,
            sections: told.places.map(|places| places.map(|(total, _)| total)),
            section: section[..section.len().min(KEY)].to_vec(),
        }
    }
}

impl PendingParts {
    /// For one plan out of `plans` that are read together.
    pub(crate) fn new(plans: usize) -> Self {
        Self {
            groups: VecDeque::new(),
            bytes: 0,
            limit: MAX_WAITING / plans.max(1),
        }
    }

    /// Adds a part. Returns the record if this was its last missing part, or the oldest one if there is no space for
    /// more.
    pub(crate) fn add(&mut self, plan: &Plan, piece: SplitPart) -> Vec<ReassembledRecord> {
        self.bytes += piece.bytes.len();
        let sequence = piece.sequence;
        let lacks = |group: &&mut SplitGroup| {
            group.key == piece.key && group.pieces.iter().all(|other| other.sequence != sequence)
        };
        if let Some(group) = self.groups.iter_mut().find(lacks) {
            group.pieces.push(piece);
        } else {
            self.groups.push_back(SplitGroup {
                key: piece.key.clone(),
                pieces: vec![piece],
            });
        }
        let mut done = Vec::new();
        let complete = |group: &SplitGroup| group.pieces.len() as u64 == group.key.total;
        if let Some(place) = self.groups.iter().position(complete) {
            done.extend(self.groups.remove(place));
        }
        while self.bytes > self.limit + done.iter().map(SplitGroup::bytes).sum::<usize>() {
            let Some(oldest) = self.groups.pop_front() else {
                break;
            };
            done.push(oldest);
        }
        self.bytes -= done.iter().map(SplitGroup::bytes).sum::<usize>();
        done.into_iter().map(|group| group.join(plan)).collect()
    }

    /// Returns the records with missing parts.
    pub(crate) fn drain(&mut self, plan: &Plan) -> Vec<ReassembledRecord> {
        self.bytes = 0;
        self.groups
            .drain(..)
            .map(|group| group.join(plan))
            .collect()
    }
}

impl SplitGroup {
    fn bytes(&self) -> usize {
        self.pieces.iter().map(|piece| piece.bytes.len()).sum()
    }

    fn join(mut self, plan: &Plan) -> ReassembledRecord {
        self.pieces.sort_by_key(|piece| piece.sequence);
        let mut faults = Vec::new();
        let total = self.key.total;
        let complete = self.pieces.len() as u64 == total;
        if !complete {
            let there: Vec<String> = self.pieces.iter().map(|p| p.sequence.to_string()).collect();
            let detail = format!(
                "split record is incomplete: {} of {total} parts found ({}); their sections are decoded",
                there.len(),
                there.join(", ")
            );
            faults.push((ProblemKind::Truncated, "pieces", detail));
        }
        let mut pieces: Vec<SectionRuns> = Vec::with_capacity(self.pieces.len());
        let mut further: Vec<Vec<SectionRuns>> = Vec::with_capacity(self.pieces.len());
        let mut bytes = Vec::with_capacity(self.bytes());
        for piece in &self.pieces {
            let mut located = Located {
                runs: piece.runs,
                more: piece.more.clone(),
            };
            located.shift(bytes.len() as u32);
            pieces.push(located.runs);
            further.push(located.more);
            bytes.extend_from_slice(&piece.bytes);
        }
        let leads = plan.broken.as_ref().map(|broken| broken.part);
        for part in 0..plan.parts.len() {
            if Some(part) == leads || plan.parts[part].triplet.is_none() {
                // Every part has one.
                pieces[1..].iter_mut().for_each(|runs| runs[part].count = 0);
            } else if plan.parts[part].within.is_some() {
                // Numbered below, as their owners are.
            } else if let Err(detail) = self.assign_numbers(part, &mut pieces, complete) {
                let detail = format!(
                    "{} sections of a split record: {detail}",
                    plan.parts[part].name
                );
                faults.push((ProblemKind::Section, "places", detail));
            }
        }
        for &(part, within) in &plan.nested {
            let mut next = 0;
            for (runs, more) in pieces.iter_mut().zip(&mut further) {
                let before = runs[within].number;
                for run in std::iter::once(runs)
                    .chain(more)
                    .map(|runs| &mut runs[part])
                {
                    (run.number, run.owner) = (next, before + run.owner);
                    next += run.count;
                }
            }
        }
        let pieces = pieces
            .into_iter()
            .zip(further)
            .flat_map(|(runs, more)| std::iter::once(runs).chain(more))
            .collect();
        ReassembledRecord {
            bytes,
            pieces,
            facts: self.pieces[0].facts,
            faults,
        }
    }

    /// Numbers the sections of a kind across all parts.
    fn assign_numbers(
        &self,
        part: usize,
        pieces: &mut [SectionRuns],
        complete: bool,
    ) -> Result<(), String> {
        let there = |nth: usize, pieces: &[SectionRuns]| pieces[nth][part].count > 0;
        let place = |(piece, runs): (&SplitPart, &SectionRuns)| {
            let place = piece.places.map(|places| places[part]);
            place.filter(|&(total, _)| total > 0 || runs[part].count == 0)
        };
        let both = self.pieces.iter().zip(pieces.iter());
        let told: Option<Vec<(u32, u32)>> = both.map(place).collect();
        let mut next = 0;
        let Some(told) = told else {
            // Nothing says where they belong: in the order of the parts.
            for runs in pieces.iter_mut() {
                runs[part].number = next;
                next += runs[part].count;
            }
            return if next == 0 {
                Ok(())
            } else {
                Err(
                    "their offsets are not recorded; they are read in the order of the parts"
                        .into(),
                )
            };
        };
        let placed = (0..pieces.len()).filter(|&nth| there(nth, pieces));
        let first = placed.map(|nth| told[nth].1).min();
        // Indexes count from that of the first part; without it from 1, unless one is 0.
        let base = first.map_or(0, |first| if complete { first } else { first.min(1) });
        let total = told.iter().map(|&(total, _)| total).max().unwrap_or(0);
        let mut order: Vec<usize> = (0..pieces.len()).collect();
        order.sort_by_key(|&nth| told[nth].1);
        let mut odd = false;
        let mut held = 0;
        for nth in order {
            let run: &mut SectionRun = &mut pieces[nth][part];
            if run.count == 0 {
                continue;
            }
            let place = told[nth].1 - base;
            if place < next {
                // Sections that an earlier part has are not emitted again.
                let again = (next - place).min(run.count);
                run.at += again * run.length;
                run.count -= again;
            }
            odd |= complete && place > next;
            run.number = place.max(next);
            next = run.number + run.count;
            held += run.count;
        }
        if odd {
            return Err("their numbers are not consecutive; the recorded numbers are used".into());
        }
        if held < total {
            return Err(format!("{held} of {total} found"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::times::NO_TIME;
    use super::*;

    /// Segments of different records, none of which is ever complete.
    #[test]
    fn pending_segments_are_bounded_oldest_dropped() {
        const SIZE: usize = 1 << 20;
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sections/plan.json");
        let plan = Plan::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        let mut waiting = PendingParts::new(1);
        let mut gone = Vec::new();
        for number in 0..80_u64 {
            let facts = RecordMeta {
                system: 0,
                subtype: 1,
                file: 0,
                offset: number,
                tod: NO_TIME,
                end: NO_TIME,
                seconds: f64::NAN,
                short: false,
                zone: NO_TIME,
            };
            let told = SplitInfo {
                sequence: 1,
                total: 2,
                places: None,
            };
            let piece = SplitPart {
                sequence: 1,
                key: Key::new(&facts, &told, &number.to_be_bytes()),
                facts,
                bytes: vec![0; SIZE],
                runs: [SectionRun::default(); MAX_PARTS],
                more: Vec::new(),
                places: None,
            };
            let done = waiting.add(&plan, piece);
            gone.extend(done.iter().map(|whole| whole.facts.offset));
            assert!(waiting.bytes <= MAX_WAITING);
        }
        assert_eq!(
            gone,
            (0..80 - (MAX_WAITING / SIZE) as u64).collect::<Vec<_>>()
        );
        assert_eq!(waiting.drain(&plan).len(), MAX_WAITING / SIZE);
    }
}
