# claim: Of what the kernel counts for a whole user, the host's own programs included, a guest can take only little: timers, pending signals, open files, watches and keys.
# case: RS-10
# class: HostDoS
# control: without rlimits, seccomp, landlock
# expect: take timers = EAGAIN -> ok
# expect: queue signals to itself = EAGAIN -> ok
# expect: open files = EMFILE -> ok
# expect: make watchers = ENOSYS -> ok
# expect: make keys = EPERM -> ok
# expect: take a few timers = ok
# expect: lock more than is allowed = ENOMEM
import ctypes
import errno
import json
import os
import resource
import signal

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
CALLS = {"x86_64": (222, 226, 129, 248), "aarch64": (107, 111, 138, 217)}
TIMER_CREATE, TIMER_DELETE, SIGQUEUE, ADD_KEY = CALLS[os.uname().machine]
# More than a jar has of each, and less than a user of the host has.
MANY = 1500


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


def repeat(name, times, call):
    made = []
    for _ in range(times):
        answer = call()
        if answer < 0:
            tell(name, errno.errorcode[ctypes.get_errno()])
            return made
        made.append(answer)
    tell(name, "ok")
    return made


def timer():
    made = ctypes.c_int()
    return made.value if libc.syscall(TIMER_CREATE, 1, None, ctypes.byref(made)) == 0 else -1


def drop(timers):
    for number in timers:
        libc.syscall(TIMER_DELETE, number)


drop(repeat("take a few timers", 20, timer))
# They count as pending signals, of which each process could otherwise queue as many again.
drop(repeat("take timers", MANY, timer))
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN})
told = (ctypes.c_int * 32)(signal.SIGRTMIN, 0, -1)
repeat("queue signals to itself", MANY, lambda: libc.syscall(SIGQUEUE, os.getpid(), signal.SIGRTMIN, told))
size = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1] + 4096
memory = libc.mmap(None, ctypes.c_size_t(size), 3, 0x22, -1, ctypes.c_long(0))
repeat("lock more than is allowed", 1, lambda: libc.mlock(ctypes.c_void_p(memory), ctypes.c_size_t(size)))
repeat("make watchers", 1, lambda: libc.inotify_init1(0))
key = ctypes.c_char_p(b"user"), ctypes.c_char_p(b"counted"), ctypes.c_char_p(b"x"), ctypes.c_size_t(1)
repeat("make keys", 1, lambda: libc.syscall(ADD_KEY, *key, -2))
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
repeat("open files", MANY, lambda: libc.dup(0))
