//! What a process inherits from whoever started it, and a guest must not: rank above others, an open file mode, a layout
//! of memory that can be guessed.

use std::io;

use rustix::fs::Mode;

/// The bit that policies carry when children do not inherit them.
const RESET_ON_FORK: i32 = 0x4000_0000;
/// The file mode mask of a guest.
const MASK: u32 = 0o022;
/// The class of disk priorities that comes before all others.
const IO_REAL_TIME: i64 = 1;
const IO_CLASS_SHIFT: u32 = 13;
const IO_PROCESS: i32 = 1;
/// Taken first when the whole host runs out of memory.
const OUT_OF_MEMORY: i32 = 500;

/// Makes this process an ordinary one. Only ever lowers its rank, which everyone may do.
pub fn ordinary() -> io::Result<()> {
    scheduling()?;
    disk()?;
    // SAFETY: plain integers; 0 is the ordinary personality, which takes effect with the next exec.
    if unsafe { libc::personality(0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    rustix::process::umask(Mode::from_raw_mode(MASK));
    // A wish: where /proc belongs to somebody else, the guest counts like its caller.
    let file = "/proc/self/oom_score_adj";
    let now = std::fs::read_to_string(file)
        .ok()
        .and_then(|text| text.trim().parse::<i32>().ok());
    if now.is_some_and(|now| now < OUT_OF_MEMORY) {
        let _ = std::fs::write(file, OUT_OF_MEMORY.to_string());
    }
    Ok(())
}

/// Has this process wait for its turn when it wakes up, and take the processor from nobody. Its share stays the same.
pub fn patient() -> io::Result<()> {
    set_policy(libc::SCHED_BATCH)
}

fn scheduling() -> io::Result<()> {
    // The kernel's own calls: musl has them do something else, and answers that there are none.
    // SAFETY: asks about this process.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) } as i32 & !RESET_ON_FORK;
    if ![libc::SCHED_OTHER, libc::SCHED_BATCH, libc::SCHED_IDLE].contains(&policy) {
        set_policy(libc::SCHED_OTHER)?;
    }
    if rustix::process::getpriority_process(None)? < 0 {
        rustix::process::setpriority_process(None, 0)?;
    }
    Ok(())
}

fn set_policy(policy: libc::c_int) -> io::Result<()> {
    let priority: libc::c_int = 0;
    // SAFETY: about this process; the parameter, one integer to the kernel, is initialised and outlives the call.
    let done = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn disk() -> io::Result<()> {
    // SAFETY: plain integers, about this process.
    let priority = unsafe { libc::syscall(libc::SYS_ioprio_get, IO_PROCESS, 0) };
    if priority >> IO_CLASS_SHIFT == IO_REAL_TIME {
        // SAFETY: as above.
        if unsafe { libc::syscall(libc::SYS_ioprio_set, IO_PROCESS, 0, 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
