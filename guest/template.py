"""The template: a warm interpreter that never runs a job. Workers are forked from it, one for each jar.

Started by the keeper with a socket at descriptor 3. What is preloaded may be hostile and may patch anything, so all
that is needed later is taken first; and the keeper believes nothing of what it is told here.
"""

# ruff: noqa: E402 - what plain Python has loaded is noted before anything else is.
import sys

known = set(sys.modules)

import _socket
import builtins
import gc
import marshal
import posix
from _io import open_code
from _signal import SIG_BLOCK, SIG_SETMASK, SIGCHLD, pthread_sigmask, signal  # type: ignore[import-not-found]

__builtins__ = dict(vars(builtins))
fork, close, getpid, _exit = posix.fork, posix.close, posix.getpid, posix._exit
folder, _, suffix = __file__.rpartition("/template")
EINTR, EEXIST, EINVAL, WNOHANG = 4, 17, 22, 1
MESSAGE, DESCRIPTORS = 1 << 18, 64


def load_boot():
    path = f"{folder}/boot{suffix}"
    with open_code(path) as file:
        data = file.read()
    scope = {"__name__": "belljar.boot", "__file__": path, "__builtins__": __builtins__}
    exec(marshal.loads(data[16:]) if suffix == ".pyc" else compile(data, path, "exec"), scope)
    scope["ours"][id(globals())] = globals()  # type: ignore[index]
    return scope


def tell(message):
    try:
        socket.send(dump(message).encode())
    except OSError:
        _exit(0)


def receive(size):
    """A message and the descriptors that came with it. A template does not outlive its keeper."""
    try:
        data, extra, _, _ = socket.recvmsg(size, _socket.CMSG_SPACE(4 * DESCRIPTORS), _socket.MSG_CMSG_CLOEXEC)
    except OSError:
        _exit(0)
    if not data:
        _exit(0)
    raw = b"".join(content for _, _, content in extra)
    return data, [int.from_bytes(raw[at : at + 4], "little") for at in range(0, len(raw), 4)]


def parse(text):
    return call["make_scanner"](call["Grammar"])(text, 0)[0]


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
    wish = parse(receive(MESSAGE)[0].decode())
    if wish["filter_bytes"]:
        seal["keep_filter"](receive(MESSAGE)[0])
    boot["add_modules"]()
    names = wish["preload"]
    if names:
        loading = boot["load"]("preload")
        with loading["Exits"]():
            report = loading["preload"](names, flush)
    else:
        report = []
    with_cloudpickle = load_cloudpickle()
    hidden.load("module", "runpy")
    if sys.version_info >= (3, 13):
        hidden.load("text", "linecache")
    ahead(with_cloudpickle)
    # The classes of the syntax tree are made at the first use.
    compile("0", "", "eval", 0x400)
    # A folder of sys.path that is not there now may be there in the jar; ours is nobody's business.
    finders = sys.path_importer_cache
    for path in [path for path, finder in finders.items() if finder is None or path.startswith(folder)]:
        del finders[path]
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


def ahead(with_cloudpickle):
    """What a job with a parcel needs. Its client's cloudpickle takes longer to import than the job to run."""
    before = dict(sys.modules)
    boot["load"]("invoke")["ready"](boot["names"])["part"]("values_types")
    for name in "_pickle", "_ast":
        __import__(name)
    hidden.keep("invoke", before)
    hidden.modules["evaluate"] = hidden.modules["invoke"] | hidden.modules.get("text", {})
    if with_cloudpickle:
        worker["REHEARSAL"].append(worker["invocation"](sys.modules["cloudpickle"].dumps(lambda x: x)))


def reap():
    """Several children may have ended since the last signal."""
    while (pid := syscall(WAIT4, -1, status_address, WNOHANG, usage_address, 0, 0)) > 0:
        numbers = [int.from_bytes(usage.raw[at : at + 8], "little") for at in range(0, 40, 8)]
        cpu = (numbers[0] + numbers[2]) * 1_000_000 + numbers[1] + numbers[3]
        raw = int.from_bytes(status.raw, "little")
        tell({"ended": pid, "status": raw, "max_rss": numbers[4], "cpu_usec": cpu})


def serve():
    """Forks when it is asked to. Comes back in a worker, with what the keeper said and gave."""
    # The signal is let in only while waiting: one that came just before would be noticed with the next message.
    before = signal(SIGCHLD, lambda *_: None)
    mask = pthread_sigmask(SIG_BLOCK, [SIGCHLD])
    while True:
        ready = syscall(PPOLL, poll_address, 1, 0, mask_address, 8, 0)
        if ready < 0 and get_errno() != EINTR:
            _exit(1)
        reap()
        if ready <= 0:
            continue
        data, fds = receive(MESSAGE)
        try:
            order = parse(data.decode())
            pid = spawn(order, fds)
        except BaseException as error:
            # A preload's hook at fork, or its handler of a signal.
            tell({"unable": f"fork a worker: {type(error).__name__}: {error}"[:400]})
            _exit(1)
        if pid == 0:
            signal(SIGCHLD, before)
            pthread_sigmask(SIG_SETMASK, mask)
            return order, fds


def spawn(order, fds):
    """Forks into the jar's pid namespace, and tells the keeper. Gives 0 in the worker."""
    pid, away = -1, "pid" in order["namespaces"]
    answer = {"failed": order["fork"], "step": "join the pid namespace", "errno": 0}
    flush()
    if not away or syscall(SETNS, fds[4], 0, 0, 0, 0, 0) == 0:
        try:
            pid = fork()
            if pid == 0:
                return 0
            answer = {"forked": order["fork"], "pid": pid}
        except OSError as error:
            answer.update(step="fork", errno=error.errno)
        # A template that cannot come back would fork its next worker into somebody else's jar.
        if away and syscall(SETNS, 4, 0, 0, 0, 0, 0) != 0:
            _exit(1)
    else:
        answer["errno"] = get_errno()
    for fd in fds:
        close(fd)
    tell(answer)
    return pid


def become(order, fds):
    """From a copy of the template to a worker that waits for its job."""
    socket.detach()
    # Libraries notice a fork by their process id, and would go on with the template's random numbers.
    if getpid() == own:
        failed(fds[0], "have a process id of its own", EEXIST)
    seal["seal"](order, fds, failed)
    step = "seed random numbers"
    try:
        seeds["reseed"](generators)
        step = "rehearse"
        # Not while a caller waits: the job itself will copy the same memory.
        if order.get("rehearse", True):
            worker["rehearse"](boot, parse, hidden, place, main)
        else:
            boot["attach"]()
        boot["send"](8)
        step = "take the job"
        return worker["worker"](boot, parse, hidden, place)
    except BaseException as error:
        failed(3, f"{step}: {type(error).__name__}: {error}"[:400], getattr(error, "errno", None) or EINVAL)


own, generators = getpid(), []
posix.set_inheritable(3, False)
socket = _socket.socket(fileno=3)
boot = load_boot()
dump = boot["load"]("report")["dump"]
try:
    call, seal, seeds, worker, _, _ = map(boot["load"], ("call", "seal", "seeds", "worker", "script", "ended"))
except (ImportError, LookupError) as error:
    tell({"unable": f"{type(error).__name__}: {error}"})
    _exit(1)
syscall, get_errno, memory, failed = seal["syscall"], seal["get_errno"], seal["memory"], worker["failed"]
WAIT4, PPOLL, SETNS = seal["WAIT4"], seal["PPOLL"], seal["SETNS"]
status, status_address = memory(bytes(4))
usage, usage_address = memory(bytes(256))
# Descriptor 3, for reading; and a mask of signals with none in it.
poll, poll_address = memory((3).to_bytes(4, "little") + b"\1\0\0\0")
mask, mask_address = memory(bytes(8))
# At rest there are the three streams, the socket, and this one: the way back from a jar's pid namespace.
home = posix.open("/proc/self/ns/pid", posix.O_RDONLY | posix.O_CLOEXEC)
if home != 4:
    posix.dup2(home, 4, False)
    close(home)
if sys.stdout is not None:
    sys.stdout.reconfigure(line_buffering=True)
hidden = worker["Hidden"](known)
place = worker["Place"](folder)
boot["job"]["module"] = sys.modules["__main__"] = main = type(sys)("__main__")
try:
    tell({"ready": {"python": list(sys.version_info[:3]), "modules": prepare()}})
except BaseException as error:
    tell({"unable": f"{type(error).__name__}: {error}"[:400]})
    _exit(1)
kind, origin, args = become(*serve())
boot["main"](kind, origin, args)
if kind in ("call", "invoke"):
    # As in boot: a call is over with its value.
    _exit(0)
