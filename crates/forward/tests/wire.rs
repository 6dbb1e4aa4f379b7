//! Tests of frames: written frames read back unchanged, and other bytes are not frames.

use proptest::prelude::*;
use zlens_forward::wire::{
    ENDS_SET, FrameError, FrameKind, HEADER, MAX_PAYLOAD, decode, encode, field, text,
};

fn frame(kind: FrameKind, sequence: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(&mut bytes, kind, ENDS_SET, sequence, payload);
    bytes
}

#[test]
fn frame_encoding_equals_receiver() {
    // The same frame as in tests/live/test_protocol.py.
    let bytes = frame(FrameKind::Data, 0x0102_0304_0506_0708, b"abc");
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(text, "5a46030100000003010203040506070886e64c6e616263");
}

proptest! {
    #[test]
    fn frames_round_trip(sequence: u64, payload in prop::collection::vec(any::<u8>(), 0..300), rest in prop::collection::vec(any::<u8>(), 0..40)) {
        let mut bytes = frame(FrameKind::Gap, sequence, &payload);
        for cut in 0..bytes.len() {
            prop_assert_eq!(decode(&bytes[..cut]), Ok(None));
        }
        bytes.extend(rest);
        let (head, found) = decode(&bytes).unwrap().unwrap();
        prop_assert_eq!((head.kind, head.flags, head.sequence, found), (FrameKind::Gap, ENDS_SET, sequence, &payload[..]));
    }

    #[test]
    fn damaged_frame_is_none(payload in prop::collection::vec(any::<u8>(), 0..300), at: prop::sample::Index, bit in 0..8) {
        let mut bytes = frame(FrameKind::Data, 7, &payload);
        let at = at.index(bytes.len());
        bytes[at] ^= 1_u8 << bit;
        prop_assert!(!matches!(decode(&bytes), Ok(Some(_))));
    }

    #[test]
    fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut framed = b"ZF\x03".to_vec();
        framed.extend(&bytes);
        for bytes in [bytes, framed] {
            let _ = decode(&bytes);
            let _ = field(&bytes, "key");
        }
    }
}

#[test]
fn frame_length_is_limited_before_read() {
    let mut bytes = frame(FrameKind::Data, 0, b"");
    bytes[4..8].copy_from_slice(&(MAX_PAYLOAD as u32 + 1).to_be_bytes());
    assert_eq!(
        decode(&bytes[..HEADER]),
        Err(FrameError::Length(MAX_PAYLOAD + 1))
    );
}

#[test]
fn fields_are_one_per_line() {
    let payload = text(&[("file", "a\nname b".to_owned()), ("sets", "3".to_owned())]);
    assert_eq!(field(&payload, "file"), Some("a name b"));
    assert_eq!(field(&payload, "sets"), Some("3"));
    assert_eq!(field(&payload, "name"), None);
    assert_eq!(field(&payload, "set"), None);
}
