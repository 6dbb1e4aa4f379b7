//! Offset in the file of the pages that were walked.
//!
//! They follow each other, 4096 bytes apart, until bytes were added to the file or lost from it. Where
//! the walk continues then, at whatever offset, a new span of pages begins. Pages are numbered as they
//! were walked, so that windows hold whole pages always.

/// Pages that follow each other in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageRun {
    /// Logical offset of its first page.
    pub logical_offset: u64,
    /// Position of that page in the file.
    pub file_offset: u64,
    /// Start of the next span among all pages walked.
    pub end: u64,
}

/// The spans of a file, of which an undamaged one has a single one.
#[derive(Clone, Debug)]
pub(crate) struct PageMap(Vec<PageRun>);

impl PageMap {
    pub(crate) fn new() -> Self {
        Self(vec![PageRun {
            logical_offset: 0,
            file_offset: 0,
            end: u64::MAX,
        }])
    }

    /// From the page at `place` on, pages are read from `offset` on.
    pub(crate) fn begin(&mut self, place: u64, offset: u64) {
        if let Some(last) = self.0.last_mut() {
            if last.logical_offset == place {
                // No page of it was walked.
                last.file_offset = offset;
                return;
            }
            last.end = place;
        }
        self.0.push(PageRun {
            logical_offset: place,
            file_offset: offset,
            end: u64::MAX,
        });
    }

    /// The span of a page.
    pub(crate) fn run_containing(&self, place: u64) -> PageRun {
        let after = self.0.partition_point(|span| span.logical_offset <= place);
        self.0[after.saturating_sub(1)]
    }

    /// The span of the page that was walked last.
    pub(crate) fn last(&self) -> PageRun {
        self.run_containing(u64::MAX)
    }

    /// Offset in the file of a page.
    pub(crate) fn to_file_offset(&self, place: u64) -> u64 {
        let span = self.run_containing(place);
        span.file_offset.saturating_add(place - span.logical_offset)
    }

    /// The first page that may hold what is at an offset of the file.
    pub(crate) fn to_logical(&self, offset: u64) -> u64 {
        let before = self.0.partition_point(|span| {
            span.file_offset
                .saturating_add(span.end - span.logical_offset)
                <= offset
        });
        let span = self.0[before.min(self.0.len() - 1)];
        span.logical_offset + offset.saturating_sub(span.file_offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walked_pages_are_found() {
        let mut spans = PageMap::new();
        for place in [0, 4096, 1 << 40] {
            assert_eq!(spans.to_file_offset(place), place);
            assert_eq!(spans.to_logical(place), place);
        }
        spans.begin(8192, 9000);
        spans.begin(16384, 20000);
        spans.begin(16384, 17000);
        assert_eq!(spans.to_file_offset(4096), 4096);
        assert_eq!(spans.to_file_offset(8192), 9000);
        assert_eq!(spans.to_file_offset(12288), 13096);
        assert_eq!(spans.to_file_offset(16384), 17000);
        assert_eq!(spans.to_file_offset(u64::MAX), u64::MAX);
        assert_eq!(spans.run_containing(12288).end, 16384);
        // Skipped bytes map to the next page; bytes in two pages map to the first.
        assert_eq!(spans.to_logical(8500), 8192);
        assert_eq!(spans.to_logical(13096), 12288);
        assert_eq!(spans.to_logical(17100), 12288 + 4004);
        assert_eq!(spans.to_logical(17192), 16384 + 192);
    }
}
