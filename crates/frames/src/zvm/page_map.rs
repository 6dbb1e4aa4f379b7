//! Where in the file the pages are that were walked.
//!
//! They follow each other, 4096 bytes apart, until bytes were added to the file or lost from it. Where
//! the walk goes on then, at whatever offset, a new span of pages begins. Pages are numbered as they
//! were walked, so that windows hold whole pages always.

/// Pages that follow each other in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageRun {
    /// Where its first page is among all those walked, in bytes.
    pub place: u64,
    /// Where that page is in the file.
    pub offset: u64,
    /// Where the next span begins among all pages walked.
    pub end: u64,
}

/// The spans of a file, of which an undamaged one has a single one.
#[derive(Clone, Debug)]
pub(crate) struct PageMap(Vec<PageRun>);

impl PageMap {
    pub(crate) fn new() -> Self {
        Self(vec![PageRun {
            place: 0,
            offset: 0,
            end: u64::MAX,
        }])
    }

    /// From the page at `place` on, pages are read from `offset` on.
    pub(crate) fn begin(&mut self, place: u64, offset: u64) {
        if let Some(last) = self.0.last_mut() {
            if last.place == place {
                // No page of it was walked.
                last.offset = offset;
                return;
            }
            last.end = place;
        }
        self.0.push(PageRun {
            place,
            offset,
            end: u64::MAX,
        });
    }

    /// The span of a page.
    pub(crate) fn of(&self, place: u64) -> PageRun {
        let after = self.0.partition_point(|span| span.place <= place);
        self.0[after.saturating_sub(1)]
    }

    /// The span of the page that was walked last.
    pub(crate) fn last(&self) -> PageRun {
        self.of(u64::MAX)
    }

    /// Where in the file a page is.
    pub(crate) fn offset(&self, place: u64) -> u64 {
        let span = self.of(place);
        span.offset.saturating_add(place - span.place)
    }

    /// The first page that may hold what is at an offset of the file.
    pub(crate) fn place(&self, offset: u64) -> u64 {
        let before = self
            .0
            .partition_point(|span| span.offset.saturating_add(span.end - span.place) <= offset);
        let span = self.0[before.min(self.0.len() - 1)];
        span.place + offset.saturating_sub(span.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_found_where_they_were_walked() {
        let mut spans = PageMap::new();
        for place in [0, 4096, 1 << 40] {
            assert_eq!(spans.offset(place), place);
            assert_eq!(spans.place(place), place);
        }
        spans.begin(8192, 9000);
        spans.begin(16384, 20000);
        spans.begin(16384, 17000);
        assert_eq!(spans.offset(4096), 4096);
        assert_eq!(spans.offset(8192), 9000);
        assert_eq!(spans.offset(12288), 13096);
        assert_eq!(spans.offset(16384), 17000);
        assert_eq!(spans.offset(u64::MAX), u64::MAX);
        assert_eq!(spans.of(12288).end, 16384);
        // What was skipped is before the page that came next; what is in two pages, in the first.
        assert_eq!(spans.place(8500), 8192);
        assert_eq!(spans.place(13096), 12288);
        assert_eq!(spans.place(17100), 12288 + 4004);
        assert_eq!(spans.place(17192), 16384 + 192);
    }
}
