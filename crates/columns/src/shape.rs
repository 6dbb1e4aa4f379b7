//! Which fields a record of a given length really has.

use std::collections::HashMap;

use crate::kernel::Kernel;
use crate::plan::{Field, HEADER, Part, Plan};

/// How many pairs of record length and entry length are remembered before all are forgotten; a file has few.
const REMEMBERED: usize = 1024;

/// Where and how one column is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Reader {
    /// Its place among the wanted columns.
    pub builder: usize,
    pub kernel: Kernel,
    pub part: Part,
    pub offset: u32,
}

/// How records that are alike are read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    /// The columns they have, but those of `fours`.
    pub readers: Vec<Reader>,
    /// The first of four columns that are words and follow each other in the record and in the table: they are read
    /// together, which costs little more than one.
    pub fours: Vec<Reader>,
    /// The columns that are NULL, by place among the wanted ones.
    pub absent: Vec<usize>,
    /// Whether there is a layout for these records at all.
    pub known: bool,
}

/// The shapes met so far, by length of record and of entry.
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

    /// Forgets all shapes if there are very many; called where nobody holds the number of one.
    pub(crate) fn trim(&mut self) {
        if self.found.len() > REMEMBERED {
            *self = Self::new(std::mem::take(&mut self.wanted));
        }
    }

    /// The number of the shape of a record of `len` bytes with entries of `stride` bytes (0: no entries).
    #[inline]
    pub(crate) fn of(&mut self, plan: &Plan, len: u16, stride: u32) -> u32 {
        match self.last {
            Some((key, shape)) if key == (len, stride) => shape,
            _ => self.find(plan, len, stride),
        }
    }

    pub(crate) fn get(&self, shape: u32) -> &Shape {
        &self.shapes[shape as usize]
    }

    #[cold]
    fn find(&mut self, plan: &Plan, len: u16, stride: u32) -> u32 {
        let key = (len, stride);
        let number = match self.found.get(&key) {
            Some(&number) => number,
            None => {
                let shape = self.make(plan, len, stride);
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

    fn make(&self, plan: &Plan, len: u16, stride: u32) -> Shape {
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
            let part = |field: &Field| {
                if field.part == Part::Record {
                    len
                } else {
                    stride
                }
            };
            let placed = field.and_then(|field| Some((field, place(field, part(field))?)));
            let Some((field, offset)) = placed else {
                shape.absent.push(builder);
                continue;
            };
            let kernel = Kernel::of(plan.columns[column].kind, field.length, field.signed);
            shape.readers.push(Reader {
                builder,
                kernel,
                part: field.part,
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

/// Where the field begins, if a part of `len` bytes holds all of it.
fn place(field: &Field, len: u32) -> Option<u32> {
    let start = field.start()?;
    (start.checked_add(field.length)? <= len).then_some(start)
}

/// Why the entries of a record cannot be found, or not all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SectionFault {
    /// Bytes that cannot be read because of it.
    pub bytes: u64,
    pub detail: String,
}

/// Entries of a record: the first, the bytes from one to the next, how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Entries {
    pub first: u32,
    pub stride: u32,
    pub count: u32,
}

/// Finds entries by the fields that locate them.
#[derive(Debug)]
pub(crate) struct Locator {
    offset: Number,
    stride: Number,
    count: Option<Number>,
    matching: Option<(usize, Vec<u8>)>,
}

/// A number that stands in the record, or is always the same.
#[derive(Debug, Clone, Copy)]
enum Number {
    At { offset: usize, len: usize },
    Fixed(u32),
}

impl Number {
    fn new(at: Option<u32>, len: u32, fixed: Option<u32>) -> Option<Self> {
        match (at, fixed) {
            (Some(offset), _) => Some(Self::At {
                offset: offset as usize,
                len: len.min(4) as usize,
            }),
            (None, Some(fixed)) => Some(Self::Fixed(fixed)),
            (None, None) => None,
        }
    }

    fn of(self, record: &[u8]) -> Option<u32> {
        match self {
            Self::Fixed(value) => Some(value),
            Self::At { offset, len } => {
                let field = record.get(offset..offset.checked_add(len)?)?;
                Some(
                    field
                        .iter()
                        .fold(0, |value, &byte| value << 8 | u32::from(byte)),
                )
            }
        }
    }
}

impl Locator {
    /// The locator of a plan with a section.
    pub(crate) fn of(plan: &Plan) -> Option<Self> {
        let section = plan.section.as_ref()?;
        Some(Self {
            offset: Number::new(section.offset_at, section.offset_len, section.offset)?,
            stride: Number::new(section.stride_at, section.stride_len, section.stride)?,
            count: Number::new(section.count_at, section.count_len, section.count),
            matching: match &section.matching {
                Some(matching) => Some((matching.at as usize, matching.bytes()?)),
                None => None,
            },
        })
    }

    /// The entries that lie wholly in the record, and what is wrong with the others.
    pub(crate) fn entries(&self, record: &[u8]) -> (Entries, Option<SectionFault>) {
        if let Some((at, bytes)) = &self.matching
            && record
                .get(*at..)
                .is_none_or(|rest| !rest.starts_with(bytes))
        {
            return (Entries::default(), None);
        }
        let len = record.len() as u32;
        let fault =
            |bytes: u64, detail: String| (Entries::default(), Some(SectionFault { bytes, detail }));
        let counted = match self.count {
            Some(count) => match count.of(record) {
                Some(0) => return (Entries::default(), None),
                Some(count) => Some(count),
                None => {
                    return fault(
                        0,
                        format!("the record of {len} bytes ends before its number of entries"),
                    );
                }
            },
            None => None,
        };
        let (Some(first), Some(stride)) = (self.offset.of(record), self.stride.of(record)) else {
            return fault(
                0,
                format!("the record of {len} bytes ends before the fields that locate its entries"),
            );
        };
        if counted.is_none() && first == 0 {
            return (Entries::default(), None);
        }
        if first < HEADER || stride == 0 {
            // Where they are instead cannot be known; all that is not header counts as lost.
            let lost = u64::from(len.saturating_sub(HEADER));
            return fault(
                lost,
                format!("entries of {stride} bytes cannot begin at offset {first}"),
            );
        }
        let fitting = len.saturating_sub(first) / stride;
        let Some(count) = counted else {
            return (
                Entries {
                    first,
                    stride,
                    count: fitting,
                },
                None,
            );
        };
        let found = Entries {
            first,
            stride,
            count: count.min(fitting),
        };
        if count <= fitting {
            return (found, None);
        }
        let lost = u64::from(len.saturating_sub(first) % stride);
        let detail = format!(
            "{count} entries of {stride} bytes from offset {first} do not fit the record of {len} bytes; {} do",
            found.count
        );
        (
            found,
            Some(SectionFault {
                bytes: lost,
                detail,
            }),
        )
    }
}
