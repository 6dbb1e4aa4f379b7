//! The denominator of `make bench`: how long it takes to read a file and look at a little of it.
//!
//!     cargo run --release -p zlens-frames --example touch -- FILE RUNS
//!
//! prints the seconds of each run: pread in windows, one byte touched in 64.

use std::hint::black_box;
use std::time::Instant;

use zlens_frames::{FileSource, ReadAt, WINDOW};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which file?")?;
    let runs: usize = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let source = FileSource::open(&path)?;
    let mut buffer = vec![0; WINDOW];
    for _ in 0..runs {
        let begin = Instant::now();
        let (mut sum, mut at) = (0_u64, 0);
        loop {
            let got = source.read_at(at, &mut buffer)?;
            if got == 0 {
                break;
            }
            let touched = buffer[..got].iter().step_by(64);
            sum += touched.map(|&byte| u64::from(byte)).sum::<u64>();
            at += got as u64;
        }
        black_box(sum);
        println!("{:.6}", begin.elapsed().as_secs_f64());
    }
    Ok(())
}
