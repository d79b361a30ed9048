//! PID 1 of a jar: builds the room, starts the guest, reaps, and reports how it ended.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use belljar_linux::{confine, descriptors, network, privileges, process, seccomp, signals};

use super::report::{Report, send};
use super::root::{Root, open_folder};
use super::{Room, guest, open_sources};
use crate::plan::{Namespace, Step};

/// A failed step: what was being done, and the error.
pub(super) type Failure = (String, io::Error);

/// The whole life of a jar's init. Runs in a copy of the warden; the code it gives means nothing.
pub(crate) fn init(mut room: Room<'_>) -> i32 {
    match prepare(&mut room)
        .and_then(|root| build(&room, root))
        .and_then(|parts| start(&room, &parts))
    {
        Ok(guest) => serve(room, &guest),
        Err((step, error)) => {
            let errno = error
                .raw_os_error()
                .unwrap_or(rustix::io::Errno::INVAL.raw_os_error());
            send(room.report.as_fd(), &Report::Failed { step, errno }, &[]);
            1
        }
    }
}

/// What the warden gets when the guest has started.
struct Parts {
    workdir: OwnedFd,
    upper: Option<OwnedFd>,
    terminal: Option<guest::Terminal>,
}

/// Waits for the warden to have set up ids and limits, and takes them on.
fn prepare(room: &mut Room<'_>) -> Result<Root, Failure> {
    // Without this the warden's end would stay open here, and its death would go unnoticed.
    step("let go of the warden's socket", close(room.warden))?;
    // Before anything else is made, so that all of it counts; and by itself, which spares the kernel a grace period.
    for group in &room.groups {
        step(
            "enter the cgroup",
            rustix::io::write(group, b"0").map(drop).map_err(io::Error::from),
        )?;
    }
    step("hear from the warden", hear(room.report.as_fd()))?;
    signals::reset();
    signals::ignore_pipe();
    step(
        "start a session",
        rustix::process::setsid().map(drop).map_err(io::Error::from),
    )?;
    for operation in room.plan.steps() {
        if let Step::Ids { inside, own: true, .. } = operation {
            step(
                "become the guest's user",
                privileges::become_id(*inside, *inside),
            )?;
        }
    }
    // A copy of the warden has the caller's variables and arguments, and everyone in the jar may read the latter.
    step(
        "forget the caller's variables and arguments",
        process::forget_start(b"belljar init"),
    )?;
    step("hide the jar's init", privileges::hide())?;
    // After the change of user, which would clear it.
    step(
        "die with the warden",
        process::die_with_parent(room.report.as_fd()),
    )?;
    if has(
        room,
        |step| matches!(step, Step::Namespaces { kinds } if kinds.contains(&Namespace::Cgroup)),
    ) {
        step("start a cgroup namespace", process::unshare_cgroup())?;
    }
    step("make mounts private", belljar_linux::mount::make_private())?;
    if room.sources.is_empty() {
        room.sources = open_sources(room.plan, None)
            .map_err(|(path, error)| (format!("open {} for the jar", path.display()), error))?;
    }
    Ok(Root::new(std::mem::take(&mut room.sources)))
}

/// Carries out the steps of the plan, up to the point where there is nothing left to build.
fn build(room: &Room<'_>, mut root: Root) -> Result<Parts, Failure> {
    let mut terminal = None;
    let mut workdir = None;
    for (position, operation) in room.plan.steps().iter().enumerate() {
        if let Some(errno) = room.plan.fault(operation.name()) {
            return Err((operation.to_string(), io::Error::from_raw_os_error(errno)));
        }
        let done = match operation {
            Step::Hostname { name } => rustix::system::sethostname(name.as_bytes()).map_err(io::Error::from),
            Step::Loopback => network::loopback_up(),
            Step::Pivot => root.step(position, operation, room),
            Step::Privileges => {
                // The last moment at which the terminal and the working directory can be opened as their maker.
                if room.job.terminal.is_some() {
                    terminal = Some(step("open a terminal in the jar", guest::Terminal::open())?);
                }
                let path = room.plan.current_dir();
                workdir =
                    Some(open_folder(path).map_err(|error| (format!("open {}", path.display()), error))?);
                privileges::drop_all()
            }
            Step::Landlock(rules) => {
                let mut rules = rules.clone();
                if room.job.terminal.is_some() {
                    rules.paths.push(confine::Rule {
                        path: "/dev/pts".into(),
                        allow: confine::Allow::Write,
                    });
                }
                confine::confine(&rules).map_err(io::Error::other)
            }
            _ => root.step(position, operation, room),
        };
        done.map_err(|error| (operation.to_string(), error))?;
    }
    let workdir = match workdir {
        Some(workdir) => workdir,
        None => step("open the working directory", open_folder(room.plan.current_dir()))?,
    };
    Ok(Parts {
        workdir,
        upper: root.upper,
        terminal,
    })
}

/// Starts the guest and hands the warden what it needs.
fn start(room: &Room<'_>, parts: &Parts) -> Result<process::Child, Failure> {
    let guest = step("start the guest", guest::start(room, parts.terminal.as_ref()))?;
    let mut fds: Vec<BorrowedFd<'_>> = vec![guest.as_fd(), parts.workdir.as_fd()];
    fds.extend(parts.upper.as_ref().map(AsFd::as_fd));
    fds.extend(parts.terminal.as_ref().map(|terminal| terminal.master.as_fd()));
    let started = Report::Started {
        draft: parts.upper.is_some(),
        terminal: parts.terminal.is_some(),
    };
    send(room.report.as_fd(), &started, &fds);
    Ok(guest)
}

/// Reaps until the guest's first process has ended, and says how. When init ends, the kernel ends all that is left.
fn serve(room: Room<'_>, guest: &process::Child) -> i32 {
    let Ok(kept) = descriptors::set_table(&[], &[room.report.as_raw_fd()]) else {
        return 1;
    };
    // The numbers that our values hold belong to nobody now; they must not be closed again.
    let room = std::mem::ManuallyDrop::new(room);
    if has(&room, |step| matches!(step, Step::Seccomp { .. }))
        && seccomp::install(&seccomp::init_program(seccomp::Arch::native())).is_err()
    {
        return 1;
    }
    let Ok(ended) = process::reap_until(guest) else {
        return 1;
    };
    send(
        kept[0].as_fd(),
        &Report::Ended {
            status: ended.status,
            max_rss: ended.max_rss,
        },
        &[],
    );
    0
}

fn has(room: &Room<'_>, which: impl Fn(&Step) -> bool) -> bool {
    room.plan.steps().iter().any(which)
}

fn step<T>(what: &str, done: io::Result<T>) -> Result<T, Failure> {
    done.map_err(|error| (what.to_owned(), error))
}

fn hear(report: BorrowedFd<'_>) -> io::Result<()> {
    match descriptors::receive(report, &mut [0; 1])? {
        (1, _) => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Closes the copy of a descriptor that belongs to the warden.
fn close(fd: BorrowedFd<'_>) -> io::Result<()> {
    descriptors::close(fd.as_raw_fd())
}
