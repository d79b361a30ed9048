"""Walks into a jar and gives up every right: what a worker does between its fork and its first job.

All that it needs is made here, in the template: after the fork there are only system calls left. The keeper looks from
outside whether they have been made.
"""

import posix
from _ctypes import FUNCFLAG_CDECL, FUNCFLAG_USE_ERRNO, CFuncPtr, _SimpleCData, addressof, dlopen, dlsym, get_errno
from posix import chdir, close, closerange, dup2, sched_setaffinity, setsid, write
from time import perf_counter_ns as now

NUMBERS = {
    "x86_64": {
        "rt_sigprocmask": 14,
        "sendmsg": 46,
        "recvmsg": 47,
        "wait4": 61,
        "capset": 126,
        "prctl": 157,
        "ppoll": 271,
        "signalfd4": 289,
        "prlimit64": 302,
        "setns": 308,
        "seccomp": 317,
    },
    "aarch64": {
        "rt_sigprocmask": 135,
        "sendmsg": 211,
        "recvmsg": 212,
        "wait4": 260,
        "capset": 91,
        "prctl": 167,
        "ppoll": 73,
        "signalfd4": 74,
        "prlimit64": 261,
        "setns": 268,
        "seccomp": 277,
    },
}[posix.uname().machine]
SIGPROCMASK, SENDMSG, RECVMSG, WAIT4, CAPSET, PRCTL, PPOLL, SIGNALFD, PRLIMIT, SETNS, SECCOMP = NUMBERS.values()
CLOSE_RANGE, LANDLOCK_RESTRICT_SELF = 436, 446
RLIMITS = dict(
    zip(
        "cpu fsize data stack core rss nproc nofile memlock as locks sigpending msgqueue nice rtprio".split(),
        range(15),
        strict=True,
    )
)
PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_SECUREBITS, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 4, 24, 28, 38, 47
CLEAR_ALL, MODE_FILTER, SIG_SETMASK = 4, 1, 2
# NEW_LISTENER and WAIT_KILLABLE_RECV.
LISTENING = 40
# The frame that its descriptor goes with.
LISTENER = 10
SYS_CHROOT, SYS_ADMIN, SETPCAP, LAST_CAPABILITY = 18, 21, 8, 63
# Every kernel has these; where the numbers end differs.
LEAST_CAPABILITIES = 36
# NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE, each with its lock, and the lock of KEEP_CAPS alone.
LOCKED_SECUREBITS = 0xEF
EINVAL, ENOSYS = 22, 38


class Int(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "i"


class Long(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "l"


class Char(_SimpleCData):  # type: ignore[type-arg]
    _type_ = "c"


class Function(CFuncPtr):
    _flags_ = FUNCFLAG_CDECL | FUNCFLAG_USE_ERRNO
    _restype_ = Long


library = dlopen(None, 2)  # type: ignore[arg-type]
# No types of arguments, which would be an object for each at every call: a number is an int, and memory its address.
syscall = Function(dlsym(library, "syscall"))
fflush = Function(dlsym(library, "fflush"))


def memory(content):
    """Bytes that stay where they are."""
    held = (Char * len(content))()
    held.raw = content  # type: ignore[misc]
    return held


# Version 3 of the kernel's format, this thread; then three empty sets of 64 bits.
header, nothing = memory((0x20080522).to_bytes(4, "little") + bytes(4)), memory(bytes(24))
limit, program, no_signals = memory(bytes(16)), memory(bytes(16)), memory(bytes(8))
rules: list[object] = []
asks: list[int] = []
# What hands the listener to the keeper: a frame of kind 10, and beside it one descriptor.
handed, vector, extra = memory(b"%c\1" % LISTENER + bytes(14)), (Long * 2)(), (Long * 3)(20, 1 | 1 << 32, 0)
vector[0], vector[1] = addressof(handed), 16
message = (Long * 7)(0, 0, addressof(vector), 1, addressof(extra), 24, 0)


def keep_filter(text, locks):
    """The guest's system-call filter, as the kernel wants it described."""
    held = memory(text)
    rules[:] = [held]
    asks[:] = [1] if locks else []
    program.raw = (len(text) // 8).to_bytes(8, "little") + addressof(held).to_bytes(8, "little")


class Order:
    """What is the same for many workers, made ready in the template: a worker has only system calls left to make."""

    def __init__(self, fields):
        self.names = names = fields["namespaces"]
        self.away = "pid" in names
        # The user namespace last: the others belong to the one that the template is in.
        joined = sorted((name for name in names if name != "pid"), key="user".__eq__)
        self.joined = [(f"join the {name} namespace", 4 + names.index(name)) for name in joined]
        first = 4 + len(names)
        self.ruleset = first if fields["ruleset"] else 0
        # What keeps denials out of the host's log, where its kernel has one.
        self.quiet = fields["quiet"]
        self.groups = range(first + fields["ruleset"], first + fields["ruleset"] + fields["groups"])
        # Where jobs start.
        self.folder = bytes(fields["folder"]).decode("utf-8", "surrogateescape")
        self.limits = [lowered(*line) for line in fields["rlimits"]]
        # Only a test's plan keeps them.
        self.privileges = fields.get("privileges", True)
        # A template has three capabilities in its bounding set; joining a user namespace fills the set again.
        self.bounding = range(LAST_CAPABILITY + 1) if "user" in names else (SYS_ADMIN, SYS_CHROOT, SETPCAP)


def lowered(name, soft, hard):
    """A limit of the host that is lower already holds; only the privileged could raise it."""
    resource = RLIMITS.get(name, -1)
    if syscall(PRLIMIT, 0, resource, 0, limit) == -1:
        return resource, limit
    ceiling = int.from_bytes(limit.raw[8:], "little")
    return resource, memory(min(soft, ceiling).to_bytes(8, "little") + min(hard, ceiling).to_bytes(8, "little"))


def seal(order, processors, fds, failed):
    """Every step in its order; the first that fails is told with `failed(descriptor, step, errno)`.

    Gives the time at which it was inside.
    """
    control = fds[0]
    try:
        step = "start a session"
        # First of all: a signal to the process group crosses pid namespaces.
        setsid()
        step = "let signals in"
        if syscall(SIGPROCMASK, SIG_SETMASK, no_signals, 0, 8):
            raise fault()
        step = "enter the cgroup"
        for at in order.groups:
            write(fds[at], b"0")
        for step, at in order.joined:  # noqa: B007 - told when one fails
            if syscall(SETNS, fds[at], 0):
                raise fault()
        inside = now()
        step = "set up descriptors"
        dup2(fds[1], 0)
        dup2(fds[2], 1)
        dup2(fds[3], 2)
        dup2(control, 3, False)
        control = 3
        if order.ruleset:
            dup2(fds[order.ruleset], 4, False)
            close_from(5)
        else:
            close_from(4)
        step = "set the limits"
        for resource, values in order.limits:
            if syscall(PRLIMIT, 0, resource, values, 0):
                raise fault()
        if processors:
            sched_setaffinity(0, processors)
        step = "drop capabilities"
        if order.privileges:
            for capability in order.bounding:
                if syscall(PRCTL, PR_CAPBSET_DROP, capability, 0, 0, 0):
                    if capability > LEAST_CAPABILITIES and get_errno() == EINVAL:
                        break
                    raise fault()
            if (
                syscall(PRCTL, PR_SET_SECUREBITS, LOCKED_SECUREBITS, 0, 0, 0)
                or syscall(PRCTL, PR_CAP_AMBIENT, CLEAR_ALL, 0, 0, 0)
                or syscall(CAPSET, header, nothing)
            ):
                raise fault()
        if syscall(PRCTL, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
            raise fault()
        # As after an exec: its own /proc files are its own. A change of credentials may take that away.
        step = "be dumpable"
        if syscall(PRCTL, PR_SET_DUMPABLE, 1, 0, 0, 0):
            raise fault()
        if order.ruleset:
            step = "restrict itself with landlock"
            if syscall(LANDLOCK_RESTRICT_SELF, 4, order.quiet):
                raise fault()
            close(4)
        if rules:
            step = "load the system-call filter"
            listener = syscall(SECCOMP, MODE_FILTER, LISTENING if asks else 0, program)
            if listener < 0:
                raise fault()
            if asks:
                step = "hand over the listener"
                extra[2] = listener
                if syscall(SENDMSG, 3, message, 0) < 0:
                    raise fault()
                close(listener)
        step = f"enter {order.folder}"
        chdir(order.folder)
        return inside
    except OSError as error:
        failed(control, step, error.errno)
    except (LookupError, TypeError, ValueError):
        failed(control, step, EINVAL)


def fault():
    return OSError(get_errno(), "")


def close_from(first):
    # To the highest number there is, which is -1 as an int.
    if syscall(CLOSE_RANGE, first, -1, 0):
        if get_errno() != ENOSYS:
            raise fault()
        closerange(first, 1 << 16)
