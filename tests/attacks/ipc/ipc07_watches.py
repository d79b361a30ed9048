# claim: A guest cannot watch what the host does with files that both see, such as the programs in /usr/bin.
# case: IPC-06
# class: HostLeak
# control: without seccomp
# expect: make a watcher = ENOSYS -> ok
# expect: watch the system's programs = ENOSYS -> ok
import ctypes
import errno
import json
import os

libc = ctypes.CDLL(None, use_errno=True)
IN_ACCESS, IN_OPEN = 1, 32


def probe(name, call):
    answer = call()
    saw = "ok" if answer >= 0 else errno.errorcode[ctypes.get_errno()]
    print(json.dumps({"probe": name, "saw": saw}))
    return answer


watcher = probe("make a watcher", lambda: libc.inotify_init1(os.O_CLOEXEC))
probe("watch the system's programs", lambda: libc.inotify_add_watch(watcher, b"/usr/bin", IN_ACCESS | IN_OPEN))
