//! Evidence of resets of the counters of a table: IPL, logon, VARY and the like.

use std::collections::HashMap;

/// One thing that reset counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResetEvidence {
    /// Time of the event, a TOD value.
    pub tod: u64,
    /// Table whose counters it reset.
    pub table: String,
    /// Whose counters: the subject's values joined by `/`, fewer of them for all subjects that begin so; `None`: all
    /// subjects of that table.
    pub subject: Option<String>,
    /// Kind of event.
    pub what: String,
}

/// The evidence for one table, in the order of time.
#[derive(Debug, Default)]
pub(crate) struct ResetIndex {
    all_subjects: Vec<(u64, String)>,
    subjects: Vec<Vec<(u64, String)>>,
    /// By index: index of the evidence about all subjects with the same prefix.
    parent: Vec<u32>,
    by_name: HashMap<String, u32>,
}

/// A subject of whom nothing is known.
pub(crate) const NO_ENTRY: u32 = u32::MAX;

impl ResetIndex {
    /// Indexes the evidence of `all` about `table`.
    pub(crate) fn new(table: &str, all: &[ResetEvidence]) -> Self {
        let mut known = Self::default();
        for evidence in all.iter().filter(|evidence| evidence.table == table) {
            let item = (evidence.tod, evidence.what.clone());
            let Some(subject) = &evidence.subject else {
                known.all_subjects.push(item);
                continue;
            };
            let next = known.subjects.len() as u32;
            let place = *known.by_name.entry(subject.clone()).or_insert(next);
            if place == next {
                known.subjects.push(Vec::new());
            }
            known.subjects[place as usize].push(item);
        }
        known.all_subjects.sort_by_key(|(tod, _)| *tod);
        known
            .subjects
            .iter_mut()
            .for_each(|list| list.sort_by_key(|(tod, _)| *tod));
        known.parent = vec![NO_ENTRY; known.subjects.len()];
        for (name, place) in &known.by_name {
            known.parent[*place as usize] = name
                .rsplit_once('/')
                .map_or(NO_ENTRY, |(shorter, _)| known.find(shorter));
        }
        known
    }

    /// Whether there is anything to look up by name.
    pub(crate) fn names_subjects(&self) -> bool {
        !self.by_name.is_empty()
    }

    /// Returns the index of the evidence about a subject: under its name, or its longest prefix that has any.
    pub(crate) fn find(&self, subject: &str) -> u32 {
        let ends = subject.rmatch_indices('/').map(|(at, _)| at);
        std::iter::once(subject.len())
            .chain(ends)
            .find_map(|end| self.by_name.get(&subject[..end]).copied())
            .unwrap_or(NO_ENTRY)
    }

    /// Returns the last evidence after `from` up to `to`, for all subjects or for the subject at `place`.
    pub(crate) fn between(&self, place: u32, from: u64, to: u64) -> Option<(u64, &str)> {
        let mut place = place as usize;
        while let Some(list) = self.subjects.get(place) {
            if let Some(found) = last(list, from, to) {
                return Some(found);
            }
            place = self.parent[place] as usize;
        }
        last(&self.all_subjects, from, to)
    }
}

fn last(list: &[(u64, String)], from: u64, to: u64) -> Option<(u64, &str)> {
    let end = list.partition_point(|(tod, _)| *tod <= to);
    let (tod, what) = list.get(end.checked_sub(1)?)?;
    (*tod > from).then_some((*tod, what.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_counts_between_samples() {
        let all = [
            (20, None, "IPL"),
            (5, None, "IPL"),
            (10, Some("A"), "logon"),
            (7, Some("B"), "x"),
        ]
        .map(|(tod, subject, what)| ResetEvidence {
            tod,
            table: "t".into(),
            subject: subject.map(Into::into),
            what: what.into(),
        });
        let known = ResetIndex::new("t", &all);
        let a = known.find("A");
        assert_eq!(known.between(a, 9, 10), Some((10, "logon")));
        assert_eq!(known.between(a, 10, 19), None);
        assert_eq!(known.between(NO_ENTRY, 4, 30), Some((20, "IPL")));
        assert_eq!(known.between(NO_ENTRY, 5, 19), None);
        assert_eq!(known.between(known.find("C"), 9, 10), None);
        assert_eq!(known.between(known.find("B"), 5, 8), Some((7, "x")));
        assert!(
            ResetIndex::new("other", &all)
                .between(NO_ENTRY, 0, u64::MAX)
                .is_none()
        );
    }

    #[test]
    fn key_prefix_selects_all_its_subjects() {
        let all = [
            (10, "U", "logon"),
            (20, "U/1", "DEFINE CPU"),
            (25, "U/1/a", "x"),
            (30, "UV", "logon"),
        ]
        .map(|(tod, subject, what)| ResetEvidence {
            tod,
            table: "t".into(),
            subject: Some(subject.into()),
            what: what.into(),
        });
        let known = ResetIndex::new("t", &all);
        let of = |subject, from, to| known.between(known.find(subject), from, to);
        assert_eq!(of("U", 0, 50), Some((10, "logon")));
        assert_eq!(of("U/0", 0, 50), Some((10, "logon")));
        assert_eq!(of("U/1", 0, 50), Some((20, "DEFINE CPU")));
        assert_eq!(of("U/1", 0, 15), Some((10, "logon")));
        assert_eq!(of("U/1/b", 0, 50), Some((20, "DEFINE CPU")));
        assert_eq!(of("U/1/a", 0, 22), Some((20, "DEFINE CPU")));
        assert_eq!(of("U/1/a", 0, 15), Some((10, "logon")));
        // Only complete values match, and a longer name does not match a shorter one.
        assert_eq!(of("U/10", 15, 50), None);
        assert_eq!(of("UVW/0", 0, 50), None);
        assert_eq!(of("V", 0, 50), None);
        assert_eq!(of("", 0, 50), None);
    }
}
