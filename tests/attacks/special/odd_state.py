# Tells what a guest has inherited of its caller's rank and state.
import ctypes
import errno
import json
import os


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


status = dict(line.rstrip("\n").split(":\t", 1) for line in open("/proc/self/status") if ":\t" in line)
tell("scheduling", f"{os.sched_getscheduler(0)} {os.getpriority(os.PRIO_PROCESS, 0)}")
tell("disk priority", str(ctypes.CDLL(None).syscall(252, 1, 0) >> 13))
tell("personality", open("/proc/self/personality").read().strip())
tell("mask", status["Umask"])
tell("taken first when memory is out", open("/proc/self/oom_score_adj").read().strip())
tell("blocked signals", status["SigBlk"])
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    tell("raise it again", "ok")
except OSError as error:
    tell("raise it again", errno.errorcode[error.errno])
