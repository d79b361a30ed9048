//! What is no frame ends the connection with one error, and everything that ran.

use belljar::agent::{Kind, MAX_BODY, MAX_HEADER, encode};
use serde_json::json;

use crate::client::Client;

/// A connection with a job that would run for long.
fn busy() -> Client {
    let mut client = Client::new();
    let sandbox = client.open(&json!({}));
    let id = client.code(
        sandbox,
        "import time\nprint('on', flush=True)\ntime.sleep(60)",
        &json!({"stream": true}),
    );
    assert_eq!(client.answer(id).kind, Kind::Output);
    client
}

fn frame(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = encode(Kind::Stats, 9, b"{}", b"", None);
    change(&mut bytes);
    bytes
}

both! {
    fn garbage_ends_the_connection_with_one_error(_who) {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time");
        let seed = u64::from(now.subsec_nanos());
        let noise: Vec<u8> = (0..4096u64).map(|n| (n.wrapping_mul(seed * 2 + 1).wrapping_mul(0x9e37_79b9) >> 13) as u8).collect();
        for (name, bytes) in [
            ("text", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
            ("noise", noise),
            ("kind", frame(|bytes| bytes[0] = 33)),
            ("layout", frame(|bytes| bytes[1] = 7)),
            ("flags", frame(|bytes| bytes[2] = 0x80)),
            ("header", frame(|bytes| bytes[4..8].copy_from_slice(&(MAX_HEADER + 1).to_le_bytes()))),
            ("body", frame(|bytes| bytes[16..24].copy_from_slice(&(MAX_BODY + 1).to_le_bytes()))),
            ("inline", frame(|bytes| bytes[16..24].copy_from_slice(&(70_000u64).to_le_bytes()))),
            ("direction", frame(|bytes| bytes[0] = Kind::Outcome as u8)),
            ("no id", encode(Kind::Stats, 0, b"{}", b"", None)),
            ("id in use", encode(Kind::Stats, 2, b"{}", b"", None)),
        ] {
            let client = busy();
            client.try_raw(&bytes);
            let error = client.last_error();
            assert_eq!(error["code"], "protocol", "{name}: {error}");
            // The leak checker looks once more at the end; this names the case.
            assert_eq!(crate::ending::wait(crate::leaks::family), Vec::<String>::new(), "{name}");
        }
    }

    fn end_in_the_middle_of_a_frame_is_an_end(_who) {
        for length in [1, 23, 25] {
            let client = busy();
            client.try_raw(&frame(|_| {})[..length]);
            client.finish();
        }
    }
}
