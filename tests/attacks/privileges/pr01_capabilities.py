# claim: No task of the jar, init included, has a capability in any set or can gain one, and every task is filtered.
# case: PR-01, PR-02, SC-10, PS-02
# class: Escape
# observe: status
# control: without privileges, seccomp, landlock
# expect: capabilities = 0 0 0 0 0 -> !0 0 0 0 0
# expect: no_new_privs = 1 -> 0
# expect warm: no_new_privs = 1 -> 1
# expect: securebits = 239 -> 0
# expect: raise an ambient capability = EINVAL -> EPERM
# expect: regain them by capset = EPERM -> ok
import ctypes
import errno
import json
import sys
import threading

libc = ctypes.CDLL(None, use_errno=True)
CAPSET = 126


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


def answer(result):
    return "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]


# A second thread, so that the host has more than one task to look at.
waiter = threading.Thread(target=sys.stdin.read)
waiter.start()
status = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
tell("capabilities", " ".join(f"{int(status[name], 16):x}" for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")))
tell("no_new_privs", status["NoNewPrivs"])
tell("securebits", str(libc.prctl(27, 0, 0, 0, 0)))
tell("raise an ambient capability", answer(libc.prctl(47, 2, 21, 0, 0)))
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
sets = (ctypes.c_uint32 * 6)(1 << 21, 1 << 21, 0, 0, 0, 0)
tell("regain them by capset", answer(libc.syscall(CAPSET, header, sets)))
print('{"ready": true}', flush=True)
waiter.join()
