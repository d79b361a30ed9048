//! Jobs: every kind, many at once, answers in any order, output while they run.

use std::collections::BTreeMap;
use std::time::Duration;

use belljar::agent::Kind;
use serde_json::{Value, json};

use crate::client::Client;

both! {
    fn sixty_four_in_flight_are_answered_with_their_own_values(_who) {
        let mut client = Client::with_jobs(16);
        let first = client.open(&json!({"timeout": 50}));
        let second = client.open(&json!({"timeout": 50, "env": {"WHICH": "second"}}));
        let function = "def f(n):\n    import os\n    return [n * n, os.environ.get('WHICH')]";
        let mut wanted = BTreeMap::new();
        for number in 0..64u64 {
            let (sandbox, which) = if number % 2 == 0 { (first, Value::Null) } else { (second, json!("second")) };
            let id = client.call(sandbox, function, &json!(number), &json!({}));
            wanted.insert(id, json!([number * number, which]));
        }
        for _ in 0..64 {
            let heard = client.hear().expect("an answer");
            assert_eq!(Some(heard.value()), wanted.remove(&heard.id), "{heard:?}");
        }
        assert!(wanted.is_empty());
        client.finish();
    }

    fn files_that_a_run_left_come_with_its_outcome(_who) {
        let mut client = Client::new();
        let sandbox = client.open(&json!({"timeout": 50}));
        let source = "import os\nos.mkdir('d')\nopen('d/out', 'w').write('x' * 100_000)\nopen('in', 'a').write('+')\nos.symlink('/etc/passwd', 'link')";
        let header = json!({"sandbox": sandbox, "kind": "code", "files": ["in", "same"], "collect": {"send": 200_000}, "parts": [source.len(), 1, 1]});
        let id = client.id();
        client.say(Kind::Job, id, &header, &[source.as_bytes(), b"1", b"2"]);
        let heard = client.answer(id);
        assert_eq!(heard.document()["files"], json!(["d/out", "in"]), "{}", heard.document());
        assert_eq!((heard.parts()[6].len(), heard.parts()[7]), (100_000, b"1+".as_slice()));
        let id = client.code(sandbox, "open('a', 'w').write('x' * 100)", &json!({"collect": {"send": 99}}));
        let document = client.answer(id).document();
        assert_eq!((&document["files"], document["changes"]["skipped"].get("a").is_some()), (&json!([]), true));
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("new");
        let id = client.code(sandbox, "open('a', 'w').write('copied')", &json!({"collect": {"folder": target}}));
        assert_eq!(client.answer(id).document()["status"], "returned");
        assert_eq!(std::fs::read_to_string(target.join("a")).expect("a copy"), "copied");
        client.finish();
    }

    fn what_no_jar_can_hold_is_refused_before_it_runs(_who) {
        let mut client = Client::new();
        let sandbox = client.open(&json!({"memory": "16M", "disk": "64K"}));
        let mut say = |kind: &str, more: Value, parts: &[&[u8]]| {
            let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
            let mut header = json!({"sandbox": sandbox, "kind": kind, "parts": lengths});
            header.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
            let id = client.id();
            client.say(Kind::Job, id, &header, parts);
            let heard = client.answer(id);
            (heard.kind == Kind::Error).then(|| heard.header["message"].as_str().unwrap_or_default().to_owned())
        };
        let (large, file) = (vec![b'x'; 17 << 20], vec![b'x'; 70_000]);
        let told = Some("cannot send the arguments: 17 MiB, and the jar has 16 MiB of memory".to_owned());
        assert_eq!(say("invoke", json!({}), &[&large]), told);
        assert_eq!(say("evaluate", json!({}), &[b"1", &large]), told);
        let told = Some("cannot send the job's files: 68.4 KiB, and the jar has 64 KiB of disk".to_owned());
        assert_eq!(say("code", json!({"files": ["a"]}), &[b"1", &file]), told);
        // Controls: what is used where it lies, and what fits.
        assert_eq!(say("invoke", json!({}), &[b"no value", &large]), None);
        assert_eq!(say("code", json!({"files": ["a"]}), &[b"1", &file[..9]]), None);
        client.finish();
    }

    fn value_comes_before_its_jar_is_empty(_who) {
        let mut client = Client::new();
        let sandbox = client.open(&json!({"timeout": 50}));
        // A thread that the job leaves would keep a plain interpreter for a minute.
        let function = "def f(n):\n    import threading, time\n    print('printed')\n    threading.Thread(target=time.sleep, args=(60,)).start()\n    return {'n': n}";
        for number in 0..3 {
            let id = client.call(sandbox, function, &json!(number), &json!({"early": true}));
            let heard = client.answer(id);
            assert_eq!(heard.kind, Kind::Value, "{:?}", heard.document());
            let parts = heard.parts();
            assert_eq!(serde_json::from_slice::<Value>(parts[0]).expect("a value"), json!({"n": number}));
            assert_eq!(parts[1], b"printed\n");
            assert!(heard.header["seconds"].as_f64().is_some_and(|seconds| seconds < 20.0));
        }
        // What gives no value has an outcome.
        let id = client.call(sandbox, "lambda n: 1 / n", &json!(0), &json!({"early": true}));
        assert_eq!(client.answer(id).document()["exception"]["type"], "ZeroDivisionError");
        let id = client.code(sandbox, "print(1)", &json!({"early": true}));
        let heard = client.answer(id);
        assert_eq!((heard.stdout().as_str(), &heard.document()["cold"]), ("1\n", &Value::Null));
        client.finish();
    }

    fn slow_job_does_not_hold_up_a_fast_one(_who) {
        let mut client = Client::new();
        let sandbox = client.open(&json!({}));
        let slow = client.code(sandbox, "import time; time.sleep(2)", &json!({}));
        let fast = client.code(sandbox, "print('fast')", &json!({}));
        assert_eq!(client.hear().expect("an answer").id, fast);
        assert_eq!(client.hear().expect("an answer").id, slow);
        client.finish();
    }

    fn every_kind_of_program_runs(_who) {
        let mut client = Client::new();
        let sandbox = client.open(&json!({"timeout": 50}));
        let mut run = |header: Value, parts: &[&[u8]]| {
            let mut header = header;
            header["sandbox"] = json!(sandbox);
            header["parts"] = json!(parts.iter().map(|part| part.len()).collect::<Vec<_>>());
            let id = client.id();
            client.say(Kind::Job, id, &header, parts);
            client.answer(id)
        };
        let code = b"import sys, os; print(sys.argv, os.environ.get('A'), os.getcwd(), sys.stdin.read())";
        let heard = run(
            json!({"kind": "code", "args": ["x", [255, 65]], "env": {"A": "b"}, "cwd": "/tmp", "stdin": true}),
            &[code, b"input"],
        );
        assert_eq!(heard.stdout(), "['-c', 'x', '\\udcffA'] b /tmp input\n");
        let heard = run(json!({"kind": "stdin"}), &[b"import sys; print(sys.argv)"]);
        assert_eq!(heard.stdout(), "['-']\n");
        let heard = run(json!({"kind": "script", "name": "a.py", "args": ["1"]}), &[b"import sys; print(sys.argv)"]);
        assert_eq!(heard.stdout(), "['/script/a.py', '1']\n");
        let heard = run(json!({"kind": "module", "name": "calendar", "args": ["2000", "1"]}), &[]);
        assert!(heard.stdout().contains("January 2000"), "{heard:?}");
        let heard = run(json!({"kind": "path", "name": "/jar/in.py", "files": ["in.py"]}), &[b"print('path')"]);
        assert_eq!(heard.stdout(), "path\n");
        let heard = run(json!({"kind": "command", "name": "cat", "stdin": true, "args": ["-", "f/g"], "files": ["f/g"]}), &[b"1", b"2"]);
        assert_eq!(heard.stdout(), "12");
        let heard = run(json!({"kind": "call"}), &[b"lambda a, b=0: a + b", b"{\"args\": [1], \"kwargs\": {\"b\": 2}}"]);
        assert_eq!(heard.value(), json!(3));
        let heard = run(json!({"kind": "code"}), &[b"raise KeyError('k')"]);
        let document = heard.document();
        assert_eq!((&document["status"], &document["exception"]["type"]), (&json!("raised"), &json!("KeyError")));
        assert_eq!(document["isolation"]["tier"], "sealed");
        assert_eq!(document.get("stdout"), None, "it is a part of its own");
        let heard = run(json!({"kind": "command", "name": "no-such-program"}), &[]);
        assert_eq!((heard.kind, &heard.header["code"]), (Kind::Error, &json!("program")));
        client.finish();
    }

    fn output_comes_while_the_job_runs(_who) {
        let mut client = Client::new();
        let sandbox = client.open(&json!({"timeout": 50}));
        let source = "import sys, time\nprint('first', flush=True)\nprint('wrong', file=sys.stderr, flush=True)\ntime.sleep(60)";
        let id = client.code(sandbox, source, &json!({"stream": true}));
        let mut seen = BTreeMap::<String, Vec<u8>>::new();
        while seen.values().map(Vec::len).sum::<usize>() < 12 {
            let heard = client.answer(id);
            assert_eq!(heard.kind, Kind::Output, "{heard:?}");
            seen.entry(heard.header["stream"].as_str().unwrap().to_owned()).or_default().extend(&heard.body);
        }
        assert_eq!((seen["stdout"].as_slice(), seen["stderr"].as_slice()), (b"first\n".as_slice(), b"wrong\n".as_slice()));
        client.say(Kind::Cancel, id, &json!({}), &[]);
        let last = client.answer(id);
        assert_eq!(last.document()["status"], "cancelled");
        assert_eq!(last.stdout(), "first\n", "the outcome has it too");
        client.finish();
    }

    fn wrong_requests_are_answered_and_the_connection_goes_on(_who) {
        let mut client = Client::new();
        let refused = |client: &mut Client, kind: Kind, header: &Value, parts: &[&[u8]], code: &str| {
            let id = client.id();
            client.say(kind, id, header, parts);
            let heard = client.answer(id);
            assert_eq!((heard.kind, &heard.header["code"]), (Kind::Error, &json!(code)), "{header}: {heard:?}");
            heard.header
        };
        let error = refused(&mut client, Kind::Open, &json!({"policy": {"memroy": "1G"}}), &[], "policy");
        assert_eq!((&error["message"], &error["hint"]["caller"]), (&json!("unknown key `memroy`"), &json!(["did you mean `memory`?"])));
        refused(&mut client, Kind::Open, &json!({"policy": {"python": "/no/such"}}), &[], "interpreter");
        refused(&mut client, Kind::Open, &json!({"unknown": 1}), &[], "request");
        refused(&mut client, Kind::Open, &json!({}), &[b"body"], "request");
        refused(&mut client, Kind::Job, &json!({"sandbox": 77, "kind": "code", "parts": [1]}), &[b"1"], "unknown");
        refused(&mut client, Kind::Close, &json!({"sandbox": 77}), &[], "unknown");
        let sandbox = client.open(&json!({}));
        for (header, parts) in [
            (json!({"kind": "code", "parts": [1, 1]}), &[b"1".as_slice()][..]),
            (json!({"kind": "code", "parts": [1]}), &[b"12"]),
            (json!({"kind": "code", "parts": []}), &[]),
            (json!({"kind": "call", "parts": [1]}), &[b"1"]),
            (json!({"kind": "code", "parts": [1, 1]}), &[b"1", b"2"]),
            (json!({"kind": "teapot", "parts": []}), &[]),
            (json!({"kind": "module", "parts": []}), &[]),
            (json!({"kind": "call", "parts": [1, 1]}), &[b"\xff", b"1"]),
        ] {
            let mut header = header;
            header["sandbox"] = json!(sandbox);
            refused(&mut client, Kind::Job, &header, parts, "request");
        }
        let path = json!({"sandbox": sandbox, "kind": "code", "parts": [1], "env": {"PATH": "x"}});
        refused(&mut client, Kind::Job, &path, &[b"1"], "policy");
        let looser = json!({"sandbox": sandbox, "kind": "code", "parts": [1], "limits": {"timeout": 1e9}});
        refused(&mut client, Kind::Job, &looser, &[b"1"], "policy");
        let never = json!({"sandbox": sandbox, "kind": "code", "parts": [1], "limits": {"timeout": -1}});
        refused(&mut client, Kind::Job, &never, &[b"1"], "request");
        let id = client.code(sandbox, "print('still here')", &json!({}));
        assert_eq!(client.answer(id).stdout(), "still here\n");
        let id = client.id();
        client.say(Kind::Close, id, &json!({"sandbox": sandbox}), &[]);
        assert_eq!(client.answer(id).kind, Kind::Closed);
        let gone = json!({"sandbox": sandbox, "kind": "code", "parts": [1]});
        refused(&mut client, Kind::Job, &gone, &[b"1"], "unknown");
        client.finish();
    }

    fn limits_of_one_job_hold(_who) {
        let mut client = Client::new();
        let sandbox = client.open(&json!({"timeout": 50}));
        let id = client.code(sandbox, "while True: pass", &json!({"limits": {"timeout": 0.3}}));
        assert_eq!(client.answer(id).document()["status"], "timed_out");
        let id = client.code(sandbox, "print('x' * 10000)", &json!({"limits": {"output": 1000}}));
        assert_eq!(client.answer(id).document()["limit"], "output");
        let id = client.code(sandbox, "print('x' * 10000)", &json!({}));
        assert_eq!(client.answer(id).stdout().len(), 10_001, "the next one has its sandbox's");
        client.finish();
    }

    fn job_may_follow_its_sandbox_at_once(_who) {
        let mut client = Client::new();
        let (sandbox, id) = (client.id(), 99);
        client.say(Kind::Open, sandbox, &json!({"policy": {"timeout": 20}}), &[]);
        client.say(Kind::Job, id, &json!({"sandbox": sandbox, "kind": "code", "parts": [8]}), &[b"print(1)"]);
        assert_eq!(client.answer(id).stdout(), "1\n");
        let (bad, id) = (1000, 1001);
        client.say(Kind::Open, bad, &json!({"policy": {"venv": "/no/such/venv"}}), &[]);
        client.say(Kind::Job, id, &json!({"sandbox": bad, "kind": "code", "parts": [8]}), &[b"print(1)"]);
        assert_eq!(client.answer(bad).kind, Kind::Error);
        assert_eq!(client.answer(id).kind, Kind::Error);
        client.finish();
    }

    fn agent_tells_its_figures(_who) {
        let mut client = Client::with_jobs(1);
        let sandbox = client.open(&json!({}));
        let running = client.code(sandbox, "import time; time.sleep(60)", &json!({}));
        client.code(sandbox, "pass", &json!({}));
        std::thread::sleep(Duration::from_millis(200));
        let id = client.id();
        client.say(Kind::Stats, id, &json!({}), &[]);
        let figures = client.answer(id).header;
        assert_eq!((&figures["running"], &figures["waiting"], &figures["sandboxes"]), (&json!(1), &json!(1), &json!(1)));
        client.say(Kind::Cancel, running, &json!({}), &[]);
        client.finish();
    }
}
