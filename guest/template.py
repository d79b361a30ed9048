"""The template: a warm interpreter that never runs a job. Workers are forked from it, one for each jar.

Started by the keeper with a socket at descriptor 3. What is preloaded may be hostile and may patch anything, so all
that is needed later is taken first; and the keeper believes nothing of what it is told here.
"""

# ruff: noqa: E402 - what plain Python has loaded is noted before anything else is.
import sys

known = set(sys.modules)

import builtins
import gc
import marshal
import posix
from _io import open_code
from _signal import SIG_BLOCK, SIGCHLD, pthread_sigmask  # type: ignore[import-not-found]
from posix import _exit, chdir, close, fork, getpid, read, write
from time import perf_counter_ns as now
from time import sleep

__builtins__ = dict(vars(builtins))
folder, _, suffix = __file__.rpartition("/template")
EINTR, EEXIST, EINVAL, WNOHANG, CLOEXEC = 4, 17, 22, 1, 0x40000000
# The first messages may be long; what asks for a worker is short, and every page of memory here is one in all of them.
LONG, SHORT, ROOM = 1 << 18, 1 << 12, 16 + 4 * 64
# A job of each shape so many times, until the interpreter has filled its caches.
REHEARSALS = 3
# Seconds that a worker which has done its job waits for its end; the host needs microseconds.
LONGEST = 3600
MOST = (1 << 32) - 1
PARKED = 8


def load_boot():
    path = f"{folder}/boot{suffix}"
    with open_code(path) as file:
        data = file.read()
    scope = {"__name__": "belljar.boot", "__file__": path, "__builtins__": __builtins__}
    exec(marshal.loads(data[16:]) if suffix == ".pyc" else compile(data, path, "exec"), scope)
    scope["ours"][id(globals())] = globals()  # type: ignore[index]
    return scope


def tell(message):
    say(dump(message).encode())


def say(text):
    """One message. A template does not outlive its keeper."""
    try:
        write(3, text)
    except OSError:
        _exit(0)


def expect(size):
    """Makes room for messages of this size."""
    text[:] = [seal["memory"](bytes(size))]
    vector[:] = address(text[0]), size


def receive():
    """A message, and the descriptors that came with it."""
    message[5] = ROOM
    while (size := syscall(RECVMSG, 3, message, CLOEXEC)) <= 0:
        if size == 0 or get_errno() != EINTR:
            _exit(0)
    # In front of the descriptors stand the length of it all and what kind of thing it is.
    return text[0][:size], extra[4 : extra[0] // 4] if message[5] else []


def parse(text):
    return scan(text, 0)[0]


def flush():
    """What is still in a buffer at a fork would be printed by every worker."""
    for stream in sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__:
        try:
            stream.flush()
        except Exception:
            pass
    seal["fflush"](0)


def prepare():
    """Loads what the keeper names, and what jobs need."""
    wish = parse(receive()[0].decode())
    if wish["filter_bytes"]:
        seal["keep_filter"](receive()[0], wish.get("locks"))
    boot["add_modules"]()
    expect(SHORT)
    preloaded[:] = names = wish["preload"]
    if names:
        loading = boot["load"]("preload")
        # Modules of the caller's own may import the package.
        finders = [boot["names"]("invoke")["Finder"](boot["names"])] if "/own" in sys.path else []
        sys.meta_path[:0] = finders
        # A cold run imports them where it works: some make a path absolute at import.
        loading["enter"]()
        with loading["Exits"]():
            report = loading["preload"](names, flush, tell)
        chdir("/")
        sys.meta_path[:] = [each for each in sys.meta_path if each not in finders]
    else:
        report = []
    with_cloudpickle = load_cloudpickle()
    if sys.version_info >= (3, 13):
        hidden.load("text", "linecache")
    # Jobs of other clients have no parcels, and a fifth of a worker's memory would be for nothing.
    if with_cloudpickle:
        ahead()
    # The classes of the syntax tree are made at the first use.
    compile("0", "", "eval", 0x400)
    # A folder of sys.path that is not there now may be there in the jar; ours is nobody's business.
    finders = sys.path_importer_cache
    for path in [path for path, finder in finders.items() if finder is None or path.startswith(folder)]:
        del finders[path]
    # What is preloaded may have put something in front of sys.path.
    place.reset()
    # Caches that are filled here are there in every worker.
    for _ in range(REHEARSALS):
        worker["rehearse"](boot, parse, hidden, place, main, worker["SHAPES"])
    generators[:] = seeds["find"]()
    flush()
    gc.collect()
    gc.freeze()
    return report


def load_cloudpickle():
    """Before anything is hidden: what it shares with hidden modules must not be there twice."""
    try:
        posix.stat("/modules/cloudpickle")
    except OSError:
        return False
    with boot["names"]("preload")["Exits"]():
        try:
            __import__("cloudpickle")
        except Exception:
            # A job that needs it will say so.
            return False
    return True


def ahead():
    """What a job with a parcel needs. Its client's cloudpickle takes longer to import than the job to run."""
    before = dict(sys.modules)
    boot["names"]("invoke")["ready"](boot["names"])["part"]("values_types")
    boot["load"]("chain")
    for name in "_pickle", "_ast":
        __import__(name)
    hidden.keep("invoke", before)
    hidden.modules["evaluate"] = hidden.modules["invoke"] | hidden.modules.get("text", {})
    # A third item is read and used by nobody: a function that comes without cloudpickle.
    plain = rehearsed.__code__, {"__name__": (0, ""), "x": (2, "builtins", "int")}, [], ("", "", "", None), (0, None), 0
    items = sys.modules["cloudpickle"].dumps(lambda x: x), b"M" + marshal.dumps(((0,), {})), b"F" + marshal.dumps(plain)
    worker["SHAPES"].append(worker["invocation"](*items))


def rehearsed(x):
    return x


def reap():
    """Several children may have ended since the last signal."""
    read(5, 128)
    while (pid := syscall(WAIT4, -1, status, WNOHANG, usage)) > 0:
        cpu = (usage[0] + usage[2]) * 1_000_000 + usage[1] + usage[3]
        say(b'{"ended": %d, "status": %d, "max_rss": %d, "cpu_usec": %d}' % (pid, status[0], usage[4], cpu))


def serve():
    """Forks when it is asked to. Comes back in a worker, with what the keeper said and gave."""
    # Ends of children are read like messages. No handler is set, so a worker has none to take back.
    pthread_sigmask(SIG_BLOCK, [SIGCHLD])
    while True:
        if syscall(PPOLL, poll, 2, 0, 0, 8) < 0:
            if get_errno() != EINTR:
                _exit(1)
            continue
        if poll[3] != READABLE:
            reap()
        if poll[1] == READABLE:
            continue
        try:
            data, fds = receive()
            line, _, fixed = data.partition(b"\n")
            if fixed not in orders:
                orders[fixed] = seal["Order"](parse(fixed.decode()))
            order = orders[fixed]
            # Its number, whether to rehearse, and the processors that it may use if not all.
            number, rehearse, *processors = map(int, line.split())
            pid = spawn(number, order.away, fds)
        except BaseException as error:
            # A preload's hook at fork, or its handler of a signal.
            tell({"unable": f"fork a worker: {type(error).__name__}: {error}"[:400]})
            _exit(1)
        if pid == 0:
            return order, rehearse, processors, fds


def spawn(number, away, fds):
    """Forks into the jar's pid namespace, and tells the keeper. Gives 0 in the worker."""
    pid, step, errno = -1, "join the pid namespace", 0
    if preloaded:
        flush()
    if not away or syscall(SETNS, fds[4], 0) == 0:
        try:
            pid = fork()
            if pid == 0:
                return 0
        except OSError as error:
            step, errno = "fork", error.errno
        # A template that cannot come back would fork its next worker into somebody else's jar.
        if away and syscall(SETNS, 4, 0) != 0:
            _exit(1)
    else:
        errno = get_errno()
    for fd in fds:
        close(fd)
    if pid > 0:
        say(b'{"forked": %d, "pid": %d}' % (number, pid))
    else:
        tell({"failed": number, "step": step, "errno": errno})
    return pid


def become(order, rehearse, processors, fds):
    """From a copy of the template to a worker that waits for its job."""
    born = now()
    # Libraries notice a fork by their process id, and would go on with the template's random numbers.
    if getpid() == own:
        failed(fds[0], "have a process id of its own", EEXIST)
    inside = seal["seal"](order, processors, fds, failed)
    step = "seed random numbers"
    try:
        seeds["reseed"](generators)
        step, sealed = "rehearse", now()
        # Memory is copied now and not while somebody waits; if a caller does, the job itself will copy the same.
        if rehearse:
            worker["rehearse"](boot, parse, hidden, place, main, worker["SHAPES"][1:])
        else:
            boot["attach"]()
        # How long it took to walk in and to rehearse, for the figures of the pool: microseconds.
        took = (min(nanoseconds // 1000, MOST) for nanoseconds in (inside - born, now() - sealed))
        boot["send"](PARKED, b"", b"".join(micros.to_bytes(4, "little") for micros in took))
        step = "take the job"
        return worker["worker"](boot, parse, hidden)
    except BaseException as error:
        failed(3, f"{step}: {type(error).__name__}: {error}"[:400], getattr(error, "errno", None) or EINVAL)


own, generators, orders, preloaded = getpid(), [], {}, []
posix.set_inheritable(3, False)
boot = load_boot()
dump = boot["load"]("report")["dump"]
try:
    call, seal, seeds, worker, _, _ = map(boot["load"], ("call", "seal", "seeds", "worker", "script", "ended"))
except (ImportError, LookupError) as error:
    tell({"unable": f"{type(error).__name__}: {error}"})
    _exit(1)
syscall, get_errno, address, failed = seal["syscall"], seal["get_errno"], seal["addressof"], worker["failed"]
WAIT4, PPOLL, SETNS, RECVMSG, Int, Long = map(seal.get, ("WAIT4", "PPOLL", "SETNS", "RECVMSG", "Int", "Long"))
scan = call["scan"]
# What a message is read into: its text, and what comes beside it.
text, vector, extra = [], (Long * 2)(), (Int * (ROOM // 4))()
message = (Long * 7)(0, 0, address(vector), 1, address(extra), ROOM, 0)
expect(LONG)
status, usage = (Int * 1)(), (Long * 18)()
# Descriptors 3 and 5: what is wanted of each, in the lower half of a number, and above it what is there.
READABLE = 1
poll = (Int * 4)(3, READABLE, 5, READABLE)
# At rest there are the three streams, the socket, and these two: the way back from a jar's pid namespace, and the ends
# of children.
rest = (
    posix.open("/proc/self/ns/pid", posix.O_RDONLY | posix.O_CLOEXEC),
    syscall(seal["SIGNALFD"], -1, (Long * 1)(1 << SIGCHLD - 1), 8, posix.O_CLOEXEC),
)
if rest != (4, 5):
    tell({"unable": f"have descriptors 4 and 5, not {rest}"})
    _exit(1)
if sys.stdout is not None:
    sys.stdout.reconfigure(line_buffering=True)
hidden = worker["Hidden"](known)
place = worker["Place"](folder)
sys.modules["__main__"] = main = type(sys)("__main__")
worker["settle"](boot["job"], place, main)
try:
    tell({"ready": {"python": list(sys.version_info[:3]), "modules": prepare()}})
except BaseException as error:
    tell({"unable": f"{type(error).__name__}: {error}"[:400]})
    _exit(1)
kind, origin, args = become(*serve())
boot["main"](kind, origin, args)
if kind in ("call", "invoke"):
    # As in boot: a call is over with its value. To end takes a while, and whoever waits for the value wants the
    # processor: where the host ends the jar anyway, that is waited for.
    try:
        if boot["job"]["stays"]:
            sleep(LONGEST)
    finally:
        _exit(0)
