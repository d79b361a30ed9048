//! Keeps the number of file locks in a jar below a bound: the kernel walks all locks of a file at each close of it, on the
//! host too, and in a process that ends no signal stops it.
//!
//! Runs in the jar's init, on the jar's own processor time. It cannot see what a call will do, only that it is made: each counts
//! for the most locks that it can add, an unlock too, which may cut one in two. At the bound the kernel is asked how many there are.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use belljar_linux::descriptors;
use belljar_linux::seccomp::{Arch, Listener};
use belljar_linux::signals::SignalFd;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::plan::Plan;

/// Answers in one go, after which init has a look at whatever else there is.
const ROUND: usize = 64;
/// Calls or time between two looks at the kernel's list, which holds up the locks of the whole machine for a moment.
const PACE: u32 = 16;
const PAUSE: Duration = Duration::from_millis(5);
/// What the kernel gives of its list at once, some 60 lines, how many such parts are read, and how often.
const PAGE: usize = 4096;
const PARTS: usize = 64;
const TRIES: usize = 8;
/// What a call of fcntl can add: a lock inside of another cuts it into three.
const RANGE: u32 = 2;
const WHOLE: u32 = 1;
const LOCK_SH: u64 = 1;
/// The number of fcntl; the filter asks about that and about flock.
const FCNTL: u32 = match Arch::native() {
    Arch::X86_64 => 72,
    Arch::Aarch64 => 25,
};

/// Who answers, and what it answers from.
pub(crate) struct Clerk {
    book: Book,
    /// The kernel's list, as the jar's own /proc has it: locks of the jar's living processes.
    list: OwnedFd,
    /// Where the listener comes from, as long as anybody is at its other end.
    gate: Option<OwnedFd>,
    listener: Option<Listener>,
}

impl Clerk {
    pub(crate) fn new(bound: u32, list: OwnedFd, gate: OwnedFd) -> Self {
        Self {
            book: Book::new(bound),
            list,
            gate: Some(gate),
            listener: None,
        }
    }

    /// The kernel's list, opened before the jar's /proc is masked; `None` where nothing can be locked.
    pub(crate) fn list(plan: &Plan) -> io::Result<Option<OwnedFd>> {
        if plan.locks() == 0 {
            return Ok(None);
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(Some(rustix::fs::open("/proc/locks", flags, Mode::empty())?))
    }

    /// Answers until the other end of the gate is gone.
    pub(crate) fn serve(mut self) -> io::Result<()> {
        while self.gate.is_some() {
            self.turn(None)?;
        }
        Ok(())
    }

    /// Answers until a child has ended.
    pub(super) fn serve_beside(&mut self, children: &SignalFd) -> io::Result<()> {
        while !self.turn(Some(children))? {}
        // One signal may stand for several.
        while children.next()?.is_some() {}
        Ok(())
    }

    /// Waits, and does what there is to do; gives whether a child has ended.
    fn turn(&mut self, children: Option<&SignalFd>) -> io::Result<bool> {
        let fds = [
            children.map(AsFd::as_fd),
            self.gate.as_ref().map(AsFd::as_fd),
            self.listener.as_ref().map(AsFd::as_fd),
        ];
        let mut list: Vec<PollFd<'_>> = fds
            .iter()
            .flatten()
            .map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN))
            .collect();
        rustix::io::retry_on_intr(|| rustix::event::poll(&mut list, None))?;
        let mut ready = list.iter().map(|entry| !entry.revents().is_empty());
        let [ended, spoken, asked] = fds.map(|fd| fd.is_some() && ready.next() == Some(true));
        if asked {
            self.answer_some()?;
        }
        if spoken && let Some(gate) = &self.gate {
            match descriptors::receive(gate.as_fd(), &mut [0; 1])? {
                (0, _) => self.gate = None,
                (_, fds) => self.listener = fds.into_iter().next().map(Listener::new),
            }
        }
        Ok(ended)
    }

    fn answer_some(&mut self) -> io::Result<()> {
        let Some(listener) = &self.listener else {
            return Ok(());
        };
        for _ in 0..ROUND {
            match ready(listener)? {
                Some(true) => answer(&mut self.book, &self.list, listener)?,
                Some(false) => return Ok(()),
                None => {
                    self.listener = None;
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Whether somebody asks; `None` when nobody can any more.
fn ready(listener: &Listener) -> io::Result<Option<bool>> {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut list = [PollFd::new(listener, PollFlags::IN)];
    rustix::io::retry_on_intr(|| rustix::event::poll(&mut list, Some(&now)))?;
    let seen = list[0].revents();
    Ok(match seen.contains(PollFlags::IN) {
        true => Some(true),
        false => seen.is_empty().then_some(false),
    })
}

fn answer(book: &mut Book, list: &OwnedFd, listener: &Listener) -> io::Result<()> {
    let Some(asked) = listener.next()? else {
        return Ok(());
    };
    let is_range = asked.number == FCNTL;
    let shared = !is_range && asked.args[1] & LOCK_SH != 0;
    let weight = if is_range { RANGE } else { WHOLE };
    if !book.enter(asked.thread, weight, shared) {
        let granted = book.is_due() && {
            let text = read(list)?;
            book.recount(text.as_deref(), is_alive);
            book.enter(asked.thread, weight, shared)
        };
        if !granted {
            return listener.refuse(&asked, Errno::NOLCK.raw_os_error());
        }
    }
    listener.allow(&asked)
}

/// The kernel's list; `None` when it has no end. One part of it is as it was at one moment. Between two parts, whatever is locked
/// anywhere on the machine moves the lines: what the jar has let go of is missed, never more; others are seen again. So a list that
/// comes in one part is asked for a few times, and lines that can be there once are counted once.
fn read(list: &OwnedFd) -> io::Result<Option<String>> {
    let mut last = None;
    for _ in 0..TRIES {
        let (text, parts) = pass(list)?;
        let is_whole = parts <= 1;
        last = text;
        if is_whole {
            break;
        }
    }
    Ok(last)
}

/// Reads the list once, and says in how many parts it came.
fn pass(list: &OwnedFd) -> io::Result<(Option<String>, usize)> {
    let mut text = Vec::new();
    let mut part = [0; PAGE];
    for parts in 0..PARTS {
        let at = text.len() as u64;
        match rustix::io::retry_on_intr(|| rustix::io::pread(list, &mut part, at))? {
            0 => return Ok((Some(String::from_utf8_lossy(&text).into_owned()), parts)),
            size => text.extend_from_slice(&part[..size]),
        }
    }
    Ok((None, PARTS))
}

/// Whether a process or a thread is there, be it one that nobody has reaped.
fn is_alive(pid: i32) -> bool {
    rustix::process::Pid::from_raw(pid)
        .is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(Errno::SRCH))
}

/// What is known without asking.
struct Book {
    bound: u32,
    /// Never less than there are.
    count: u32,
    /// The last look at the list, and the calls since then.
    looked: Option<Instant>,
    calls: u32,
    /// Threads that were let through and have not been heard of since: their call may be on its way still, and is in no list.
    on_their_way: HashMap<i32, u32>,
    /// Shared locks of whole files that were let through since the last look, by thread, and those seen there, by process. They belong
    /// to an open file, which others may hold when the process is gone and the list does not show them any more.
    shared: HashMap<i32, u32>,
    seen: HashMap<i32, u32>,
    /// Those whose process is gone.
    unseen: u32,
}

impl Book {
    fn new(bound: u32) -> Self {
        Self {
            bound,
            count: 0,
            looked: None,
            calls: 0,
            on_their_way: HashMap::new(),
            shared: HashMap::new(),
            seen: HashMap::new(),
            unseen: 0,
        }
    }

    /// Whether a call may go on; it is counted then.
    fn enter(&mut self, thread: i32, weight: u32, shared: bool) -> bool {
        // It asks again, so its last call is over, and in the list if it made a lock.
        self.on_their_way.remove(&thread);
        self.calls = self.calls.saturating_add(1);
        if self.count + weight > self.bound {
            return false;
        }
        self.count += weight;
        self.on_their_way.insert(thread, weight);
        if shared {
            *self.shared.entry(thread).or_default() += 1;
        }
        true
    }

    /// Whether it is time to look at the list.
    fn is_due(&self) -> bool {
        self.calls >= PACE || self.looked.is_none_or(|looked| looked.elapsed() >= PAUSE)
    }

    fn recount(&mut self, list: Option<&str>, is_alive: impl Fn(i32) -> bool) {
        (self.looked, self.calls) = (Some(Instant::now()), 0);
        let Some(list) = list else {
            self.count = self.bound;
            return;
        };
        self.on_their_way.retain(|thread, _| is_alive(*thread));
        let gone = |(pid, _): &(&i32, &u32)| !is_alive(**pid);
        let lost = self.shared.iter().chain(&self.seen).filter(gone);
        self.unseen = self.unseen.saturating_add(lost.map(|(_, count)| *count).sum());
        // One that is on its way still is not seen yet.
        self.shared.retain(|thread, count| {
            *count = 1;
            self.on_their_way.contains_key(thread)
        });
        self.seen.clear();
        let mut count = self.unseen;
        let mut ranges = HashSet::new();
        for line in list.lines() {
            // Behind the line's number. One that waits for another is in no list of a file.
            let lock = line.split_once(": ").map_or(line, |(_, lock)| lock).trim();
            let words: Vec<&str> = lock.split_whitespace().collect();
            let pid = words.get(3).and_then(|pid| pid.parse::<i32>().ok());
            // Locks of open files belong to no process, and show everywhere: they are somebody else's, a jar has none.
            let is_none = lock.starts_with("->") || pid.is_some_and(|pid| pid < 0);
            if is_none || lock.starts_with("POSIX") && !ranges.insert(lock) {
                continue;
            }
            count = count.saturating_add(1);
            if let (["FLOCK", _, "READ", ..], Some(pid)) = (&words[..], pid) {
                *self.seen.entry(pid).or_default() += 1;
            }
        }
        self.count = count.saturating_add(self.on_their_way.values().sum());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSIX: &str = "1: POSIX  ADVISORY  WRITE 7 00:2d:12 0 EOF\n";
    const SHARED: &str = "1: FLOCK  ADVISORY  READ 8 00:2d:12 0 EOF\n";
    const ELSEWHERE: &str = "1: OFDLCK ADVISORY  WRITE -1 fe:00:12 0 EOF\n";
    const WAITING: &str = "1: -> POSIX  ADVISORY  WRITE 9 00:2d:12 0 EOF\n";

    fn full(bound: u32) -> Book {
        let mut book = Book::new(bound);
        while book.enter(7, RANGE, false) {}
        book
    }

    #[test]
    fn calls_are_counted_for_the_most_that_they_can_add() {
        let mut book = Book::new(5);
        assert!(book.enter(7, RANGE, false));
        assert!(book.enter(7, RANGE, false));
        assert!(!book.enter(7, RANGE, false));
        assert!(book.enter(7, WHOLE, false));
        assert!(!book.enter(7, WHOLE, false));
    }

    #[test]
    fn list_makes_room_again() {
        let mut book = full(32);
        book.recount(Some(&[POSIX, WAITING, ELSEWHERE, POSIX, SHARED].concat()), |_| {
            true
        });
        assert_eq!(
            book.count, 2,
            "whoever waits has no lock yet, and a jar has none of open files"
        );
        book.recount(Some(&SHARED.repeat(32)), |_| true);
        assert!(!book.enter(7, WHOLE, false));
        book.recount(None, |_| true);
        assert!(!book.enter(7, WHOLE, false), "a list without end");
    }

    #[test]
    fn looks_keep_their_distance() {
        let mut book = full(32);
        assert!(book.is_due());
        book.recount(Some(&SHARED.repeat(32)), |_| true);
        // Whatever the clock says.
        book.looked = Some(Instant::now() + Duration::from_secs(3600));
        for _ in 0..PACE {
            assert!(!book.is_due());
            assert!(!book.enter(7, WHOLE, false));
        }
        assert!(book.is_due());
        book.calls = 0;
        book.looked = None;
        assert!(book.is_due());
    }

    #[test]
    fn calls_on_their_way_count_until_their_thread_is_heard_of_or_gone() {
        let mut book = Book::new(32);
        for thread in 10..20 {
            assert!(book.enter(thread, RANGE, false));
        }
        book.recount(Some(""), |_| true);
        assert_eq!(book.count, 20);
        book.enter(10, WHOLE, false);
        book.recount(Some(""), |thread| thread < 15);
        assert_eq!(book.count, 9, "four others, and the one that asked again");
    }

    #[test]
    fn shared_locks_of_processes_that_are_gone_count_for_ever() {
        let mut book = Book::new(32);
        assert!(book.enter(8, WHOLE, true));
        assert!(book.enter(8, RANGE, false));
        book.recount(Some(SHARED), |_| true);
        assert_eq!((book.unseen, book.count), (0, 3));
        book.recount(Some(""), |pid| pid != 8);
        assert_eq!((book.unseen, book.count), (2, 2), "seen, and maybe once more");
        assert!(book.enter(11, WHOLE, true));
        book.recount(Some(""), |pid| pid != 11);
        assert_eq!((book.unseen, book.count), (3, 3), "gone before it was seen");
        book.recount(Some(""), |_| true);
        assert_eq!(book.count, 3);
    }
}
