//! Rows that a report gives again: those of a subject and interval that an earlier report has.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use super::{Repeat, Rows};
use crate::values::Values;

impl Rows {
    /// Marks the rows of the last chunk that repeat those of an earlier one: they are in no measure. Gives their
    /// intervals. A report that continues after another header repeats nothing: its rows are of other subjects.
    pub fn repeats(&mut self) -> Vec<Repeat> {
        let Some(last) = self.chunks.len().checked_sub(1) else {
            return Vec::new();
        };
        let placed = &self.chunks[last];
        let mut own: HashMap<u64, (u64, Vec<usize>)> = HashMap::new();
        let mut order = Vec::new();
        for at in placed.first..self.ends.len() {
            let mut identity = DefaultHasher::new();
            (&placed.chunk.system, &placed.source, self.ends[at]).hash(&mut identity);
            self.kinds[at].hash(&mut identity);
            for &column in &self.subject {
                self.hash_value(column, at, &mut identity);
            }
            let mut values = DefaultHasher::new();
            for column in 0..self.columns.len() {
                self.hash_value(column, at, &mut values);
            }
            self.others.get(at).hash(&mut values);
            let identity = identity.finish();
            let (digest, rows) = own.entry(identity).or_insert_with(|| {
                order.push(identity);
                (0, Vec::new())
            });
            // Several rows of one subject are compared in any order.
            *digest = digest.wrapping_add(values.finish());
            rows.push(at);
        }
        let mut found: Vec<Repeat> = Vec::new();
        for identity in order {
            let (digest, rows) = &own[&identity];
            let &mut (first, chunk) = self.given.entry(identity).or_insert((*digest, last));
            if chunk == last {
                continue;
            }
            for &at in rows {
                self.flags[at] = Some("repeated");
            }
            let (end_us, agrees) = (self.ends[rows[0]], first == *digest);
            let file = &self.chunks[chunk].chunk.file;
            match found.iter_mut().rfind(|known| known.end_us == end_us) {
                Some(known) if known.agrees && !agrees => {
                    (known.agrees, known.file) = (false, file.clone());
                }
                Some(_) => {}
                None => found.push(Repeat {
                    end_us,
                    file: file.clone(),
                    agrees,
                }),
            }
        }
        found
    }

    fn hash_value(&self, column: usize, at: usize, into: &mut DefaultHasher) {
        match &self.columns[column].values {
            Values::Floats(values, _) => values[at].to_bits().hash(into),
            Values::Ints(values) | Values::Times(values) => values[at].hash(into),
            Values::Texts(texts) => texts.get(at).hash(into),
        }
    }
}
