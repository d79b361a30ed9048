//! CP-01 to CP-13: whatever the guest writes to the control socket, the host gives a typed answer, in time, from its own facts.

use std::time::Duration;

use belljar::Outcome;
use belljar::outcome::Status::{self, Exited, Raised, Returned, Signalled, TimedOut};

use crate::glass::{Either, code, expect, jar, run, run_with, stdout, told};

/// Helpers that the forging guests share.
const FORGE: &str = "\
import os, struct, sys, signal, time
def frame(kind, header=b'{}', body=b'', version=1):
    return struct.pack('<BBHIQ', kind, version, 0, len(header), len(body)) + header + body
def prefix(kind, header, body, version=1, zero=0):
    return struct.pack('<BBHIQ', kind, version, zero, header & 0xffffffff, body & 0xffffffffffffffff)
def send(data):
    while data: data = data[os.write(3, data):]
";

fn forge(source: &str) -> Outcome {
    run(&format!("{FORGE}{source}"))
}

#[track_caller]
fn ends(source: &str, status: Status) -> Outcome {
    let outcome = forge(source);
    assert_eq!(outcome.status, status, "{source}\n{}", told(&outcome));
    outcome
}

both_ways! {
    fn forged_frame_does_not_outrank_facts(_who) {
        // The first frame is the guest's last word; exit status, signals and the clock are not its to tell.
        ends("send(frame(1)); os._exit(0)", Returned);
        ends("send(frame(1)); os._exit(3)", Exited);
        ends("send(frame(1)); sys.exit(3)", Exited);
        ends("send(frame(1)); 1/0", Exited);
        ends("send(frame(1)); os.kill(os.getpid(), 9)", Signalled);
        ends("send(frame(2)); os._exit(0)", Exited);
        ends("send(frame(3, b'{\"code\": 0}')); os._exit(9)", Exited);
        let late = run_with(&format!("{FORGE}send(frame(1)); time.sleep(60)"), |policy| policy.limits.timeout = Some(Duration::from_secs(2)));
        expect(&late, TimedOut);
        let memory = run_with(&format!("{FORGE}send(frame(1, b'{{}}', b'1'))\nkeep = []\nwhile True: keep.append(bytearray(1 << 20))"), |policy| policy.limits.memory = 96 << 20);
        assert_ne!(memory.status, Returned, "{}", told(&memory));
    }

    fn first_frame_is_the_only_one(_who) {
        let outcome = ends("send(frame(1, b'{\"encoding\": \"json\"}', b'\"mine\"')); send(frame(1, b'{}', b'\"second\"'))", Returned);
        assert_eq!(outcome.value, Some(serde_json::json!("mine")));
        ends("send(frame(3) + frame(1) + frame(2))", Exited);
        ends("send(frame(2) * 10_000)", Exited);
        // The real word is then the second one, and not read.
        let outcome = ends("send(frame(2, b'{\"type_name\": \"Forged\", \"message\": \"m\", \"frames\": [], \"traceback\": \"\"}')); 1/0", Raised);
        assert_eq!(outcome.exception.expect("an exception").type_name, "Forged", "its own exception is its own to invent");
    }

    fn hostile_lengths_are_refused_before_anything_is_kept(_who) {
        for lengths in ["0, 0", "0, 1 << 31", "0, (1 << 32) - 1", "0, 1 << 63", "0, (1 << 64) - 1", "1 << 31, 0", "(1 << 32) - 1, 0", "(1 << 20) + 1, 0", "0, (64 << 20) + 1"] {
            let outcome = forge(&format!("send(prefix(1, {lengths}))\nprint('lived')"));
            // After such a frame the guest has had its word; its exit code is all there is. (0, 0) is a whole frame.
            let wanted = if lengths == "0, 0" { Returned } else { Exited };
            assert_eq!((outcome.status, outcome.exit_code, stdout(&outcome).as_str()), (wanted, Some(0), "lived\n"), "{lengths}: {}", told(&outcome));
        }
        for bad in ["prefix(9, 0, 0)", "prefix(0, 0, 0)", "prefix(255, 0, 0)", "prefix(1, 0, 0, version=2)", "prefix(1, 0, 0, zero=1)", "b'GET / HTTP/1.1\\r\\n\\r\\n'", "bytes(16)", "b'\\xff' * 4096"] {
            let outcome = forge(&format!("send({bad})\nprint('lived')"));
            assert_eq!((outcome.status, outcome.exit_code), (Exited, Some(0)), "{bad}: {}", told(&outcome));
        }
    }

    fn frames_in_pieces_and_halves(_who) {
        // A byte at a time, a header that never comes whole, a body that stalls.
        ends("for byte in frame(1, b'{\"encoding\": \"json\"}', b'[1]'): send(bytes([byte])); time.sleep(0.002)\nos._exit(0)", Returned);
        ends("send(frame(1)[:7])", Exited);
        ends("send(prefix(1, 100, 0) + b'x' * 50)", Exited);
        let stalled = run_with(&format!("{FORGE}send(prefix(1, 0, 64 << 20)); time.sleep(60)"), |policy| policy.limits.timeout = Some(Duration::from_secs(2)));
        expect(&stalled, TimedOut);
        assert!(stalled.usage.wall_seconds < 3.0);
    }

    fn malformed_exceptions_are_survived(_who) {
        for header in [
            "b''", "b'{'", "b'null'", "b'[]'", "b'\\xff\\xfe'", "b'{}'", "b'[' * 100_000", "b'{\"a\":' * 50_000",
            "b'{\"type_name\": 1, \"message\": [], \"frames\": {}, \"traceback\": null}'",
            "b'{\"type_name\": \"X\", \"type_name\": \"Y\", \"message\": \"\", \"frames\": [], \"traceback\": \"\"}'",
            "b'{\"type_name\": \"X\", \"message\": \"\", \"frames\": [], \"traceback\": \"\", \"line\": 99999999999999999999999}'",
            "b'{\"type_name\": \"X\", \"message\": \"\", \"frames\": [], \"traceback\": \"\", \"line\": NaN}'",
            "b'{\"type_name\": \"X\", \"message\": \"\\\\ud800\", \"frames\": [], \"traceback\": \"\"}'",
            "b'{\"type_name\": \"X\", \"message\": \"\", \"frames\": [1, null, {}], \"traceback\": \"\", \"extra\": {\"deep\": [[[]]]}}'",
            "b'x' * (1 << 20)",
        ] {
            let outcome = forge(&format!("send(frame(2, {header}))\nos._exit(1)"));
            assert_eq!((outcome.status, outcome.exit_code), (Raised, Some(1)), "{header}: {}", told(&outcome));
        }
    }

    fn malformed_values_are_no_values(_who) {
        for body in ["b'{'", "b'\\xff'", "b'[' * 1_000_000", "b'NaN'", "bytes(1 << 20)", "__import__('pickle').dumps(print)", "b'1' * 1_000_000"] {
            let outcome = forge(&format!("send(frame(1, b'{{\"encoding\": \"json\"}}', {body}))\nos._exit(0)"));
            expect(&outcome, Returned);
            assert!(!matches!(outcome.value, Some(serde_json::Value::Object(_) | serde_json::Value::Array(_))), "{body}");
        }
        // A caller that asked for a value gets an error, not a panic and not a wrong value.
        let wrong = jar(|_| {}).call::<Vec<i64>>("lambda: 'text'", ()).expect_err("no list");
        assert!(matches!(wrong, belljar::Error::Call { .. }), "{wrong}");
        let nested = jar(|_| {}).call::<serde_json::Value>("def f():\n    x = []\n    for _ in range(100_000): x = [x]\n    return x", ());
        assert!(nested.is_err(), "a nesting of 100,000 is refused on one side or the other");
    }

    fn huge_and_odd_messages_are_bounded(_who) {
        let huge = run_with("raise ValueError('x' * (200 << 20))", |policy| policy.limits.memory = 2 << 30);
        expect(&huge, Raised);
        let error = huge.exception.expect("an exception");
        assert!(error.message.len() < 1 << 20 && error.traceback.len() < 1 << 20, "{}", error.message.len());
        let ansi = run("raise ValueError('\\x1b[2J\\x1b]0;title\\x07red')");
        assert!(ansi.exception.expect("an exception").message.contains("red"));
        for source in [
            "class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E",
            "class E(Exception):\n    def __str__(self):\n        while True: raise self\nraise E",
            "class E(Exception):\n    def __repr__(self): return 7\nraise E(E())",
            "E = type('E' * 100_000, (Exception,), {}); raise E",
            "E = type('a\\x00b', (Exception,), {'__module__': 7}); raise E('\\ud800')",
            "def f(): f()\nf()",
            "e = ValueError(); e.__cause__ = e; raise e",
            "import sys\nsys.setrecursionlimit(50)\ndef f(): f()\nf()",
        ] {
            let outcome = run(source);
            expect(&outcome, Raised);
            assert!(outcome.exception.is_some(), "{source}: {}", told(&outcome));
        }
    }

    fn control_socket_can_be_closed_replaced_or_flooded(_who) {
        ends("os.close(3)", Exited);
        ends("os.close(3); 1/0", Exited);
        // A file that takes the number over does not get the frame.
        let outcome = ends("os.close(3); fd = os.open('file', os.O_RDWR | os.O_CREAT); assert fd == 3", Exited);
        assert_eq!(outcome.changes.created, ["file"]);
        let size = forge("import atexit\nos.close(3); fd = os.open('file', os.O_RDWR | os.O_CREAT)\natexit.register(lambda: print(os.fstat(3).st_size))");
        assert_eq!(stdout(&size), "0\n");
        ends("os.dup2(1, 3)", Exited);
        // Nobody reads on after the word: the guest waits or fails, the host does not.
        let flood = run_with(&format!("{FORGE}while True: send(frame(1))"), |policy| policy.limits.timeout = Some(Duration::from_secs(2)));
        expect(&flood, TimedOut);
        let nonblocking = ends("send(frame(1)); os.set_blocking(3, False)\ntry:\n    while True: os.write(3, bytes(1 << 16))\nexcept BlockingIOError: pass\nos._exit(0)", Returned);
        assert!(nonblocking.usage.wall_seconds < 5.0);
    }

    fn descriptors_that_the_guest_sends_are_not_kept(_who) {
        let source = "\
import socket, array
s = socket.socket(fileno=os.dup(3))
for _ in range(200):
    try: s.sendmsg([frame(1)[:1]], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0, 1, 2]))], socket.MSG_DONTWAIT)
    except BlockingIOError: break
os._exit(4)";
        ends(source, Exited);
    }

    fn output_that_looks_like_a_frame_is_output(_who) {
        let outcome = ends("os.write(1, frame(3, b'{\"code\": 0}')); os.write(2, frame(1)); 1/0", Raised);
        assert_eq!(outcome.stdout.head.len(), 16 + 11);
        assert_eq!(outcome.exit_code, Some(1));
    }

    fn patched_interpreter_hurts_only_itself(_who) {
        // The job replaces what a report could use, then raises: the exception still arrives.
        for patch in [
            "import json; json.dumps = json.loads = None",
            "import builtins; builtins.len = builtins.str = builtins.repr = builtins.isinstance = builtins.type = None",
            "import sys; sys.modules.clear()",
            "import sys; sys.stdout = sys.stderr = None",
            "import os; os.write = os.getpid = os.fstat = None",
            "import posix; posix.write = posix.open = posix.fstat = None",
            "import sys; sys.excepthook = None",
            "import sys; sys.excepthook = lambda *a: None",
            "import traceback; traceback.print_exception = traceback.format_exception = None",
            "import threading; threading._shutdown = None",
            "import sys; del sys.excepthook, sys.stderr",
            "import gc, sys; gc.disable(); sys.meta_path.clear(); sys.path.clear(); sys.path_hooks.clear()",
            "import builtins; del builtins.BaseException, builtins.Exception",
            "__builtins__.__dict__.clear() if not isinstance(__builtins__, dict) else __builtins__.clear()",
            "import sys; sys.settrace(lambda *a: 1/0)",
            "import _io, builtins; builtins.open = None",
            "globals().clear()",
        ] {
            let outcome = jar(|_| {}).either(code(&format!("E = ValueError\n{patch}\nraise ValueError('mine') if 'ValueError' in globals() else None\n"))).expect("an outcome");
            assert!(matches!(outcome.status, Raised | Exited | Returned), "{patch}: {}", told(&outcome));
            assert_eq!(outcome.status == Returned, outcome.exit_code == Some(0) && outcome.exception.is_none(), "{patch}: {}", told(&outcome));
        }
        for patch in ["import json; json.dumps = None", "import os; os.write = None", "import sys; sys.stdout = None", "import builtins; builtins.len = None"] {
            let outcome = run(&format!("{patch}\nraise ValueError('mine')"));
            expect(&outcome, Raised);
            let error = outcome.exception.expect("an exception");
            assert_eq!((error.type_name.as_str(), error.message.as_str()), ("ValueError", "mine"), "{patch}");
        }
    }
}
