//! The forwarder with a device for tests: each set has its number, from a file, which counts on like a machine that does
//! not wait for its readers.
//!
//!     device COUNTER --to HOST:PORT --spool DIR /dev/made

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::Duration;

use zlens_forward::options::{Command, parse};
use zlens_forward::run::forward;
use zlens_forward::source::{Device, SetReader};
use zlens_frames::zvm::Header;

struct Made {
    counter: PathBuf,
    reads: VecDeque<Vec<u8>>,
}

impl Device for Made {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.reads.is_empty() {
            sleep(Duration::from_millis(2));
            let text = fs::read_to_string(&self.counter).unwrap_or_default();
            let number = text.trim().parse().unwrap_or(0_u64) + 1;
            // Renamed, so that a kill leaves no half of a number.
            let new = self.counter.with_extension("new");
            fs::write(&new, number.to_string())?;
            fs::rename(&new, &self.counter)?;
            self.reads.extend(set(number));
        }
        let bytes = self.reads.pop_front().unwrap_or_default();
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    fn reopen(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The reads of a set: an element, its records in two parts, and nothing.
fn set(number: u64) -> [Vec<u8>; 4] {
    let length = 100 + (number * 7919 % 3800) as u32;
    let start = Header {
        length: length as u16,
        domain: 4,
        record: 1,
        tod: 0xE200_0000_0000_0000,
    };
    let mut record = start.encode().to_vec();
    record.extend(number.to_be_bytes());
    record.resize(length as usize, number as u8);
    let mut element = vec![0xC5, 0x08, 0, 0];
    element.extend(0x1000_u32.to_be_bytes());
    element.extend((0x1000 + length - 1).to_be_bytes());
    let rest = record.split_off(50);
    [element, record, rest, Vec::new()]
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let counter = PathBuf::from(arguments.next().unwrap_or_default());
    let stop = Arc::new(AtomicBool::new(false));
    let done = parse(arguments).and_then(|command| match command {
        Command::Forward(options) => {
            let made = |_| {
                let counter = counter.clone();
                let reads = VecDeque::new();
                Ok(Box::new(SetReader::new(Made { counter, reads })) as _)
            };
            forward(&options, &made, &stop)
        }
        _ => Ok(()),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(error.status())
        }
    }
}
