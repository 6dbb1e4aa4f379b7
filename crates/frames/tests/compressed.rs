//! Tests of compressed files: contents are restored, and damage loses only the bytes after it.

use std::io::Write;
use std::path::Path;

use flate2::write::{DeflateEncoder, GzEncoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use zlens_frames::ReadAt;
use zlens_frames::compressed::{
    Compression, Decompressed, Error, LOOK, decompress, peek_decompressed,
};

/// Returns bytes that compress moderately.
fn data(count: usize) -> Vec<u8> {
    let mut state = 7_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 28) as u8
    };
    (0..count).map(|_| next()).collect()
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

fn zstd(data: &[u8]) -> Vec<u8> {
    compress_to_vec(data, CompressionLevel::Fastest)
}

/// Returns an archive of members: name, method, bytes.
fn zip(members: &[(&str, u16, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for &(name, method, bytes) in members {
        let packed = match method {
            8 => {
                let mut encoder = DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(bytes).expect("memory takes it");
                encoder.finish().expect("memory takes it")
            }
            93 => zstd(bytes),
            _ => bytes.to_vec(),
        };
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        let mut facts = vec![20, 0, 0, 0];
        facts.extend(method.to_le_bytes());
        facts.extend([0; 4]);
        facts.extend(crc.sum().to_le_bytes());
        facts.extend((packed.len() as u32).to_le_bytes());
        facts.extend((bytes.len() as u32).to_le_bytes());
        facts.extend((name.len() as u16).to_le_bytes());
        facts.extend([0, 0]);
        directory.extend(*b"PK\x01\x02\x14\x00");
        directory.extend(&facts);
        directory.extend([0; 10]);
        directory.extend((out.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        out.extend(*b"PK\x03\x04");
        out.extend(&facts);
        out.extend(name.as_bytes());
        out.extend(packed);
    }
    let (at, length) = (out.len() as u32, directory.len() as u32);
    out.extend(directory);
    out.extend(*b"PK\x05\x06\0\0\0\0");
    out.extend((members.len() as u16).to_le_bytes().repeat(2));
    out.extend(length.to_le_bytes());
    out.extend(at.to_le_bytes());
    out.extend([0, 0]);
    out
}

fn try_unpack(bytes: &[u8], limit: u64) -> Result<Decompressed, Error> {
    let packing = Compression::detect(bytes).expect("it is packed");
    let folder = std::env::temp_dir();
    let wanted = |begun: &[u8], _: u64| !begun.starts_with(b"README");
    decompress(
        &bytes.to_vec(),
        packing,
        &folder,
        limit,
        &wanted,
        &mut |done, total| {
            assert!(done <= total);
            true
        },
    )
}

/// Returns the decompressed bytes, and the text of the problems.
fn unpacked(bytes: &[u8], limit: u64) -> (Vec<u8>, Vec<String>) {
    let found = try_unpack(bytes, limit).expect("it can be read and written");
    let mut all = vec![0; found.size() as usize];
    let got = found.read_at(0, &mut all).expect("it can be read");
    assert_eq!(got, all.len());
    assert!(
        found
            .problems
            .iter()
            .all(|row| row.offset <= found.size() && row.bytes == 0)
    );
    (
        all,
        found.problems.into_iter().map(|row| row.detail).collect(),
    )
}

const NO_LIMIT: u64 = u64::MAX;

#[test]
fn compressed_data_round_trips() {
    let data = data(700_000);
    let (front, back) = data.split_at(300_000);
    let skippable = [
        &[0x5A, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3][..],
        &zstd(front),
    ]
    .concat();
    for packed in [
        gzip(&data),
        // Concatenated files are one file.
        [gzip(front), gzip(back)].concat(),
        zstd(&data),
        [skippable, zstd(back)].concat(),
        zip(&[("day.smf", 8, &data)]),
        zip(&[
            ("a/", 0, &[]),
            ("README", 8, b"README of it"),
            ("a/1", 0, front),
            ("a/2", 93, back),
        ]),
    ] {
        let (all, said) = unpacked(&packed, NO_LIMIT);
        assert!(all == data);
        assert!(said.iter().all(|line| line.contains("README")), "{said:?}");
        let mut begun = peek_decompressed(&packed[..packed.len().min(160 * 1024)], &|begun| {
            begun == &data[..LOOK]
        });
        let begun = begun.get_or_insert_default();
        assert!(
            begun.len() == LOOK && data.starts_with(begun),
            "{}",
            begun.len()
        );
    }
}

#[test]
fn damage_costs_following_data() {
    let data = data(700_000);
    for packed in [gzip(&data), zstd(&data), zip(&[("day.smf", 8, &data)])] {
        let (all, said) = unpacked(&packed[..packed.len() / 2], NO_LIMIT);
        assert!(
            all.len() > 100_000 && data.starts_with(&all),
            "{}",
            all.len()
        );
        assert!(!said.is_empty(), "{said:?}");
        let mut state = 1_u64;
        for _ in 0..60 {
            let mut bytes = packed.clone();
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = 4 + (state >> 33) as usize % (bytes.len() - 4);
            bytes[at] ^= 1 << (state >> 7 & 7);
            let (all, said) = unpacked(&bytes, NO_LIMIT);
            assert!(all == data || !said.is_empty(), "byte {at}");
        }
    }
    let (all, said) = unpacked(&[gzip(&data), vec![0; 500]].concat(), NO_LIMIT);
    assert!(
        all == data && said[0].starts_with("500 bytes after"),
        "{said:?}"
    );
    let mut archive = zip(&[("one", 8, &data), ("two", 12, b"x"), ("three", 0, &data)]);
    let (all, said) = unpacked(&archive, NO_LIMIT);
    assert!(
        all.len() == 1_400_000 && said[0].contains("method 12"),
        "{said:?}"
    );
    // One byte of the last member.
    let at = archive.len() - 1000;
    archive[at] ^= 1;
    let (_, said) = unpacked(&archive, NO_LIMIT);
    assert!(
        said[1].contains("member three") && said[1].contains("checksum"),
        "{said:?}"
    );
}

#[test]
fn decompression_bomb_stops_at_limit() {
    let zeros = vec![0; 50 << 20];
    for packed in [
        gzip(&zeros),
        zip(&[("day.smf", 8, &zeros), ("two", 8, &zeros)]),
    ] {
        assert!(packed.len() < 1 << 20);
        let (all, said) = unpacked(&packed, 3_000_001);
        assert_eq!(all.len(), 3_000_001);
        assert!(
            said.len() == 1 && said[0].contains("ZLENS_UNPACK_LIMIT"),
            "{said:?}"
        );
    }
}

#[test]
fn parallel_decompression_is_separate() {
    let data = data(300_000);
    let parts: Vec<&[u8]> = data.chunks(7001).collect();
    let open = |part: &&[u8]| try_unpack(&gzip(part), NO_LIMIT).expect("memory can be read");
    let mut all: Vec<Decompressed> = parts.iter().map(open).collect();
    all.truncate(5);
    let more: Vec<Decompressed> = parts.iter().map(open).collect();
    for (found, part) in all.iter().zip(&parts).chain(more.iter().zip(&parts)) {
        let mut bytes = vec![0; 9000];
        let got = found.read_at(0, &mut bytes).expect("it can be read");
        assert_eq!(bytes[..got], **part);
    }
    let mut bytes = vec![0; 9000];
    let got = more[3].read_at(1, &mut bytes).expect("it can be read");
    assert_eq!(bytes[..got], parts[3][1..]);
    assert_eq!(
        more[3].read_at(7001, &mut bytes).expect("it can be read"),
        0
    );
    assert_eq!(
        more[3]
            .read_at(u64::MAX, &mut bytes)
            .expect("it can be read"),
        0
    );
}

#[test]
fn decompression_stops_on_cancel_and_full_disk() {
    let packed = gzip(&data(300_000));
    let run = |folder: &Path, going| {
        decompress(
            &packed,
            Compression::Gzip,
            folder,
            NO_LIMIT,
            &|_, _| true,
            &mut |_, _| going,
        )
    };
    assert!(matches!(
        run(&std::env::temp_dir(), false),
        Err(Error::Stopped)
    ));
    let missing = std::env::temp_dir().join("no such folder of zlens");
    let error = run(&missing, true).expect_err("there is no such folder");
    assert!(
        error.to_string().contains("no such folder of zlens"),
        "{error}"
    );
}

#[test]
fn uncompressed_data_is_recognized() {
    for head in [&b""[..], b"PK", b"\x1f\x8b", b"text", &[0; 100]] {
        assert_eq!(Compression::detect(head), None);
        assert_eq!(peek_decompressed(head, &|_| true), None);
    }
}
