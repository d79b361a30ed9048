//! Large bodies as sealed memfds, both ways, and what is not one.

use std::os::fd::{AsFd, OwnedFd};

use belljar::agent::{INLINE, Kind, encode};
use rustix::fs::{MemfdFlags, SealFlags};
use serde_json::json;

use crate::client::Client;

const SIZE: u64 = 200_000;

fn memfd(content: &[u8], size: u64, seals: SealFlags) -> OwnedFd {
    let fd =
        rustix::fs::memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).expect("a memfd");
    rustix::io::write(&fd, content).expect("its content");
    rustix::fs::ftruncate(&fd, size).expect("its size");
    rustix::fs::fcntl_add_seals(&fd, seals).expect("its seals");
    fd
}

fn all() -> SealFlags {
    SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE
}

both! {
    fn large_bodies_are_memfds_both_ways(_who) {
        let mut client = Client::new();
        let sandbox = client.open(&json!({"timeout": 50, "output": "4M"}));
        for size in [INLINE - 1, INLINE, 3 << 20] {
            let input: Vec<u8> = (0..size).map(|number| (number % 251) as u8).collect();
            let source = b"import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()[::-1])";
            let header = json!({"sandbox": sandbox, "kind": "code", "stdin": true, "parts": [source.len(), size]});
            let id = client.id();
            client.say(Kind::Job, id, &header, &[source, &input]);
            let heard = client.answer(id);
            let reversed: Vec<u8> = input.into_iter().rev().collect();
            assert!([heard.parts()[2], heard.parts()[3]].concat() == reversed, "{size}");
            assert!(heard.by_descriptor, "{size}");
        }
        let id = client.code(sandbox, "print('small')", &json!({}));
        assert!(!client.answer(id).by_descriptor);
        client.finish();
    }

    fn every_other_descriptor_is_refused_by_name(_who) {
        let mut client = Client::new();
        let sandbox = client.open(&json!({}));
        let source = vec![b'\n'; SIZE as usize];
        let header = json!({"sandbox": sandbox, "kind": "code", "parts": [SIZE]}).to_string();
        let (pipe, _writer) = rustix::pipe::pipe().expect("a pipe");
        let mut cases = vec![
            ("seal", memfd(&source, SIZE, all().difference(SealFlags::SEAL))),
            ("shrink", memfd(&source, SIZE, all().difference(SealFlags::SHRINK))),
            ("grow", memfd(&source, SIZE, all().difference(SealFlags::GROW))),
            ("write", memfd(&source, SIZE, all().difference(SealFlags::WRITE))),
            ("more seals", memfd(&source, SIZE, all() | SealFlags::FUTURE_WRITE)),
            ("shorter", memfd(&source, SIZE - 1, all())),
            ("longer", memfd(&source, SIZE + 1, all())),
            ("sparse", memfd(b"x", SIZE, all())),
            ("pipe", pipe),
            ("folder", std::fs::File::open("/").expect("a folder").into()),
            ("device", std::fs::File::open("/dev/zero").expect("a device").into()),
            ("program", std::fs::File::open("/proc/self/exe").expect("a file").into()),
        ];
        for (name, fd) in &cases {
            let id = client.id();
            client.raw(&encode(Kind::Job, id, header.as_bytes(), b"", Some(SIZE)), &[fd.as_fd()]);
            let heard = client.answer(id);
            assert_eq!((heard.kind, &heard.header["code"]), (Kind::Error, &json!("buffer")), "{name}: {heard:?}");
        }
        cases.clear();
        // The same with a body as it should be.
        let good = memfd(&source, SIZE, all());
        let id = client.id();
        client.raw(&encode(Kind::Job, id, header.as_bytes(), b"", Some(SIZE)), &[good.as_fd()]);
        assert_eq!(client.answer(id).document()["status"], "returned");
        client.finish();
    }

    fn descriptors_that_no_frame_speaks_of_end_the_connection(_who) {
        let good = memfd(&[b'\n'; SIZE as usize], SIZE, all());
        for (descriptor, fds) in [(None, 1), (Some(SIZE), 0), (Some(SIZE), 2), (None, 24)] {
            let mut client = Client::new();
            client.open(&json!({}));
            let header = json!({"sandbox": 1, "kind": "code", "parts": []}).to_string();
            let fds: Vec<_> = (0..fds).map(|_| good.as_fd()).collect();
            client.raw(&encode(Kind::Job, 2, header.as_bytes(), b"", descriptor), &fds);
            // The frame itself may be answered before the descriptor is found to be too many.
            let mut last = client.hear().expect("an error");
            if last.id == 2 {
                last = client.hear().expect("the last error");
            }
            assert_eq!((last.kind, last.id, &last.header["code"]), (Kind::Error, 0, &json!("protocol")), "{last:?}");
            assert!(client.hear().is_none());
            client.gone();
        }
    }
}
