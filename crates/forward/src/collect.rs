//! From the source into the spool, on a thread of its own: nothing here waits for the network.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::log::{self, Level};
use crate::source::{Event, FileStart, Gap, Reason, Source, SourceKind};
use crate::spool::{AppendResult, Record, Spool};
use crate::wire::{self, ENDS_SET, FrameKind, MAX_PAYLOAD};

/// Time that a source waits for space before it checks again.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Reads a source to its end, or until `stop`.
pub fn collect(source: &mut dyn Source, kind: SourceKind, spool: &Spool, stop: &AtomicBool) {
    let mut collector = Collector {
        kind,
        spool,
        stop,
        lost: None,
    };
    if spool.next() > 0 && kind != SourceKind::File {
        collector.gap(&Gap::new(Reason::Restart));
    }
    while !stop.load(Ordering::Relaxed) {
        match source.next() {
            Event::Data(bytes) => collector.data(&bytes),
            Event::Gap(gap) => collector.gap(&gap),
            Event::Start(begin) => collector.begin(&begin),
            Event::Idle => {}
            Event::End => break,
        }
    }
    spool.end();
}

struct Collector<'a> {
    kind: SourceKind,
    spool: &'a Spool,
    stop: &'a AtomicBool,
    /// Records that did not fit, in sets and bytes, since then.
    lost: Option<(u64, u64, Duration)>,
}

impl Collector<'_> {
    fn data(&mut self, bytes: &[u8]) {
        let mut records: Vec<Record<'_>> = bytes
            .chunks(MAX_PAYLOAD)
            .map(|payload| Record {
                kind: FrameKind::Data,
                flags: 0,
                payload,
            })
            .collect();
        if let Some(last) = records.last_mut() {
            last.flags = ENDS_SET;
        }
        self.append(&records);
    }

    fn gap(&mut self, gap: &Gap) {
        let payload = text(gap);
        log::line(Level::Warning, "gap", &[("reason", &gap.reason.as_str())]);
        self.append(&[Record {
            kind: FrameKind::Gap,
            flags: 0,
            payload: &payload,
        }]);
    }

    fn begin(&mut self, begin: &FileStart) {
        let (device, inode) = begin.id;
        let payload = wire::text(&[
            ("file", begin.file.clone()),
            ("device", device.to_string()),
            ("inode", inode.to_string()),
        ]);
        self.append(&[Record {
            kind: FrameKind::Begin,
            flags: 0,
            payload: &payload,
        }]);
    }

    /// Appends records: at once or not at all if the source overflows, as soon as there is space if it waits.
    fn append(&mut self, records: &[Record<'_>]) {
        let mut told = false;
        loop {
            let lost = self.lost.map(|(sets, bytes, from)| {
                text(&Gap {
                    sets: Some(sets),
                    bytes: Some(bytes),
                    from: Some(from),
                    ..Gap::new(Reason::SpoolFull)
                })
            });
            let all: Vec<Record<'_>> = lost
                .iter()
                .map(|payload| Record {
                    kind: FrameKind::Gap,
                    flags: 0,
                    payload,
                })
                .chain(records.iter().copied())
                .collect();
            let failed = match self.spool.append(&all, self.kind.overflows()) {
                Ok(AppendResult::Done { dropped }) => {
                    self.lost = None;
                    if dropped > 0 {
                        log::line(Level::Warning, "spool_full", &[("dropped_bytes", &dropped)]);
                    }
                    return;
                }
                Ok(AppendResult::Full) => "spool is full".to_owned(),
                Err(error) => error.to_string(),
            };
            if !std::mem::replace(&mut told, true) {
                log::line(Level::Warning, "spool_not_written", &[("error", &failed)]);
            }
            if self.kind.overflows() {
                let (sets, bytes, from) = self.lost.unwrap_or((0, 0, log::now()));
                let data = records
                    .iter()
                    .filter(|record| record.kind == FrameKind::Data);
                let more: usize = data.map(|record| record.payload.len()).sum();
                self.lost = Some((sets + u64::from(more > 0), bytes + more as u64, from));
                return;
            }
            if self.stop.load(Ordering::Relaxed) {
                // It can be read again, or its writer waits.
                return;
            }
            self.spool.wait_for_room(POLL_INTERVAL);
        }
    }
}

/// A gap as the payload of a record.
fn text(gap: &Gap) -> Vec<u8> {
    let seconds = |time: Duration| format!("{:.3}", time.as_secs_f64());
    let mut fields = vec![("reason", gap.reason.as_str().to_owned())];
    fields.extend(gap.sets.map(|sets| ("sets", sets.to_string())));
    fields.extend(gap.bytes.map(|bytes| ("bytes", bytes.to_string())));
    fields.extend(gap.from.map(|from| ("from", seconds(from))));
    fields.push(("until", seconds(log::now())));
    wire::text(&fields)
}
