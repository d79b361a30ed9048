//! Python under the filter: what the standard library needs works, and what is refused comes as an exception that says so.

use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

use belljar_linux::seccomp::{Arch, Families, Options, install, program};

fn python(options: Options, code: &str) -> Output {
    let program = program(Arch::native(), &options);
    let mut command = Command::new("python3");
    command.args(["-c", code]);
    // SAFETY: the hook only makes system calls, on a program that was compiled before the fork.
    unsafe {
        command.pre_exec(move || {
            rustix::thread::set_no_new_privs(true)?;
            install(&program)
        });
    }
    command.output().expect("python3 on the PATH")
}

fn prints(options: Options, code: &str, expected: &str) {
    let output = python(options, code);
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert_eq!(out.trim(), expected, "{code}\n{err}");
    assert!(output.status.success(), "{code}\n{}\n{err}", output.status);
}

#[test]
fn the_standard_library_works() {
    let tight = Options::default();
    for code in [
        "import threading; t = threading.Thread(target=print, args=('ok',)); t.start(); t.join()",
        "import subprocess; print(subprocess.run(['sh', '-c', 'echo ok | cat'], capture_output=True, text=True).stdout)",
        "import asyncio
async def main():
    child = await asyncio.create_subprocess_exec('echo', 'ok', stdout=asyncio.subprocess.PIPE)
    print((await child.communicate())[0].decode())
asyncio.run(main())",
        "import sqlite3, tempfile, os
with tempfile.TemporaryDirectory() as folder:
    base = sqlite3.connect(f'file:{folder}/base?nolock=1', uri=True); base.execute('create table t (x)')
    base.execute('insert into t values (?)', ('ok',)); base.commit(); print(base.execute('select x from t').fetchone()[0])",
        "import mmap, ctypes, os; m = mmap.mmap(-1, 4096); m[:2] = b'ok'; assert ctypes.CDLL(None).getpid() == os.getpid()
callback = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 7); assert callback() == 7; print(m[:2].decode())",
        "import shutil, tempfile, os, signal, socket, resource
folder = tempfile.mkdtemp(); name = os.path.join(folder, 'a'); open(name, 'w').write('ok')
shutil.copy2(name, name + 'b'); os.mkfifo(name + 'c'); signal.setitimer(signal.ITIMER_REAL, 60); a, b = socket.socketpair()
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); os.sched_getaffinity(0); os.getloadavg(); os.memfd_create('m')
os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0)); os.nice(1)
print(open(name + 'b').read()); shutil.rmtree(folder)",
    ] {
        prints(tight, code, "ok");
    }
}

#[test]
fn multiprocessing_works_in_every_way_to_start() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("pool.py");
    let code = "
import multiprocessing as mp, sys
from multiprocessing import shared_memory
def double(x): return 2 * x
if __name__ == '__main__':
    for way in ('fork', 'spawn', 'forkserver'):
        with mp.get_context(way).Pool(2) as pool: assert pool.map(double, range(4)) == [0, 2, 4, 6]
    block = shared_memory.SharedMemory(create=True, size=4096); block.buf[0] = 1; block.close(); block.unlink(); print('ok')
";
    std::fs::write(&script, code).unwrap();
    let path = script.display();
    prints(
        Options::default(),
        &format!("import runpy; runpy.run_path('{path}', run_name='__main__')"),
        "ok",
    );
}

#[test]
fn sockets_follow_the_families() {
    let connect = "import socket
server = socket.create_server(('127.0.0.1', 0)); client = socket.create_connection(server.getsockname())
server.accept()[0].sendall(b'ok'); print(client.recv(2).decode())";
    let internet = Options {
        families: Families::Internet,
        ..Options::default()
    };
    prints(internet, connect, "ok");
    let output = python(Options::default(), connect);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("Address family not supported"), "{text}");
}

#[test]
fn a_refusal_is_an_exception_that_says_so() {
    let code = "import os, ctypes
libc = ctypes.CDLL(None, use_errno=True)
try: os.chroot('/')
except PermissionError: print('chroot', end=' ')
libc.unshare(0x10000000); print(ctypes.get_errno())";
    prints(Options::default(), code, "chroot 1");
    let pins = "import os; os.sched_setaffinity(0, os.sched_getaffinity(0)); print('ok')";
    prints(
        Options {
            affinity: true,
            ..Options::default()
        },
        pins,
        "ok",
    );
    assert!(!python(Options::default(), pins).status.success());
}

#[test]
fn the_filter_stays_through_threads_forks_and_exec() {
    let code = "import subprocess, sys, threading, os
mode = lambda: print(next(l.split()[1] for l in open('/proc/thread-self/status') if l.startswith('Seccomp:')), end=' ', flush=True)
mode(); thread = threading.Thread(target=mode); thread.start(); thread.join()
if os.fork() == 0:
    if os.fork() == 0: mode(); os._exit(0)
    os.wait(); os._exit(0)
os.wait()
subprocess.run(['sh', '-c', 'grep Seccomp: /proc/self/status'])";
    prints(Options::default(), code, "2 2 2 Seccomp:\t2");
    let free = Command::new("python3").args(["-c", code]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&free.stdout).trim(), "0 0 0 Seccomp:\t0");
}

#[test]
fn a_terminal_of_its_own_works() {
    let code = "import pty, os, termios, tty
main, side = pty.openpty(); tty.setraw(side); os.write(main, b'ok'); print(os.read(side, 2).decode())";
    prints(
        Options {
            tty: true,
            ..Options::default()
        },
        code,
        "ok",
    );
    assert!(!python(Options::default(), code).status.success());
}
