//! Unreadable frames and frame ends, held until the next frame is found: where reading is resumed, they
//! count as lost bytes.

use super::index::Index;
use crate::problem::ProblemKind;

/// Reason of a skip.
pub(crate) struct SkipReason {
    pub kind: ProblemKind,
    pub record: Option<(u8, u16)>,
    pub text: String,
}

/// The rest of a frame, or whole frames that follow each other.
pub(crate) struct SkippedRange {
    /// Its start and end, with the padding in it.
    pub from: u64,
    pub end: u64,
    /// Offset and number of the skipped bytes.
    pub offset: u64,
    pub bytes: u64,
    /// Number of frames; 0 if it is the rest of one.
    pub frames: u64,
    /// The first whole frame in it or after it: where it begins, and which it is of those that the
    /// control record describes.
    pub next: (u64, u64),
}

/// Skips that follow each other without a gap, and why each was begun.
#[derive(Default)]
pub(crate) struct PendingSkips(Vec<(SkippedRange, SkipReason)>);

impl PendingSkips {
    /// Adds a skip; reports earlier skips that it does not continue.
    pub(crate) fn add(
        &mut self,
        skip: SkippedRange,
        why: impl FnOnce() -> SkipReason,
        index: &mut Index,
    ) {
        if !self.ends_at(skip.from) {
            self.report(index);
        }
        if let Some((last, _)) = self.0.last_mut()
            && last.frames > 0
            && skip.frames > 0
            && last.offset + last.bytes == skip.offset
        {
            last.end = skip.end;
            last.bytes += skip.bytes;
            last.frames += skip.frames;
        } else {
            self.0.push((skip, why()));
        }
    }

    /// Whether there are skips up to this offset.
    pub(crate) fn ends_at(&self, offset: u64) -> bool {
        self.0.last().is_some_and(|(last, _)| last.end == offset)
    }

    /// The first of the skips.
    pub(crate) fn first(&self) -> Option<&SkippedRange> {
        self.0.first().map(|(skip, _)| skip)
    }

    /// Clears all skips; returns the reason of the first.
    pub(crate) fn take(&mut self) -> Option<SkipReason> {
        self.0.drain(..).next().map(|(_, why)| why)
    }

    /// Makes problems of all skips.
    pub(crate) fn report(&mut self, index: &mut Index) {
        for (skip, why) in self.0.drain(..) {
            let SkippedRange {
                from,
                end,
                offset,
                bytes,
                frames,
                ..
            } = skip;
            index.skipped_bytes += bytes;
            index.padding_bytes += end - from - bytes;
            let text = why.text;
            index
                .problems
                .add(why.kind, offset, bytes, why.record, || match frames {
                    0 => format!("{text}; the rest of its frame, {bytes} bytes, is skipped"),
                    1 => format!("{text}; this frame, {bytes} bytes, is skipped"),
                    _ => format!("{text}; {frames} frames, {bytes} bytes, are skipped"),
                });
        }
    }
}
