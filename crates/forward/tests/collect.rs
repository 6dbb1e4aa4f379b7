//! Tests of sources and the spool: growing files, pipes, and losses when a source overflows.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::tempdir;
use zlens_forward::collect::collect;
use zlens_forward::source::{Event, Pipe, Source, SourceKind, TailedFile};
use zlens_forward::spool::{MIN_SIZE, ReadResult, SourcePosition, Spool};
use zlens_forward::wire::{FrameKind, decode, field};

/// A source with a list of events.
struct List(Vec<Event>);

impl Source for List {
    fn next(&mut self) -> Event {
        if self.0.is_empty() {
            Event::End
        } else {
            self.0.remove(0)
        }
    }
}

/// Returns the contents of a spool: bytes unchanged, files and gaps by name.
fn read(spool: &Spool) -> Vec<String> {
    let mut cursor = spool.cursor(0);
    let mut found: Vec<String> = Vec::new();
    let mut follows = false;
    loop {
        let bytes = match spool.read(&mut cursor).unwrap() {
            ReadResult::Frame(bytes) => bytes,
            ReadResult::Missing(hole) => {
                found.push(format!("hole of {}", hole.next - hole.from));
                continue;
            }
            ReadResult::Empty => return found,
        };
        let (head, payload) = decode(&bytes).unwrap().unwrap();
        let data = head.kind == FrameKind::Data;
        match head.kind {
            FrameKind::Data if follows => found
                .last_mut()
                .unwrap()
                .push_str(std::str::from_utf8(payload).unwrap()),
            FrameKind::Data => found.push(String::from_utf8(payload.to_vec()).unwrap()),
            FrameKind::Begin => found.push(format!(
                "begin {}",
                field(payload, "file").unwrap_or_default()
            )),
            _ => found.push(format!(
                "gap {} {}",
                field(payload, "reason").unwrap(),
                field(payload, "sets").unwrap_or("?")
            )),
        }
        follows = data;
    }
}

/// Reads a source until a condition holds.
fn follow(mut source: impl Source + 'static, spool: &Arc<Spool>, until: impl Fn() -> bool) {
    let stop = Arc::new(AtomicBool::new(false));
    let reader = {
        let (spool, stop) = (Arc::clone(spool), Arc::clone(&stop));
        thread::spawn(move || collect(&mut source, SourceKind::File, &spool, &stop))
    };
    eventually(until);
    stop.store(true, Ordering::Relaxed);
    reader.join().unwrap();
}

fn eventually(until: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !until() {
        assert!(Instant::now() < end, "it never came to this");
        thread::sleep(Duration::from_millis(5));
    }
}

fn write(path: &Path, text: &str) {
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

#[test]
fn growing_file_is_followed() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("day.smf");
    write(&path, "one");
    let spool = Arc::new(Spool::open(&folder.path().join("spool"), MIN_SIZE).unwrap());
    let grown = || read(&spool);
    follow(
        TailedFile::open(&path, spool.mark()).unwrap(),
        &spool,
        || {
            eventually(|| grown() == ["begin day.smf", "one"]);
            write(&path, "two");
            eventually(|| grown() == ["begin day.smf", "onetwo"]);
            true
        },
    );
    // Resumed at the saved offset; then a shorter file; then another file.
    write(&path, "three");
    follow(
        TailedFile::open(&path, spool.mark()).unwrap(),
        &spool,
        || grown() == ["begin day.smf", "onetwothree"],
    );
    fs::write(&path, "four").unwrap();
    follow(
        TailedFile::open(&path, spool.mark()).unwrap(),
        &spool,
        || grown().len() == 5,
    );
    assert_eq!(
        grown()[2..],
        ["gap file_replaced ?", "begin day.smf", "four"]
    );
    follow(
        TailedFile::open(&path, spool.mark()).unwrap(),
        &spool,
        || {
            write(&path, "-");
            fs::rename(&path, folder.path().join("old")).unwrap();
            write(&folder.path().join("old"), "end");
            write(&path, "five");
            eventually(|| grown().len() == 7);
            true
        },
    );
    assert_eq!(grown()[4..], ["four-end", "begin day.smf", "five"]);
}

#[test]
fn missing_file_is_reported() {
    let error =
        TailedFile::open(Path::new("/nowhere/day.smf"), SourcePosition::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("/nowhere/day.smf: cannot be opened"),
        "{error}"
    );
    assert_eq!(error.status(), 1);
}

#[test]
fn pipe_is_read_to_end() {
    let folder = tempdir().unwrap();
    let spool = Spool::open(folder.path(), MIN_SIZE).unwrap();
    let stop = AtomicBool::new(false);
    collect(
        &mut Pipe::new(&b"all of it"[..]),
        SourceKind::Stdin,
        &spool,
        &stop,
    );
    assert!(spool.is_ended());
    collect(
        &mut Pipe::new(&b"more"[..]),
        SourceKind::Stdin,
        &spool,
        &stop,
    );
    assert_eq!(
        read(&spool),
        ["begin ", "all of it", "gap restart ?", "begin ", "more"]
    );
}

#[test]
fn device_never_waits_and_lost_sets_are_counted() {
    let folder = tempdir().unwrap();
    let spool = Spool::open(folder.path(), MIN_SIZE).unwrap();
    let stop = AtomicBool::new(false);
    let set = |size: usize| Event::Data(vec![b'x'; size]);
    // Two sets larger than the spool, then one that fits.
    let events = vec![set(2 << 20), set(3 << 20), set(3)];
    collect(&mut List(events), SourceKind::Monreader, &spool, &stop);
    assert_eq!(read(&spool), ["gap spool_full 2", "xxx"]);
}

#[test]
fn waiting_source_resumes_with_space() {
    let folder = tempdir().unwrap();
    let spool = Arc::new(Spool::open(folder.path(), MIN_SIZE).unwrap());
    let size = 5 * MIN_SIZE;
    let reader = {
        let spool = Arc::clone(&spool);
        let mut pipe = Pipe::new(io::repeat(b'x').take(size));
        thread::spawn(move || {
            collect(
                &mut pipe,
                SourceKind::Stdin,
                &spool,
                &AtomicBool::new(false),
            )
        })
    };
    let mut cursor = spool.cursor(0);
    let mut count = 0;
    let end = Instant::now() + Duration::from_secs(30);
    while !(spool.is_ended() && cursor.next() == spool.next()) {
        match spool.read(&mut cursor).unwrap() {
            ReadResult::Frame(bytes) => count += decode(&bytes).unwrap().unwrap().1.len() as u64,
            ReadResult::Missing(hole) => panic!("{hole:?}"),
            ReadResult::Empty => {
                assert!(Instant::now() < end, "it waits for ever");
                spool.acknowledge(cursor.next()).unwrap();
                spool.wait(cursor.next(), Duration::from_millis(50));
            }
        }
    }
    reader.join().unwrap();
    assert_eq!(count - "file \ndevice 0\ninode 0\n".len() as u64, size);
}
