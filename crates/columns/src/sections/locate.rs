//! Position of the sections of a record.

use zlens_frames::ProblemKind;
use zlens_frames::smf::{CURE, LONG, swallowed};

use super::plan::{MAX_PARTS, Plan};

/// Length of a triplet.
const TRIPLET: u32 = 8;
/// No section is shorter; what says so would make rows of single bytes.
const MIN_SECTION_LEN: u16 = 4;
/// Most sections with lengths of their own: z/OS counts accounting fields in a byte.
const MAX_OWN_LENGTHS: u32 = 255;

/// Sections that follow each other: where the first begins, the length of one, how many there are, the number of the
/// first among those of its kind in the whole record, and the number of the section that has their triplet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SectionRun {
    pub at: u32,
    pub length: u32,
    pub count: u32,
    pub number: u32,
    pub owner: u32,
}

impl SectionRun {
    /// Returns the offset of a section of the run.
    pub(crate) const fn start(self, nth: u32) -> u32 {
        self.at + nth * self.length
    }

    /// The bytes of a section of these.
    pub(crate) fn section(self, nth: u32, bytes: &[u8]) -> &[u8] {
        let start = self.start(nth) as usize;
        bytes
            .get(start..start + self.length as usize)
            .unwrap_or(&[])
    }
}

/// The sections of a record by kind; missing kinds have a count of 0.
pub(crate) type SectionRuns = [SectionRun; MAX_PARTS];

/// The sections of a record, and, if several sections have triplets of the same kind, those of all but the first.
#[derive(Debug)]
pub(crate) struct Located {
    pub runs: SectionRuns,
    pub more: Vec<SectionRuns>,
}

impl Located {
    /// Adds the sections of a kind whose triplets are in sections of another.
    fn nest(
        &mut self,
        record: &[u8],
        plan: &Plan,
        part: usize,
        within: usize,
        report: &mut dyn FnMut(u64, String),
    ) {
        let Some(at) = plan.parts[part].triplet else {
            return;
        };
        let name = &plan.parts[part].name;
        let (mut number, mut used) = (0, 0);
        for piece in 0..=self.more.len() {
            let outer = match piece.checked_sub(1) {
                None => self.runs[within],
                Some(nth) => self.more[nth][within],
            };
            if u32::from(at) + TRIPLET > outer.length {
                continue;
            }
            for nth in 0..outer.count {
                let place = outer.start(nth) as usize + usize::from(at);
                let Some(triplet) = Triplet::read(record, place) else {
                    continue;
                };
                let mut run = triplet.run(record, name, report);
                used += (run.count * run.length) as usize;
                if used > record.len() {
                    report(
                        0,
                        format!("{name} sections overlap; those after {number} are not read"),
                    );
                    return;
                }
                (run.number, run.owner) = (number, outer.number + nth);
                number += run.count;
                if run.count > 0 {
                    self.add(part, run);
                }
            }
        }
    }

    /// Adds a run to the first sections that have none of its kind.
    fn add(&mut self, part: usize, run: SectionRun) {
        let free = std::iter::once(&mut self.runs)
            .chain(&mut self.more)
            .find(|runs| runs[part].count == 0);
        if let Some(runs) = free {
            runs[part] = run;
        } else {
            let mut runs = [SectionRun::default(); MAX_PARTS];
            runs[part] = run;
            self.more.push(runs);
        }
    }

    /// Moves all sections by this many bytes.
    pub(crate) fn shift(&mut self, by: u32) {
        let runs = std::iter::once(&mut self.runs).chain(&mut self.more);
        runs.flatten().for_each(|run| run.at += by);
    }
}

/// Reports damage of a record.
pub(crate) type Report<'r> = &'r mut dyn FnMut(ProblemKind, &str, u64, String);

/// Finds the sections of a record. Every one of a run lies in the record.
pub(crate) fn locate_sections(record: &[u8], plan: &Plan, report: Report<'_>) -> Located {
    let mut runs = [SectionRun::default(); MAX_PARTS];
    let size = record.len() as u64;
    for (run, part) in runs.iter_mut().zip(&plan.parts) {
        if part.triplet.is_none() {
            *run = SectionRun {
                at: 0,
                length: record.len() as u32,
                count: 1,
                number: 0,
                owner: 0,
            };
        }
    }
    let mut located = Located {
        runs,
        more: Vec::new(),
    };
    // Older levels have fewer triplets: from the first section on, there are no more.
    let mut limit = size;
    let mut faulty = false;
    for &part in &plan.order {
        let Some(at) = plan.parts[part].triplet else {
            continue;
        };
        if u64::from(at) + 8 > limit {
            break;
        }
        let Some(triplet) = Triplet::read(record, usize::from(at)) else {
            break;
        };
        let name = &plan.parts[part].name;
        let mut damage = |lost, detail| {
            faulty = true;
            report(ProblemKind::Section, name, lost, detail);
        };
        if plan.parts[part].length_byte {
            for run in triplet.own_lengths(record, name, &mut damage) {
                limit = limit.min(u64::from(run.at));
                located.add(part, run);
            }
            continue;
        }
        let run = triplet.run(record, name, &mut damage);
        if run.count > 0 {
            limit = limit.min(u64::from(run.at));
        }
        located.runs[part] = run;
    }
    for &(part, within) in &plan.nested {
        located.nest(record, plan, part, within, &mut |lost, detail| {
            faulty = true;
            report(ProblemKind::Section, &plan.parts[part].name, lost, detail);
        });
    }
    let found = std::iter::once(&located.runs)
        .chain(&located.more)
        .flat_map(|runs| runs.iter().zip(&plan.parts))
        .filter(|(_, part)| part.triplet.is_some());
    let known = found.map(|(run, _)| run.start(run.count) as usize).max();
    let end = last(record, plan, limit).max(known.unwrap_or(0));
    let inside = swallowed(record, end);
    if let Some(start) = inside {
        let lost = size - start as u64;
        report(
            ProblemKind::Long,
            "inside",
            lost,
            format!(
                "the record of {size} bytes has another at {start} inside, without its record descriptor word, as blocks \
                 have them whose words were lost; {lost} bytes are not read; {CURE}"
            ),
        );
    } else if !faulty && record.len() > 2 * end {
        report(
            ProblemKind::Long,
            "end",
            size - end as u64,
            format!(
                "the record of {size} bytes is much longer than its sections, the last of which ends at {end}"
            ),
        );
    }
    located
}

/// Offset, length and number of sections of a kind, as a record has them.
struct Triplet {
    offset: u32,
    length: u16,
    count: u16,
}

impl Triplet {
    fn read(record: &[u8], at: usize) -> Option<Self> {
        let &[a, b, c, d, l1, l2, n1, n2] = record.get(at..at + TRIPLET as usize)? else {
            return None;
        };
        Some(Self {
            offset: u32::from_be_bytes([a, b, c, d]),
            length: u16::from_be_bytes([l1, l2]),
            count: u16::from_be_bytes([n1, n2]),
        })
    }

    /// The sections with lengths of their own that lie in the record, one by one; reports those that do not. The length
    /// of the triplet is not used: it is that of all of them together.
    fn own_lengths(
        &self,
        record: &[u8],
        name: &str,
        report: &mut dyn FnMut(u64, String),
    ) -> Vec<SectionRun> {
        let mut runs = Vec::new();
        let mut at = self.offset as usize;
        let count = if self.length == 0 { 0 } else { self.count };
        for number in 0..u32::from(count) {
            let end = record
                .get(at)
                .map(|&length| at + 1 + usize::from(length))
                .filter(|&end| end <= record.len() && at >= LONG && number < MAX_OWN_LENGTHS);
            let Some(end) = end else {
                report(
                    record.len().saturating_sub(at) as u64,
                    format!(
                        "{count} {name} sections from offset {} on do not lie in the record of {} bytes; {number} do",
                        self.offset,
                        record.len()
                    ),
                );
                break;
            };
            runs.push(SectionRun {
                at: at as u32,
                length: (end - at) as u32,
                count: 1,
                number,
                owner: 0,
            });
            at = end;
        }
        runs
    }

    /// The sections that lie in the record; reports those that do not, with the bytes that are not read.
    fn run(&self, record: &[u8], name: &str, report: &mut dyn FnMut(u64, String)) -> SectionRun {
        let &Self {
            offset,
            length,
            count,
        } = self;
        if length == 0 || count == 0 {
            return SectionRun::default();
        }
        let size = record.len() as u64;
        let rest = size.saturating_sub(u64::from(offset));
        let all = u64::from(length) * u64::from(count);
        if length < MIN_SECTION_LEN {
            report(
                all.min(rest),
                format!("{count} {name} sections of {length} bytes can hold nothing"),
            );
            return SectionRun::default();
        }
        let fitting = rest / u64::from(length);
        if (offset as usize) < LONG || fitting == 0 {
            report(
                all.min(rest),
                format!(
                    "the {name} section of {length} bytes at offset {offset} does not lie after the header of the record of {size} bytes"
                ),
            );
            return SectionRun::default();
        }
        if fitting < u64::from(count) {
            report(
                rest % u64::from(length),
                format!(
                    "{count} {name} sections of {length} bytes from offset {offset} on do not lie in the record of {size} bytes; {fitting} do"
                ),
            );
        }
        SectionRun {
            at: offset,
            length: u32::from(length),
            count: u64::from(count).min(fitting) as u32,
            number: 0,
            owner: 0,
        }
    }
}

/// End of the last section of a record, of those kinds too that no table is made of: triplets are back to back, up to
/// the first section.
fn last(record: &[u8], plan: &Plan, limit: u64) -> usize {
    let first = plan
        .order
        .first()
        .and_then(|&part| plan.parts[part].triplet);
    let limit = limit as usize;
    let mut end = limit.min(record.len());
    let triplets = record
        .get(first.map_or(limit, usize::from)..limit)
        .unwrap_or(&[]);
    for bytes in triplets.chunks_exact(8) {
        let &[a, b, c, d, l1, l2, n1, n2] = bytes else {
            continue;
        };
        let length =
            usize::from(u16::from_be_bytes([l1, l2])) * usize::from(u16::from_be_bytes([n1, n2]));
        let ends = u32::from_be_bytes([a, b, c, d]) as usize + length;
        if length > 0 && ends <= record.len() {
            end = end.max(ends);
        }
    }
    end
}
