# claim: Every way to send a signal reaches the guest's own processes and nothing else; init cannot be killed from inside.
# case: PS-03
# class: HostDoS
# control: without pid namespace, landlock
# expect root: kill a process of the host = ESRCH -> EPERM
# expect root: tgkill it = ESRCH -> EPERM
# expect root: queue a signal to it = ESRCH -> EPERM
# expect user: kill a process of the host = ESRCH -> ok
# expect user: tgkill it = ESRCH -> ok
# expect user: queue a signal to it = ESRCH -> ok
# expect: open a pidfd of it = ESRCH -> ok
# expect: kill init = EPERM, no effect -> not tried
import ctypes
import errno
import json
import os
import sys

decoy = json.loads(sys.argv[1])["decoy"] if len(sys.argv) > 1 else 4000
libc = ctypes.CDLL(None, use_errno=True)
TGKILL, RT_SIGQUEUEINFO, PIDFD_OPEN = 234, 129, 434


def probe(name, result):
    print(json.dumps({"probe": name, "saw": "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]}))


probe("kill a process of the host", libc.kill(decoy, 15))
probe("tgkill it", libc.syscall(TGKILL, decoy, decoy, 15))
info = ctypes.create_string_buffer(128)
ctypes.memmove(info, (15).to_bytes(4, "little") + bytes(4) + (-1).to_bytes(4, "little", signed=True), 12)
probe("queue a signal to it", libc.syscall(RT_SIGQUEUEINFO, decoy, 15, info))
probe("open a pidfd of it", libc.syscall(PIDFD_OPEN, decoy, 0))
saw = "not tried"
if os.getpid() == 2:
    answers = {errno.errorcode[ctypes.get_errno()] if libc.kill(1, number) else "ok" for number in (9, 15, 1, 11, 19)}
    effect = "no effect" if open("/proc/1/stat").read().split()[2] in "SR" else "gone"
    saw = ", ".join([*sorted(answers), effect])
print(json.dumps({"probe": "kill init", "saw": saw}))
