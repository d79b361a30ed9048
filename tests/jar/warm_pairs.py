# Leaves marks in every place that a job can reach, or looks for them.
# Arguments: `plant`, `stay`, `look` or `both`, then the names of marks.
import atexit
import builtins
import ctypes
import json
import os
import resource
import signal
import socket
import sys
import threading
import time
from multiprocessing import shared_memory

libc = ctypes.CDLL(None, use_errno=True)
mode, chosen = sys.argv[1], sys.argv[2:]
KEY, IPC_CREAT, MARK = 0x6D61726B, 0o1000, "mark-of-a-job"
kept = []


def touch(path):
    with open(path, "w") as file:
        file.write(MARK)


def listens(address):
    server = socket.socket(socket.AF_UNIX)
    kept.append(server)
    server.bind(address)
    server.listen()


def reaches(family, address):
    try:
        with socket.socket(family) as client:
            client.connect(address)
            return True
    except OSError:
        return False


def tcp():
    server = socket.create_server(("127.0.0.1", 47231))
    kept.append(server)


def daemon():
    if (child := os.fork()) == 0:
        if os.fork() == 0:
            os.setsid()
            libc.prctl(15, b"marked", 0, 0, 0)
            time.sleep(1000)
        os._exit(0)
    os.waitpid(child, 0)
    time.sleep(0.05)


def names():
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            found.add(open(f"/proc/{pid}/comm").read().strip())
        except OSError:
            pass
    return found


def segment():
    memory = shared_memory.SharedMemory(MARK, create=True, size=4096)
    memory.buf[:4] = b"mark"
    kept.append(memory)


def finds_segment():
    try:
        shared_memory.SharedMemory(MARK).close()
        return True
    except FileNotFoundError:
        return False


def thread():
    threading.Thread(target=time.sleep, args=(1000,), name=MARK, daemon=True).start()


def file(path):
    return (lambda: touch(path)), (lambda: os.path.exists(path))


def ipc(call, *size):
    return (lambda: call(KEY, *size, IPC_CREAT | 0o666)), (lambda: call(KEY, *size, 0) != -1)


MARKS = {
    "file in /tmp": file("/tmp/mark"),
    "file in /jar": file("/jar/mark"),
    "file in /dev/shm": file("/dev/shm/mark"),
    "file in HOME": file(os.path.expanduser("~/mark")),
    "module beside the script": file("/jar/json.py"),
    "bytecode": file("/tmp/home/sitecustomize.py"),
    "variable": (lambda: os.environ.update(MARK=MARK), lambda: "MARK" in os.environ),
    "variable of C": (lambda: os.putenv("MARK_OF_C", MARK), lambda: bool(libc.getenv(b"MARK_OF_C"))),
    "module": (lambda: sys.modules.update(mark_of_a_job=sys), lambda: "mark_of_a_job" in sys.modules),
    "function of a module": (lambda: setattr(json, "mark", 1), lambda: hasattr(json, "mark")),
    "builtin": (lambda: setattr(builtins, "mark", 1), lambda: hasattr(builtins, "mark")),
    "builtin replaced": (lambda: setattr(builtins, "ascii", repr), lambda: builtins.ascii is repr),
    "exit handler": (lambda: atexit.register(int), lambda: atexit._ncallbacks() > EXITS),
    "signal handler": (lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN), lambda: signal.getsignal(signal.SIGUSR2) == signal.SIG_IGN),
    "blocked signal": (lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1}), lambda: signal.SIGUSR1 in signal.pthread_sigmask(signal.SIG_BLOCK, set())),
    "timer": (lambda: signal.setitimer(signal.ITIMER_REAL, 1000), lambda: signal.getitimer(signal.ITIMER_REAL)[0] > 0),
    "rank": (lambda: os.nice(3), lambda: os.nice(0) > RANK),
    "limit": (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (77, resource.getrlimit(resource.RLIMIT_NOFILE)[1])), lambda: resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 77),
    "abstract socket": (lambda: listens("\0" + MARK), lambda: reaches(socket.AF_UNIX, "\0" + MARK)),
    "path socket": (lambda: listens("/tmp/mark.sock"), lambda: reaches(socket.AF_UNIX, "/tmp/mark.sock")),
    "tcp port": (tcp, lambda: reaches(socket.AF_INET, ("127.0.0.1", 47231))),
    "shared memory": (segment, finds_segment),
    "System V segment": ipc(libc.shmget, 4096),
    "System V semaphore": ipc(libc.semget, 1),
    "System V queue": ipc(libc.msgget),
    "daemon": (daemon, lambda: "marked" in names()),
    "thread": (thread, lambda: any(thread.name == MARK for thread in threading.enumerate())),
    "descriptor": (lambda: os.dup2(1, 57), lambda: os.path.exists("/proc/self/fd/57")),
    "name of the process": (lambda: libc.prctl(15, MARK.encode(), 0, 0, 0), lambda: open("/proc/self/comm").read().startswith("mark")),
}
# What the host itself was started with.
RANK = int(os.environ["RANK"])
EXITS = atexit._ncallbacks()


if mode == "list":
    print(json.dumps(list(MARKS)), flush=True)
if mode in ("plant", "stay", "both"):
    for name in chosen:
        try:
            MARKS[name][0]()
        except OSError as error:
            print(json.dumps({"refused": f"{name}: {error}"}))
if mode in ("look", "both"):
    print(json.dumps([name for name, (_, found) in MARKS.items() if found()]), flush=True)
if mode == "stay":
    print("up", flush=True)
    sys.stdin.read()
os._exit(0)
