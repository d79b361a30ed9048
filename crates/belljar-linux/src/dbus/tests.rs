//! Bytes as systemd takes and gives them; the virtual machines of `make vm` say whether a real one agrees.

use super::*;

/// An answer in the shape that systemd gives it.
fn refusal(name: &str, text: &str) -> Vec<u8> {
    let mut fields = vec![5, 1, b'u', 0, 1, 0, 0, 0];
    fields.extend([4, 1, b's', 0]);
    fields.extend((name.len() as u32).to_le_bytes());
    fields.extend(name.bytes().chain([0]));
    fields.resize(fields.len().next_multiple_of(8), 0);
    fields.extend([8, 1, b'g', 0, 1, b's', 0]);
    let mut body = (text.len() as u32).to_le_bytes().to_vec();
    body.extend(text.bytes().chain([0]));
    let mut message = vec![b'l', 3, 1, 1];
    message.extend((body.len() as u32).to_le_bytes());
    message.extend(7u32.to_le_bytes());
    message.extend((fields.len() as u32).to_le_bytes());
    message.extend(fields);
    message.resize(message.len().next_multiple_of(8), 0);
    message.extend(body);
    message
}

#[test]
fn a_refusal_is_read_byte_by_byte() {
    let message = refusal(
        "org.freedesktop.systemd1.UnitExists",
        "Unit x.scope\x1b[31m exists",
    );
    for end in 0..message.len() {
        assert_eq!(next(&message[..end]), Ok(None), "{end}");
    }
    let (answer, length) = next(&message).unwrap().unwrap();
    assert_eq!(length, message.len());
    assert_eq!(answer.reply_to, Some(1));
    let Kind::Error { name, text } = answer.kind else {
        panic!("{answer:?}")
    };
    assert_eq!(name, "org.freedesktop.systemd1.UnitExists");
    assert_eq!(text, "Unit x.scope[31m exists", "no escape reaches a terminal");
}

#[test]
fn lengths_are_not_believed() {
    let message = refusal("a.b", "c");
    for at in [4, 12] {
        for length in [MAX_MESSAGE as u32 + 1, 1 << 31, u32::MAX] {
            let mut lie = message.clone();
            lie[at..at + 4].copy_from_slice(&length.to_le_bytes());
            assert_eq!(next(&lie), Err(Malformed));
        }
    }
    // A name that is longer than the fields that hold it.
    let mut lie = message.clone();
    lie[28..32].copy_from_slice(&1000u32.to_le_bytes());
    assert_eq!(next(&lie), Err(Malformed));
    let mut big_endian = message;
    big_endian[0] = b'B';
    assert_eq!(next(&big_endian), Err(Malformed));
}

#[test]
fn a_call_is_written_as_it_is_read() {
    let properties = [
        ("PIDs", Property::Numbers(&[0])),
        ("Delegate", Property::Bool(true)),
        ("CollectMode", Property::Text("inactive-or-failed")),
        ("TasksMax", Property::Number(u64::MAX)),
    ];
    let message = call(9, "belljar-1-2.scope", &properties);
    let (answer, length) = next(&message).unwrap().unwrap();
    assert_eq!(length, message.len(), "both lengths are right");
    assert_eq!((answer.kind, answer.reply_to), (Kind::Other, None));
    assert_eq!(
        message.len() % 8,
        0,
        "an empty array of structures ends with its padding"
    );
    // 64-bit numbers begin at a multiple of eight.
    let at = message.windows(8).position(|bytes| bytes == [0xff; 8]).unwrap();
    assert_eq!(at % 8, 0);
}

#[test]
fn a_greeting_names_the_user_and_its_answer_is_one_line() {
    assert_eq!(greeting(1000), b"\0AUTH EXTERNAL 31303030\r\nBEGIN\r\n");
    assert_eq!(welcome(b"OK 0123456789abcdef0123456789abcdef\r\nl"), Ok(Some(37)));
    assert_eq!(welcome(b"OK 01"), Ok(None));
    assert_eq!(welcome(b""), Ok(None));
    assert_eq!(welcome(b"REJECTED EXTERNAL\r\n"), Err(Malformed));
    assert_eq!(welcome(&[b'O'; 64]), Err(Malformed), "no line without end");
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
        if let Ok(Some((_, length))) = next(&bytes) {
            proptest::prop_assert!(length <= bytes.len());
        }
        let _ = welcome(&bytes);
    }

    #[test]
    fn any_change_of_an_answer_is_read_without_a_panic(at in 0usize..120, byte: u8) {
        let mut message = refusal("org.freedesktop.systemd1.UnitExists", "Unit x.scope exists");
        let at = at % message.len();
        message[at] = byte;
        let _ = next(&message);
    }
}
