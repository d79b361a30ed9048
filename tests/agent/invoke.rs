//! Callables and values that only client and guest read, small and large, on warm workers and cold.

use belljar::agent::Kind;
use serde_json::{Value, json};

use crate::client::{Client, Heard};

/// A callable and its one argument, as docs/reference/values.md has them: written here, because only Python writes pickles.
pub fn call(function: &str, argument: &[u8]) -> Vec<u8> {
    let pickle = [b"(cbuiltins\n", function.as_bytes(), b"\n(", argument, b"t}t."].concat();
    head(&pickle, argument == BUFFER)
}

fn head(pickle: &[u8], has_buffer: bool) -> Vec<u8> {
    let mut head = vec![1, 0, 1];
    head.extend((pickle.len() as u32).to_le_bytes());
    head.extend(u32::from(has_buffer).to_le_bytes());
    head.extend(pickle);
    head
}

/// The first buffer.
const BUFFER: &[u8] = b"\x97";

/// Text as an argument.
pub fn text(text: &str) -> Vec<u8> {
    format!("V{}\n", text.replace('\\', "\\u005c").replace('\n', "\\u000a")).into_bytes()
}

/// Starts a call of what is encoded.
pub fn invoke(client: &mut Client, sandbox: u64, parts: &[&[u8]], more: &Value) -> u64 {
    start(client, sandbox, "invoke", parts, more)
}

/// Starts a job whose parts are the client's own.
pub fn start(client: &mut Client, sandbox: u64, kind: &str, parts: &[&[u8]], more: &Value) -> u64 {
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let mut header = json!({"sandbox": sandbox, "kind": kind, "parts": lengths});
    for (key, value) in more.as_object().into_iter().flatten() {
        header[key] = value.clone();
    }
    let id = client.id();
    client.say(Kind::Job, id, &header, parts);
    id
}

/// The parts of a value.
#[track_caller]
pub fn value(heard: &Heard, last: bool) -> Vec<Vec<u8>> {
    assert_eq!(heard.kind, Kind::Value, "{heard:?}");
    assert_eq!(
        (&heard.header["encoding"], &heard.header["last"]),
        (&json!("belljar"), &json!(last))
    );
    heard.parts().into_iter().map(<[u8]>::to_vec).collect()
}

/// A sandbox whose jobs run on warm workers, and one whose jobs cannot.
pub fn sandboxes(client: &mut Client) -> ([u64; 2], tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let warm = client.open(&json!({"timeout": 50}));
    let cold = client.open(&json!({"timeout": 50, "workdir": {"source": folder.path(), "mode": "write"}}));
    ([warm, cold], folder)
}

/// Whether there is this text in it.
pub fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

both! {
    fn small_values_come_as_they_were_sent(_who) {
        let mut client = Client::new();
        let (sandboxes, _folder) = sandboxes(&mut client);
        for sandbox in sandboxes {
            let id = invoke(&mut client, sandbox, &[&call("eval", &text("print('printed') or 'returned'"))], &json!({}));
            let parts = value(&client.answer(id), false);
            assert!(has(&parts[0], "returned"), "{parts:?}");
            let outcome = client.answer(id);
            assert_eq!((outcome.document()["status"].clone(), outcome.stdout()), (json!("returned"), "printed\n".into()));
            assert_eq!(outcome.parts()[1], b"", "the value has come already");
        }
        client.finish();
    }

    fn early_value_comes_after_its_output(_who) {
        let mut client = Client::new();
        let sandbox = client.open(&json!({"timeout": 50}));
        for stream in [false, true] {
            let head = call("eval", &text("print('printed') or 'returned'"));
            let id = invoke(&mut client, sandbox, &[&head], &json!({"early": true, "stream": stream}));
            let output = client.answer(id);
            assert_eq!((output.kind, output.body.as_slice()), (Kind::Output, b"printed\n".as_slice()));
            assert!(has(&value(&client.answer(id), true)[0], "returned"));
        }
        client.finish();
    }

    fn large_values_are_memfds_all_the_way(_who) {
        let mut client = Client::new();
        let input: Vec<u8> = (0..3 << 20).map(|number: u32| (number % 251) as u8).collect();
        let (sandboxes, _folder) = sandboxes(&mut client);
        for sandbox in sandboxes {
            let id = invoke(&mut client, sandbox, &[&call("bytes", BUFFER), &input], &json!({}));
            let heard = client.answer(id);
            assert!(heard.by_descriptor);
            assert!(value(&heard, false)[1] == input);
            assert_eq!(client.answer(id).document()["status"], "returned");
        }
        client.finish();
    }

    fn input_and_files_may_be_in_the_same_body(_who) {
        let mut client = Client::new();
        let sandbox = client.open(&json!({"timeout": 50}));
        let head = call("eval", &text("open('a.txt').read() + input()"));
        let large = [b'x'; 70_000];
        for (fill, content) in [(b"".as_slice(), b"small ".as_slice()), (&large, b"large ")] {
            let more = json!({"stdin": true, "files": ["a.txt"], "early": true});
            let id = invoke(&mut client, sandbox, &[&head, fill, b"input\n", content], &more);
            let found = value(&client.answer(id), true);
            assert!(has(&found[0], &format!("{}input", String::from_utf8_lossy(content))), "{found:?}");
        }
        let id = invoke(&mut client, sandbox, &[&head], &json!({"stdin": true}));
        assert_eq!(client.answer(id).header["code"], "request", "nothing is left for the call");
        client.finish();
    }

    fn modules_of_the_host_can_be_imported_last(_who) {
        let mut client = Client::new();
        let folder = tempfile::tempdir().expect("a folder");
        let work = tempfile::tempdir().expect("a working directory");
        let package = folder.path().join("of_host");
        std::fs::create_dir(&package).expect("a package");
        std::fs::write(package.join("__init__.py"), "WORD = 'of a package'").expect("its file");
        let single = folder.path().join("single.py");
        std::fs::write(&single, "WORD = 'of a file'").expect("a module");
        let modules = json!([package, single]);
        let source = "import sys, of_host, single\nprint(sys.path[-1], of_host.WORD, single.WORD, of_host.__file__)";
        for (preload, workdir) in [(json!([]), Value::Null), (json!(["of_host"]), Value::Null), (json!([]), json!({"source": work.path(), "mode": "write"}))] {
            let id = client.id();
            let policy = json!({"timeout": 50, "workdir": workdir});
            client.say(Kind::Open, id, &json!({"policy": policy, "modules": modules, "preload": preload}), &[]);
            assert_eq!(client.answer(id).kind, Kind::Opened);
            let job = client.code(id, source, &json!({}));
            let heard = client.answer(job);
            assert_eq!(heard.stdout(), "/modules of a package of a file /modules/of_host/__init__.py\n", "{}", heard.document());
        }
        let id = client.id();
        client.say(Kind::Open, id, &json!({"policy": {}, "modules": ["/no/such/module"]}), &[]);
        assert_eq!(client.answer(id).kind, Kind::Error);
        client.finish();
    }

    fn evaluated_code_gives_its_last_expression(_who) {
        let mut client = Client::new();
        let globals = head(b"}(Vgiven\nVtext\nu.", false);
        let (sandboxes, _folder) = sandboxes(&mut client);
        for sandbox in sandboxes {
            let mut run = |source: &str| {
                let more = json!({"name": "<cell>"});
                let id = start(&mut client, sandbox, "evaluate", &[source.as_bytes(), &globals], &more);
                let first = client.answer(id);
                if first.kind == Kind::Value {
                    (Some(value(&first, false).remove(0)), client.answer(id))
                } else {
                    (None, first)
                }
            };
            let (found, outcome) = run("import atexit\natexit.register(print, 'at exit')\nx = given + ' and more'\nx");
            assert!(has(&found.unwrap(), "text and more"));
            assert_eq!(outcome.stdout(), "at exit\n");
            let (found, outcome) = run("x = given");
            assert_eq!((found, outcome.document()["status"].clone()), (None, json!("returned")));
            let (found, outcome) = run("object()");
            assert_eq!((found, outcome.document()["status"].clone()), (None, json!("returned")));
            assert_eq!(outcome.document()["refused"]["type"], "object");
            let (_, outcome) = run("def f():\n    return 1 / 0\nf()");
            let document = outcome.document();
            assert_eq!((&document["status"], &document["exception"]["line"]), (&json!("raised"), &json!(2)));
            assert_eq!(document["exception"]["frames"][0]["file"], "<cell>");
            let (_, outcome) = run("raise SystemExit(3)");
            assert_eq!(outcome.document()["exit_code"], 3);
        }
        client.finish();
    }
}
