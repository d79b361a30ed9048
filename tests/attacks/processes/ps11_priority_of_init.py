# claim: A guest cannot make the jar's init slow, so that it is still quick to end the jar when the time is up.
# case: PS-03, TO-03
# class: HostDoS
# control: without seccomp
# expect: renice init = EPERM -> ok
# expect: renice init's group = EPERM -> ok
# expect: renice everyone = EPERM -> ok
# expect: make init idle = EPERM -> ok
# expect: pin init = EPERM -> ok
# expect: change init's parameters = EPERM -> ok
# expect: raise ourselves = EACCES -> EACCES
# expect: renice ourselves = ok
# expect: renice our own number = ok
import errno
import json
import os


def probe(name, call, *arguments):
    try:
        call(*arguments)
        saw = "ok"
    except OSError as error:
        saw = errno.errorcode[error.errno]
    print(json.dumps({"probe": name, "saw": saw}))


probe("renice init", os.setpriority, os.PRIO_PROCESS, 1, 19)
probe("renice init's group", os.setpriority, os.PRIO_PGRP, 1, 19)
probe("make init idle", os.sched_setscheduler, 1, os.SCHED_IDLE, os.sched_param(0))
probe("pin init", os.sched_setaffinity, 1, os.sched_getaffinity(0))
probe("change init's parameters", os.sched_setparam, 1, os.sched_param(0))
probe("raise ourselves", os.setpriority, os.PRIO_PROCESS, 0, -5)
probe("renice ourselves", os.setpriority, os.PRIO_PROCESS, 0, 1)
probe("renice our own number", os.setpriority, os.PRIO_PROCESS, os.getpid(), 2)
probe("renice everyone", os.setpriority, os.PRIO_USER, 0, 19)
