"""Walks into a jar and gives up every right: what a worker does between its fork and its first job.

All that it needs is made here, in the template: after the fork there are only system calls left. The keeper looks from
outside whether they have been made.
"""

import posix
from _ctypes import FUNCFLAG_CDECL, FUNCFLAG_USE_ERRNO, CFuncPtr, _SimpleCData, addressof, dlopen, dlsym, get_errno
from posix import close, closerange, dup2, sched_setaffinity, setsid, write

NUMBERS = {
    "x86_64": {"wait4": 61, "capset": 126, "prctl": 157, "ppoll": 271, "prlimit64": 302, "setns": 308, "seccomp": 317},
    "aarch64": {"wait4": 260, "capset": 91, "prctl": 167, "ppoll": 73, "prlimit64": 261, "setns": 268, "seccomp": 277},
}[posix.uname().machine]
WAIT4, CAPSET, PRCTL, PPOLL, PRLIMIT, SETNS, SECCOMP = NUMBERS.values()
CLOSE_RANGE, LANDLOCK_RESTRICT_SELF = 436, 446
RLIMITS = dict(
    zip(
        "cpu fsize data stack core rss nproc nofile memlock as locks sigpending msgqueue nice rtprio".split(),
        range(15),
        strict=True,
    )
)
PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_SECUREBITS, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 4, 24, 28, 38, 47
CLEAR_ALL, MODE_FILTER = 4, 1
SYS_CHROOT, SYS_ADMIN, SETPCAP, LAST_CAPABILITY = 18, 21, 8, 63
# NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE, each with its lock, and the lock of KEEP_CAPS alone.
LOCKED_SECUREBITS = 0xEF
EINVAL, ENOSYS = 22, 38


class Long(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "l"


class Char(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "c"


class Function(CFuncPtr):
    _flags_ = FUNCFLAG_CDECL | FUNCFLAG_USE_ERRNO
    _restype_ = Long


library = dlopen(None, 2)  # type: ignore[arg-type]
syscall = Function(dlsym(library, "syscall"))
syscall.argtypes = (Long,) * 7
fflush = Function(dlsym(library, "fflush"))
fflush.argtypes = (Long,)


def memory(content):
    """Bytes that stay where they are: the object, and its address."""
    held = (Char * len(content))()
    held.raw = content  # type: ignore[misc]
    return held, addressof(held)


# Version 3 of the kernel's format, this thread; then three empty sets of 64 bits.
header, header_address = memory((0x20080522).to_bytes(4, "little") + bytes(4))
nothing, nothing_address = memory(bytes(24))
limit, limit_address = memory(bytes(16))
program, program_address = memory(bytes(16))
rules: list[object] = []


def keep_filter(text):
    """The guest's system-call filter, as the kernel wants it described."""
    held, address = memory(text)
    rules[:] = [held]
    program.raw = (len(text) // 8).to_bytes(8, "little") + address.to_bytes(8, "little")


def call(number, *args):
    if syscall(number, *args, *(0,) * (6 - len(args))) == -1:
        raise OSError(get_errno(), "")


def seal(order, fds, failed):
    """Every step in its order; the first that fails is told with `failed(descriptor, step, errno)`."""
    control, *streams = fds[:4]
    names = order["namespaces"]
    spaces = dict(zip(names, fds[4:], strict=False))
    rest = fds[4 + len(names) :]
    confined = order["ruleset"]
    ruleset = rest[0] if confined else -1
    groups = rest[confined : confined + order["groups"]]
    step = "start a session"
    try:
        # First of all: a signal to the process group crosses pid namespaces.
        setsid()
        step = "enter the cgroup"
        for group in groups:
            write(group, b"0")
        # The user namespace last: the others belong to the one that the template is in.
        for name in sorted(names, key="user".__eq__):
            if name != "pid":
                step = f"join the {name} namespace"
                call(SETNS, spaces[name], 0)
        step = "set up descriptors"
        for number, stream in enumerate(streams):
            dup2(stream, number)
        dup2(control, 3, False)
        control = 3
        if confined:
            dup2(ruleset, 4, False)
        close_from(4 + confined)
        step = "set the limits"
        for name, soft, hard in order["rlimits"]:
            set_limit(RLIMITS[name], soft, hard)
        if order["affinity"]:
            sched_setaffinity(0, order["affinity"])
        step = "drop capabilities"
        # Only a test's plan keeps them.
        if order.get("privileges", True):
            drop_bounding("user" in spaces)
            call(PRCTL, PR_SET_SECUREBITS, LOCKED_SECUREBITS)
            call(PRCTL, PR_CAP_AMBIENT, CLEAR_ALL)
            call(CAPSET, header_address, nothing_address)
        call(PRCTL, PR_SET_NO_NEW_PRIVS, 1)
        # As after an exec: its own /proc files are its own. A change of credentials may take that away.
        step = "be dumpable"
        call(PRCTL, PR_SET_DUMPABLE, 1)
        if confined:
            step = "restrict itself with landlock"
            call(LANDLOCK_RESTRICT_SELF, 4, 0)
            close(4)
        if rules:
            step = "load the system-call filter"
            call(SECCOMP, MODE_FILTER, 0, program_address)
    except OSError as error:
        failed(control, step, error.errno)
    except (LookupError, TypeError, ValueError):
        failed(control, step, EINVAL)


def close_from(first):
    try:
        call(CLOSE_RANGE, first, 0xFFFFFFFF, 0)
    except OSError as error:
        if error.errno != ENOSYS:
            raise
        closerange(first, 1 << 16)


def set_limit(resource, soft, hard):
    """A limit of the host that is lower already holds; only the privileged could raise it."""
    call(PRLIMIT, 0, resource, 0, limit_address)
    ceiling = int.from_bytes(limit.raw[8:], "little")
    limit.raw = min(soft, ceiling).to_bytes(8, "little") + min(hard, ceiling).to_bytes(8, "little")
    call(PRLIMIT, 0, resource, limit_address, 0)


def drop_bounding(every):
    """A template has three capabilities in its bounding set; joining a user namespace fills the set again."""
    for capability in range(LAST_CAPABILITY + 1) if every else (SYS_ADMIN, SYS_CHROOT, SETPCAP):
        if syscall(PRCTL, PR_CAPBSET_DROP, capability, 0, 0, 0, 0) == -1:
            if every and get_errno() == EINVAL:
                break
            raise OSError(get_errno(), "")
