//! The fields that a record of a given length has.

use std::collections::HashMap;

use super::join::Forms;
use super::plan::{Field, Part, Plan};
use crate::core::kernel::Kernel;

/// Maximum number of pairs of record length and entry length before the cache is cleared; a file has few.
const REMEMBERED: usize = 1024;

/// Offset and kernel of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Reader {
    /// Its index among the wanted columns.
    pub builder: usize,
    pub kernel: Kernel,
    pub part: Part,
    /// Index of the text, if the entry has several.
    pub nth: u32,
    pub offset: u32,
}

/// How records of the same shape are read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    /// The columns they have, but those of `fours`.
    pub readers: Vec<Reader>,
    /// The first of four columns that are words and follow each other in the record and in the table: they are read
    /// together, which costs little more than one.
    pub fours: Vec<Reader>,
    /// The columns that are NULL, by index among the wanted ones.
    pub absent: Vec<usize>,
    /// Whether there is a layout for these records at all.
    pub known: bool,
}

/// Cached shapes, by length of record and of entry.
#[derive(Debug)]
pub(crate) struct Shapes {
    wanted: Vec<usize>,
    shapes: Vec<Shape>,
    numbers: HashMap<Shape, u32>,
    found: HashMap<(u16, u32), u32>,
    last: Option<((u16, u32), u32)>,
}

impl Shapes {
    /// Shapes that read the columns numbered `wanted`.
    pub(crate) fn new(wanted: Vec<usize>) -> Self {
        Self {
            wanted,
            shapes: Vec::new(),
            numbers: HashMap::new(),
            found: HashMap::new(),
            last: None,
        }
    }

    /// Forgets all shapes if there are very many; called where no one holds the number of one.
    pub(crate) fn trim(&mut self) {
        if self.found.len() > REMEMBERED {
            *self = Self::new(std::mem::take(&mut self.wanted));
        }
    }

    /// The number of the shape of a record of `len` bytes with entries of `span` bytes (0: no entries), or of joined
    /// records of that form.
    #[inline]
    pub(crate) fn index_of(&mut self, plan: &Plan, len: u16, span: u32, forms: &Forms) -> u32 {
        match self.last {
            Some((key, shape)) if key == (len, span) => shape,
            _ => self.find(plan, len, span, forms),
        }
    }

    pub(crate) fn get(&self, shape: u32) -> &Shape {
        &self.shapes[shape as usize]
    }

    #[cold]
    fn find(&mut self, plan: &Plan, len: u16, span: u32, forms: &Forms) -> u32 {
        let key = (len, span);
        let number = match self.found.get(&key) {
            Some(&number) => number,
            None => {
                let shape = self.make(plan, len, span, forms);
                // Lengths that cut no field off share a shape, so that their records are decoded together.
                let next = self.shapes.len() as u32;
                let number = *self.numbers.entry(shape).or_insert_with_key(|shape| {
                    self.shapes.push(shape.clone());
                    next
                });
                self.found.insert(key, number);
                number
            }
        };
        self.last = Some((key, number));
        number
    }

    fn make(&self, plan: &Plan, len: u16, span: u32, forms: &Forms) -> Shape {
        let len = u32::from(len);
        let layout = plan
            .layouts
            .iter()
            .find(|layout| layout.lengths.contains(&len))
            .or_else(|| plan.layouts.iter().find(|layout| layout.lengths.is_empty()));
        let fields = layout.map_or(&[][..], |layout| &layout.fields);
        let mut shape = Shape {
            readers: Vec::new(),
            fours: Vec::new(),
            absent: Vec::new(),
            known: layout.is_some(),
        };
        for (builder, &column) in self.wanted.iter().enumerate() {
            let field = fields.iter().find(|field| field.column == column);
            let offset = |field: &Field| match field.part {
                Part::Record => place(field, len),
                Part::Entry => place(field, span),
                // Present: checked when the entry was located.
                Part::Ordinal | Part::String | Part::Tail => Some(field.offset),
                Part::Counter => Some(len + forms.counter(span, field.offset)?),
                Part::Count => Some(len + forms.count(span, field.offset)?),
            };
            let placed = field.and_then(|field| Some((field, offset(field)?)));
            let Some((field, offset)) = placed else {
                shape.absent.push(builder);
                continue;
            };
            let kernel = match field.part {
                Part::Ordinal => Kernel::Ordinal,
                _ => Kernel::for_kind(plan.columns[column].kind, field.length, field.signed),
            };
            shape.readers.push(Reader {
                builder,
                kernel,
                part: field.part,
                nth: field
                    .element
                    .filter(|_| field.part == Part::String)
                    .unwrap_or(0),
                offset,
            });
        }
        shape.join_words();
        shape
    }
}

impl Shape {
    /// Finds the columns that can be read four at a time.
    fn join_words(&mut self) {
        let readers = std::mem::take(&mut self.readers);
        let mut rest = readers.as_slice();
        while let Some((first, others)) = rest.split_first() {
            let follows = |(distance, reader): (u32, &Reader)| {
                let alike = reader.kernel == Kernel::U32 && reader.part == first.part;
                let place = (reader.builder, reader.offset);
                alike
                    && place
                        == (
                            first.builder + distance as usize,
                            first.offset + 4 * distance,
                        )
            };
            let four = rest.get(..4).filter(|four| (0..).zip(*four).all(follows));
            if four.is_some() {
                self.fours.push(*first);
                rest = &rest[4..];
            } else {
                self.readers.push(*first);
                rest = others;
            }
        }
    }
}

/// Start of the field, if a part of `len` bytes holds all of it.
fn place(field: &Field, len: u32) -> Option<u32> {
    let start = field.start()?;
    (start.checked_add(field.length)? <= len).then_some(start)
}
