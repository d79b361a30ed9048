//! Source files of the client's own that come with a sandbox.

use belljar::agent::Kind;
use serde_json::{Value, json};

use crate::client::{Client, Heard};

/// Opens a sandbox with these files, and more in its header.
fn open(client: &mut Client, files: &[(&str, &[u8])], more: &Value) -> (u64, Heard) {
    let names: String = files.iter().map(|(name, _)| format!("{name}\0")).collect();
    let mut parts = vec![names.as_bytes()];
    parts.extend(files.iter().map(|(_, content)| *content));
    let mut header = json!({"parts": parts.iter().map(|part| part.len()).collect::<Vec<_>>()});
    for (key, value) in more.as_object().into_iter().flatten() {
        header[key] = value.clone();
    }
    let id = client.id();
    client.say(Kind::Open, id, &header, &parts);
    let opened = client.answer(id);
    (id, opened)
}

/// What a program prints, and why it did not run warm.
fn printed(client: &mut Client, sandbox: u64, source: &str) -> (String, Value) {
    let job = client.code(sandbox, source, &json!({}));
    let answer = client.answer(job);
    (answer.stdout(), answer.document()["cold"].clone())
}

const PROBE: &str = "
import sys
was = 'mine' in sys.modules
import mine, os
print(was, mine.VALUE, mine.__file__, sys.path[0])
for path, mode in (('/own/mine.py', 'w'), ('/own/new', 'w')):
    try:
        open(path, mode)
    except OSError as error:
        print(error.errno)
print(sorted(os.listdir('/own')))
";

both! {
    fn they_are_there_first_and_read_only_cold_and_warm(_who) {
        let mut client = Client::new();
        let large = vec![b'#'; 200_000];
        let files: [(&str, &[u8]); 3] = [("mine.py", b"VALUE = 7"), ("pack/__init__.py", b""), ("pack/data.bin", &large)];
        let (sandbox, opened) = open(&mut client, &files, &json!({"own": ["mine"]}));
        assert_eq!(opened.kind, Kind::Opened, "{opened:?}");
        let (cold, reason) = printed(&mut client, sandbox, PROBE);
        assert!(reason.is_string(), "the first one is cold");
        let expected = |was: &str| format!("{was} 7 /own/mine.py /own\n30\n30\n['mine.py', 'pack']\n");
        assert_eq!(cold, expected("False"));
        let warm = client.id();
        client.say(Kind::Warm, warm, &json!({"sandbox": sandbox, "workers": 1}), &[]);
        assert_eq!(client.answer(warm).kind, Kind::Warmed);
        let (told, reason) = printed(&mut client, sandbox, PROBE);
        assert_eq!((told, reason), (expected("True"), Value::Null));
        let (size, _) = printed(&mut client, sandbox, "import os; print(os.path.getsize('/own/pack/data.bin'))");
        assert_eq!(size, "200000\n");
        client.finish();
    }

    // Nobody asks for files by a name or a key: what one sandbox shows is what came with it.
    fn a_sandbox_shows_the_files_that_came_with_it_and_no_others(_who) {
        let mut client = Client::new();
        let (one, _) = open(&mut client, &[("mine.py", b"VALUE = 1")], &json!({}));
        let (two, _) = open(&mut client, &[("mine.py", b"VALUE = 2")], &json!({}));
        let plain = client.open(&json!({}));
        for _ in 0..3 {
            let source = "import mine; print(mine.VALUE)";
            assert_eq!(printed(&mut client, one, source).0, "1\n");
            assert_eq!(printed(&mut client, two, source).0, "2\n");
            assert_eq!(printed(&mut client, plain, "import os; print(os.path.exists('/own'))").0, "False\n");
        }
        client.finish();
    }

    fn what_is_no_tree_is_refused(_who) {
        let mut client = Client::new();
        for name in ["../mine.py", "/etc/passwd", "a/../b", "", "a//b"] {
            let (_, refused) = open(&mut client, &[(name, b"")], &json!({}));
            assert_eq!(refused.header["code"], "request", "{name}: {refused:?}");
        }
        // A file that is a folder, too, cannot be built; nothing runs.
        let (sandbox, opened) = open(&mut client, &[("a", b""), ("a/b", b"")], &json!({}));
        assert_eq!(opened.kind, Kind::Opened);
        let job = client.code(sandbox, "print('ran')", &json!({}));
        assert_eq!(client.answer(job).header["code"], "setup");
        for (parts, body) in [(json!([3]), &[b"a\0".as_slice()] as &[&[u8]]), (json!([2, 9]), &[b"a\0", b"x"]), (json!([2]), &[b"a\0"])] {
            let id = client.id();
            client.say(Kind::Open, id, &json!({ "parts": parts }), body);
            assert_eq!(client.answer(id).kind, Kind::Error, "{parts}");
        }
        // A mount in the place where they would be shown.
        let id = client.id();
        client.say(Kind::Open, id, &json!({"policy": {"mount": ["/etc:/own/etc"]}}), &[]);
        assert_eq!(client.answer(id).header["code"], "policy");
        // Control: the connection lives on.
        let (sandbox, _) = open(&mut client, &[("mine.py", b"VALUE = 1")], &json!({}));
        assert_eq!(printed(&mut client, sandbox, "import mine; print(mine.VALUE)").0, "1\n");
        client.finish();
    }
}
