//! Items of generators: in order, one for each that leave was given for, live, and never more.

use std::time::{Duration, Instant};

use belljar::agent::Kind;
use serde_json::{Value, json};

use crate::client::Client;
use crate::invoke::{call, has, invoke, sandboxes, start, text, value};

fn more(client: &Client, id: u64, count: u64) {
    client.say(Kind::More, id, &json!({ "count": count }), &[]);
}

/// The first part of the next item.
#[track_caller]
fn item(client: &mut Client, id: u64) -> Vec<u8> {
    let heard = client.answer(id);
    assert_eq!(heard.kind, Kind::Item, "{heard:?}");
    heard.parts()[0].to_vec()
}

both! {
    fn items_come_one_for_each_that_leave_was_given_for(_who) {
        let mut client = Client::new();
        let (sandboxes, _folder) = sandboxes(&mut client);
        for sandbox in sandboxes {
            for early in [true, false] {
                let head = call("eval", &text("('item %d' % n for n in range(5))"));
                let id = invoke(&mut client, sandbox, &[&head], &json!({"items": 2, "early": early}));
                assert!(has(&item(&mut client, id), "item 0"));
                assert!(has(&item(&mut client, id), "item 1"));
                assert!(!client.has_more(), "no leave was given for a third");
                more(&client, id, 1);
                assert!(has(&item(&mut client, id), "item 2"));
                assert!(!client.has_more(), "nor for a fourth");
                more(&client, id, 100);
                assert!(has(&item(&mut client, id), "item 3"));
                assert!(has(&item(&mut client, id), "item 4"));
                let end = client.answer(id);
                let last = end.header["last"] == true;
                value(&end, last);
                if !last {
                    assert_eq!(client.answer(id).document()["status"], "returned");
                }
            }
        }
        client.finish();
    }

    fn items_of_asynchronous_generators_come_too(_who) {
        let mut client = Client::new();
        let sandbox = client.open(&json!({"timeout": 50}));
        let source = "exec('async def give():\\n  import asyncio\\n  for n in range(4):\\n    await asyncio.sleep(0)\\n    yield \"item %d\" % n', globals()) or give()";
        let id = invoke(&mut client, sandbox, &[&call("eval", &text(source))], &json!({"items": 1}));
        for number in 0..4 {
            assert!(has(&item(&mut client, id), &format!("item {number}")));
            more(&client, id, 1);
        }
        value(&client.answer(id), false);
        client.answer(id);
        client.finish();
    }

    fn large_items_are_memfds_and_output_comes_between(_who) {
        let mut client = Client::new();
        let (sandboxes, _folder) = sandboxes(&mut client);
        for sandbox in sandboxes {
            let head = call("eval", &text("(print(n, flush=True) or bytes([n]) * 200_000 for n in range(3))"));
            let id = invoke(&mut client, sandbox, &[&head], &json!({"items": 8, "stream": true}));
            let (mut printed, mut items) = (Vec::new(), 0);
            loop {
                let heard = client.answer(id);
                match heard.kind {
                    Kind::Output => printed.extend(heard.body),
                    Kind::Item => {
                        assert!(heard.by_descriptor);
                        assert!(heard.parts()[1] == vec![items; 200_000]);
                        items += 1;
                    }
                    Kind::Value => {}
                    _ => break,
                }
            }
            assert_eq!((items, printed.as_slice()), (3, b"0\n1\n2\n".as_slice()));
        }
        client.finish();
    }

    fn generator_that_raises_or_is_cancelled_ends(_who) {
        let mut client = Client::new();
        let (sandboxes, _folder) = sandboxes(&mut client);
        for sandbox in sandboxes {
            let head = call("eval", &text("('item' if n else 1 / n for n in (1, 0))"));
            let id = invoke(&mut client, sandbox, &[&head], &json!({"items": 9, "early": true}));
            assert!(has(&item(&mut client, id), "item"));
            let document = client.answer(id).document();
            assert_eq!((&document["status"], &document["exception"]["type"]), (&json!("raised"), &json!("ZeroDivisionError")));
            let head = call("eval", &text("iter('x' for _ in iter(int, 1))"));
            let id = invoke(&mut client, sandbox, &[&head], &json!({"items": 1}));
            assert!(has(&item(&mut client, id), "x"));
            client.say(Kind::Cancel, id, &json!({}), &[]);
            assert_eq!(client.answer(id).document()["status"], "cancelled");
            // For a job that is over it is nothing.
            more(&client, id, 1);
        }
        client.finish();
    }

    fn guests_words_are_taken_only_as_agreed(_who) {
        let mut client = Client::new();
        let (sandboxes, _folder) = sandboxes(&mut client);
        let setup = "import os, json, socket, struct, fcntl\nvoice = socket.socket(fileno=3)\n\
            def memory(size=100_000, seals=15, fill=True):\n    fd = os.memfd_create('x', os.MFD_ALLOW_SEALING)\n    \
            os.write(fd, b'x' * (size if fill else 1))\n    os.ftruncate(fd, size)\n    \
            fcntl.fcntl(fd, 1033, seals)\n    return fd\n\
            def say(fds, size=100_000, kind=1, flags=1, parts=None):\n    \
            head = json.dumps({'encoding': 'belljar', 'parts': parts or [size]}).encode()\n    \
            body = b'' if flags else b'y' * size\n    \
            socket.send_fds(voice, [struct.pack('<BBBBIQ', kind, 1, flags, 0, len(head), size) + head + body], fds)\n";
        for sandbox in sandboxes {
            let mut ends = |words: &str| {
                let source = format!("{setup}{words}\nos._exit(0)");
                let id = start(&mut client, sandbox, "evaluate", &[source.as_bytes()], &json!({"items": 1}));
                let mut kinds = Vec::new();
                loop {
                    let heard = client.answer(id);
                    if heard.kind == Kind::Outcome {
                        return (kinds, heard.document()["status"].clone());
                    }
                    kinds.push(heard.kind);
                }
            };
            let taken = |kinds: &[Kind]| (kinds.to_vec(), json!("returned"));
            assert_eq!(ends("say([memory()])"), taken(&[Kind::Value]), "one that is as it must be");
            assert_eq!(ends("say([], size=5, flags=0)"), taken(&[Kind::Value]));
            assert_eq!(ends("say([memory()], kind=16)\nsay([memory()])"), taken(&[Kind::Item, Kind::Value]));
            let lost = (vec![], json!("exited"));
            for words in [
                "say([memory(seals=14)])",
                "say([memory(seals=7)])",
                "say([memory(seals=31)])",
                "say([memory(99_999)])",
                "say([memory(100_001)])",
                "say([memory(fill=False)])",
                "say([os.pipe()[0]])",
                "say([os.open('/tmp/x', os.O_RDWR | os.O_CREAT)])",
                "say([memory(), memory()])",
                "say([])",
                "say([memory()], parts=[99_999])",
                "say([memory()], parts=[1] * 70_000)",
                "say([memory()], kind=2)",
                "say([], size=100_000, flags=0)",
                "say([], size=1 << 31)",
                "voice.send(struct.pack('<BBBBIQ', 1, 1, 0, 0, 4, 0) + b'null'[:2] + b'[]')",
            ] {
                assert_eq!(ends(words), lost, "{words}");
            }
            let (kinds, status) = ends("say([memory()], kind=16)\nsay([memory()], kind=16)\nsay([memory()])");
            assert_eq!((kinds, status), (vec![Kind::Item], json!("exited")), "the second has no leave");
        }
        client.finish();
    }

    fn descriptor_that_lingers_does_not_keep_a_job_alive(_who) {
        // To close such a socket takes until its peer reads, or ten minutes.
        let source = "import socket, struct, time\nserver = socket.create_server(('127.0.0.1', 0))\n\
            near = socket.create_connection(server.getsockname())\nfar, _ = server.accept()\nnear.setblocking(False)\n\
            try:\n    while True:\n        near.send(bytes(1 << 16))\nexcept BlockingIOError:\n    pass\n\
            near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 600))\n\
            socket.send_fds(socket.socket(fileno=3), [b'x' * COUNT], [near.fileno()])\nnear.close()\n\
            print('sent', flush=True)\ntime.sleep(600)";
        let mut client = Client::new();
        let folder = tempfile::tempdir().expect("a folder");
        for workdir in [Value::Null, json!({"source": folder.path(), "mode": "write"})] {
            let sandbox = client.open(&json!({"timeout": 2, "network": "loopback", "workdir": workdir}));
            // Less than the prefix of a frame, and one that is none.
            for count in ["1", "16"] {
                let since = Instant::now();
                let id = client.code(sandbox, &source.replace("COUNT", count), &json!({}));
                let heard = client.answer(id);
                assert_eq!((&heard.document()["status"], heard.stdout()), (&json!("timed_out"), "sent\n".into()));
                assert!(since.elapsed() < Duration::from_secs(40), "{:?}", since.elapsed());
            }
        }
        client.finish();
    }

    fn leave_that_means_nothing_ends_the_connection(_who) {
        for wrong in [json!({"count": 0}), json!({"count": 5000}), json!({}), Value::Null] {
            let mut client = Client::new();
            let sandbox = client.open(&json!({}));
            let id = client.code(sandbox, "import time; time.sleep(60)", &json!({}));
            client.say(Kind::More, id, &wrong, &[]);
            assert_eq!(client.last_error()["code"], "protocol");
        }
    }
}
