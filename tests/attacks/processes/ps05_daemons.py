# claim: A daemon that left its session, its parents and every signal behind is gone when the run ends.
# case: PS-05
# class: HostDoS
# control: without pid namespace, cgroup, seccomp
# left: nothing -> a process
# expect: the daemon runs = yes
# expect: become a subreaper = EINVAL -> ok
import ctypes
import errno
import json
import os
import signal
import time

libc = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
ours, theirs = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        libc.prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)
        for number in range(1, 65):
            if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
                signal.signal(number, signal.SIG_IGN)
        os.write(theirs, b"yes")
        os.closerange(0, 1024)
        time.sleep(60)
    os._exit(0)
os.wait()
print(json.dumps({"probe": "the daemon runs", "saw": os.read(ours, 3).decode()}))
done = libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
print(json.dumps({"probe": "become a subreaper", "saw": "ok" if done == 0 else errno.errorcode[ctypes.get_errno()]}))
