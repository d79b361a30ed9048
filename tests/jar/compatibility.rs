//! Under the default policy ordinary Python just works: each check on every CPython from 3.10 to 3.13 that is here.

use belljar::outcome::Status;
use belljar::python::InterpreterError;
use belljar::{Error, Policy, Sandbox};

use crate::glass::{expect, script, told};

const VERSIONS: [&str; 4] = ["3.10", "3.11", "3.12", "3.13"];

/// A name and a script that fails unless it works.
const CHECKS: [(&str, &str); 14] = [
    ("threads", "\
import threading, queue
q = queue.Queue()
threads = [threading.Thread(target=lambda n=n: q.put(n)) for n in range(50)]
[t.start() for t in threads]; [t.join() for t in threads]
assert sorted(q.get() for _ in range(50)) == list(range(50))"),
    ("subprocess", "\
import subprocess, sys
assert subprocess.run(['sh', '-c', 'cat; exit 3'], input=b'in', capture_output=True).returncode == 3
assert subprocess.check_output([sys.executable, '-c', 'print(6 * 7)'], text=True) == '42\\n'
p = subprocess.Popen(['sleep', '60']); p.terminate(); assert p.wait() == -15"),
    ("multiprocessing fork", MULTIPROCESSING),
    ("multiprocessing spawn", MULTIPROCESSING),
    ("multiprocessing forkserver", MULTIPROCESSING),
    ("pools", "\
import concurrent.futures as f, multiprocessing as m
def square(n): return n * n
if __name__ == '__main__':
    with m.Pool(4) as pool: assert pool.map(square, range(20)) == [n * n for n in range(20)]
    with f.ProcessPoolExecutor(2) as pool: assert list(pool.map(square, range(5))) == [0, 1, 4, 9, 16]
    with f.ThreadPoolExecutor(4) as pool: assert sum(pool.map(square, range(5))) == 30"),
    ("shared memory", "\
from multiprocessing import shared_memory, Process, Lock, Value
def child(name, lock, value):
    s = shared_memory.SharedMemory(name)
    with lock: s.buf[0] += 1; value.value += 1
    s.close()
if __name__ == '__main__':
    s = shared_memory.SharedMemory(create=True, size=1 << 20); s.buf[0] = 0
    lock, value = Lock(), Value('i', 0)
    ps = [Process(target=child, args=(s.name, lock, value)) for _ in range(4)]
    [p.start() for p in ps]; [p.join() for p in ps]
    assert s.buf[0] == 4 and value.value == 4
    s.close(); s.unlink()"),
    ("asyncio", "\
import asyncio
async def main():
    assert await asyncio.gather(*[asyncio.sleep(0.01, n) for n in range(5)]) == list(range(5))
    p = await asyncio.create_subprocess_exec('echo', 'hi', stdout=asyncio.subprocess.PIPE)
    assert (await p.communicate())[0] == b'hi\\n' and p.returncode == 0
    assert await asyncio.to_thread(lambda: 7) == 7
    server = await asyncio.start_unix_server(lambda r, w: (w.write(b'x'), w.close()), '/tmp/socket')
    r, w = await asyncio.open_unix_connection('/tmp/socket'); assert await r.read() == b'x'; w.close(); server.close()
asyncio.run(main())"),
    ("sqlite3", "\
import sqlite3
for where in (':memory:', 'file.db'):
    c = sqlite3.connect(where); c.execute('pragma journal_mode=wal'); c.execute('create table t (a)')
    c.executemany('insert into t values (?)', [(n,) for n in range(1000)]); c.commit()
    assert c.execute('select sum(a) from t').fetchone() == (499500,)
    c.close()"),
    ("mmap", "\
import mmap
f = open('file', 'w+b'); f.truncate(8192)
m = mmap.mmap(f.fileno(), 0); m[:5] = b'hello'; m.flush(); assert open('file', 'rb').read(5) == b'hello'
a = mmap.mmap(-1, 1 << 20); a[0] = 1; a.madvise(mmap.MADV_DONTNEED)"),
    ("tempfile", "\
import tempfile, os, shutil, pathlib
with tempfile.NamedTemporaryFile() as f: f.write(b'x'); assert f.name.startswith('/tmp/')
with tempfile.TemporaryDirectory() as d: pathlib.Path(d, 'a').write_text('b'); shutil.copytree(d, 'copy')
assert pathlib.Path.home() == pathlib.Path(os.environ['HOME']) and os.access(pathlib.Path.home(), os.W_OK)
os.makedirs(os.path.expanduser('~/.config/tool'))"),
    ("ctypes", "\
import ctypes, ctypes.util
libc = ctypes.CDLL(None, use_errno=True)
assert libc.getpid() == __import__('os').getpid()
assert libc.close(-1) == -1 and ctypes.get_errno() == 9
callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))(lambda a, b: a[0] - b[0])
numbers = (ctypes.c_int * 3)(3, 1, 2); libc.qsort(numbers, 3, 4, callback); assert list(numbers) == [1, 2, 3]"),
    ("ssl and hashes", "\
import ssl, hashlib, secrets, uuid, random, zoneinfo, datetime
ssl.create_default_context()
assert len(hashlib.scrypt(b'x', salt=b'y', n=1024, r=8, p=1)) == 64 and len(secrets.token_bytes(8)) == 8
assert uuid.uuid4() != uuid.uuid4() and uuid.uuid1() != uuid.uuid1()
assert datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')).utcoffset().seconds == 7200"),
    ("surroundings", "\
import os, pwd, getpass, socket, platform, locale, signal, resource, time, sys, select, lzma, bz2, zlib
assert pwd.getpwuid(os.getuid()).pw_name == getpass.getuser() == 'guest' and os.getcwd() == '/jar'
assert socket.gethostname() == 'belljar' and platform.system() == 'Linux'
assert sys.getfilesystemencoding() == 'utf-8' and locale.getpreferredencoding() == 'UTF-8'
a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'
e = select.epoll(); e.register(b); a.send(b'y'); assert e.poll(1)
signal.signal(signal.SIGALRM, lambda *_: None); signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(0.05)
assert max(resource.getrlimit(resource.RLIMIT_CORE)) <= 1
for z in (lzma, bz2, zlib): assert z.decompress(z.compress(b'x' * 1000)) == b'x' * 1000"),
];

const MULTIPROCESSING: &str = "\
import multiprocessing, sys
def work(queue, number): queue.put(number * 2)
if __name__ == '__main__':
    context = multiprocessing.get_context(sys.argv[1])
    queue = context.Queue()
    processes = [context.Process(target=work, args=(queue, n)) for n in range(3)]
    [p.start() for p in processes]
    assert sorted(queue.get(timeout=15) for _ in processes) == [0, 2, 4]
    [p.join() for p in processes]
    assert [p.exitcode for p in processes] == [0, 0, 0]";

/// A jar with a Python of this version, unless there is none.
fn with_python(version: &str) -> Option<Sandbox> {
    let policy = Policy {
        python: Some(version.into()),
        ..Policy::default()
    };
    match Sandbox::new(policy) {
        Ok(jar) => Some(jar),
        Err(Error::Interpreter(InterpreterError::NotFound { .. })) => {
            let is_root = rustix::process::getuid().is_root();
            let need = if is_root {
                "interpreters"
            } else {
                "user_interpreters"
            };
            crate::skips::skip(need, &format!("compatibility with {version}"));
            None
        }
        Err(error) => panic!("no jar with Python {version}: {error}"),
    }
}

fn works_on(version: &str) {
    let Some(jar) = with_python(version) else { return };
    for (name, source) in CHECKS {
        let mut job = script(source);
        job.args = name.split(' ').skip(1).map(Into::into).collect();
        let outcome = jar.run_job(job).expect("an outcome");
        assert_eq!(
            outcome.status,
            Status::Returned,
            "{name} on {version}: {}",
            told(&outcome)
        );
        assert_eq!(outcome.limit, None, "{name} on {version}");
        let mut version_job = script("import sys; print('%d.%d' % sys.version_info[:2])");
        version_job.args.clear();
        if name == "threads" {
            let outcome = jar.run_job(version_job).expect("an outcome");
            assert_eq!(outcome.stdout.text().trim(), version);
        }
    }
}

both! {
    fn standard_library_on_3_10(_who) { works_on(VERSIONS[0]); }
    fn standard_library_on_3_11(_who) { works_on(VERSIONS[1]); }
    fn standard_library_on_3_12(_who) { works_on(VERSIONS[2]); }
    fn standard_library_on_3_13(_who) { works_on(VERSIONS[3]); }

    fn loopback_is_there_when_asked_for(_who) {
        let source = "\
import http.server, threading, urllib.request
server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
assert b'Directory listing' in urllib.request.urlopen(f'http://localhost:{server.server_port}/').read()";
        let open = crate::glass::jar(|policy| policy.network = belljar::policy::Network::Loopback);
        expect(&open.run_job(script(source)).expect("an outcome"), Status::Returned);
        // The control: without it the same script fails.
        let shut = crate::glass::jar(|_| {}).run_job(script(source)).expect("an outcome");
        expect(&shut, Status::Raised);
    }

    fn jar_without_the_system_still_has_python(_who) {
        let jar = crate::glass::jar(|policy| policy.system = false);
        let source = "import os, json, ctypes, sqlite3, ssl, threading\nassert not os.path.exists('/bin/sh') and not os.path.exists('/usr/bin/env'), os.listdir('/usr/bin')\nprint(json.dumps([1]))";
        let outcome = jar.run_job(script(source)).expect("an outcome");
        expect(&outcome, Status::Returned);
        assert_eq!(outcome.stdout.text(), "[1]\n");
    }
}
