//! RS-09: floods, odd bytes, slow readers and readers that go away.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::time::Duration;

use belljar::job::Sink;
use belljar::outcome::{Captured, Limit, Status};

use crate::glass::{Either, code, expect, jar, program, run, run_with, told};

fn written(stream: &Captured) -> u64 {
    stream.head.len() as u64 + stream.tail.len() as u64 + stream.dropped
}

/// Most memory that a process has had, in KiB.
fn peak(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Makes an end to read from and one to write to.
type Ends = fn() -> (OwnedFd, OwnedFd);

fn pipe() -> (OwnedFd, OwnedFd) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    (reader.into(), writer.into())
}

fn sockets() -> (OwnedFd, OwnedFd) {
    let (one, other) = std::os::unix::net::UnixStream::pair().expect("sockets");
    (one.into(), other.into())
}

fn terminal() -> (OwnedFd, OwnedFd) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&ours)
        .and_then(|()| unlockpt(&ours))
        .expect("its other end");
    let name = ptsname(&ours, Vec::new()).expect("its name");
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
    let theirs = rustix::fs::open(name.as_c_str(), flags, rustix::fs::Mode::empty()).expect("its other end");
    (ours, theirs)
}

both_ways! {
    fn flood_on_both_streams_is_counted_exactly(_who) {
        // 512 MiB on each: the reader of one must never wait for the other.
        let source = "\
import os, threading
def flood(fd, byte):
    data = byte * (1 << 16)
    for _ in range(8192): assert os.write(fd, data) == len(data)
threads = [threading.Thread(target=flood, args=(1, b'o')), threading.Thread(target=flood, args=(2, b'e'))]
[t.start() for t in threads]; [t.join() for t in threads]
os.write(1, b'END'); os.write(2, b'end')";
        let jar = jar(|policy| policy.limits.timeout = Some(Duration::from_secs(60)));
        let running = jar.spawn_job(code(source)).expect("a job");
        let warden = running.warden_pid();
        let watch = std::thread::spawn(move || {
            let mut most = 0;
            while let Some(now) = peak(warden) {
                most = most.max(now);
                std::thread::sleep(Duration::from_millis(5));
            }
            most
        });
        let outcome = running.wait().expect("an outcome");
        expect(&outcome, Status::Returned);
        for (stream, end) in [(&outcome.stdout, b"END"), (&outcome.stderr, b"end")] {
            assert_eq!(written(stream), (512 << 20) + 3);
            assert_eq!(stream.head.len() + stream.tail.len(), 1 << 20, "the cap");
            assert!(stream.tail.ends_with(end), "the end is kept");
        }
        assert_eq!(outcome.limit, Some(Limit::Output));
        let most = watch.join().expect("a watcher");
        assert!(most > 0 && most < 32 << 10, "the warden had {most} KiB");
    }

    fn writes_of_one_byte_are_all_there(_who) {
        let outcome = run("import os\nfor i in range(20_000): os.write(1, bytes([i % 256]))");
        expect(&outcome, Status::Returned);
        let wanted: Vec<u8> = (0..20_000).map(|i| (i % 256) as u8).collect();
        assert_eq!(outcome.stdout.head, wanted);
        assert_eq!((outcome.stdout.dropped, outcome.limit), (0, None));
    }

    fn bytes_are_kept_as_they_are(_who) {
        let outcome = run_with("import sys\nsys.stdout.buffer.write(bytes(range(256)) * 40)", |policy| policy.limits.output = 1000);
        expect(&outcome, Status::Returned);
        let all: Vec<u8> = (0..=255).cycle().take(256 * 40).collect();
        assert!(all.starts_with(&outcome.stdout.head) && all.ends_with(&outcome.stdout.tail));
        assert!(!outcome.stdout.head.is_empty() && !outcome.stdout.tail.is_empty());
        assert_eq!(outcome.stdout.head.len() + outcome.stdout.tail.len(), 1000, "the cap");
        assert_eq!(written(&outcome.stdout), all.len() as u64);
    }

    fn cap_is_exact(_who) {
        for (size, hit) in [(999, None), (1000, None), (1001, Some(Limit::Output)), (100_000, Some(Limit::Output))] {
            let source = format!("import os; os.write(1, bytes(i % 251 for i in range({size})))");
            let outcome = run_with(&source, |policy| policy.limits.output = 1000);
            let (head, tail) = (&outcome.stdout.head, &outcome.stdout.tail);
            assert_eq!((written(&outcome.stdout), outcome.limit), (size, hit), "{}", told(&outcome));
            assert_eq!(head.len() + tail.len(), size.min(1000) as usize);
            let all: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
            assert!(all.starts_with(head) && all.ends_with(tail), "{size}");
        }
    }

    fn closed_and_broken_streams_are_the_guests_own_affair(_who) {
        let closed = run("import os\nos.close(1); os.close(2)\ntry: print('x', flush=True)\nexcept OSError as e: os._exit(e.errno)");
        assert_eq!((closed.status, closed.exit_code), (Status::Exited, Some(9)));
        let nonblocking = run("import os\nos.set_blocking(1, False)\nn = 0\nwhile n < 1 << 20:\n    try: n += os.write(1, bytes(min(1 << 16, (1 << 20) - n)))\n    except BlockingIOError: pass");
        expect(&nonblocking, Status::Returned);
        assert_eq!(written(&nonblocking.stdout), 1 << 20);
    }

    fn slow_reader_slows_the_guest_and_loses_nothing(_who) {
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let mut job = code("import sys\nfor i in range(4000): sys.stdout.write('%99d\\n' % i)");
        job.stdout = Sink::Forward(OwnedFd::from(writer));
        let running = jar(|_| {}).spawn_job(job).expect("a job");
        let slow = std::thread::spawn(move || {
            let (mut all, mut piece) = (Vec::new(), [0; 16 << 10]);
            loop {
                std::thread::sleep(Duration::from_millis(10));
                match reader.read(&mut piece).expect("bytes") {
                    0 => return all,
                    length => all.extend_from_slice(&piece[..length]),
                }
            }
        });
        let outcome = running.wait().expect("an outcome");
        expect(&outcome, Status::Returned);
        let all = slow.join().expect("a reader");
        assert_eq!(all.len(), 400_000);
        let last = String::from_utf8_lossy(&all[399_900..]).trim().to_owned();
        assert_eq!(last, "3999");
        assert!(outcome.stdout.head.is_empty(), "nothing is kept of what is forwarded");
    }

    fn reader_that_never_reads_does_not_stop_the_deadline(_who) {
        // Both streams in one pipe: each has room until the other has written. And a terminal takes less than it says.
        let cases: [(&str, bool, Ends); 4] =
            [("pipe", false, pipe), ("one pipe", true, pipe), ("socket", true, sockets), ("terminal", true, terminal)];
        for (what, both, made) in cases {
            let (reader, writer) = made();
            let mut job = code("import os\nwhile True: os.write(1, b'x' * 4096); os.write(2, b'y' * 4096)");
            if both {
                job.stderr = Sink::Forward(writer.try_clone().expect("a descriptor"));
            }
            job.stdout = Sink::Forward(writer);
            let plenty = |policy: &mut belljar::Policy| {
                policy.limits.timeout = Some(Duration::from_secs(1));
                policy.limits.output = 1 << 30;
            };
            let running = jar(plenty).spawn_job(job).expect("a job");
            // The caller gives up on its reader too, or its own output would be waited for.
            std::thread::sleep(Duration::from_millis(3000));
            drop(reader);
            let outcome = running.wait().expect("an outcome");
            expect(&outcome, Status::TimedOut);
            assert!(outcome.usage.wall_seconds < 3.0, "{what}: the jar was empty long before: {:?}", outcome.usage);
        }
    }

    fn reader_that_goes_away_is_felt_as_outside(_who) {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut job = program(&["yes"]);
        job.stdout = Sink::Forward(OwnedFd::from(writer));
        let outcome = jar(|_| {}).either(job).expect("an outcome");
        assert_eq!((outcome.status, outcome.signal), (Status::Signalled, Some(13)), "{}", told(&outcome));
    }

    fn forwarded_output_arrives_while_the_guest_runs(_who) {
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let (read_in, mut input) = std::io::pipe().expect("a pipe");
        let mut job = code("print('first', flush=True)\nprint('got', input(), flush=True)");
        job.stdout = Sink::Both(OwnedFd::from(writer));
        job.stdin = belljar::job::Stdin::Copy(OwnedFd::from(read_in));
        let running = jar(|_| {}).spawn_job(job).expect("a job");
        let mut line = [0; 6];
        reader.read_exact(&mut line).expect("the first line, before any input was given");
        assert_eq!(&line, b"first\n");
        input.write_all(b"word\n").expect("input is taken");
        drop(input);
        let outcome = running.wait().expect("an outcome");
        expect(&outcome, Status::Returned);
        assert_eq!(outcome.stdout.head, b"first\ngot word\n", "kept too");
    }
}
