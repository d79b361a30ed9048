# claim: A crashing guest leaves no core, neither in a file nor with a crash handler that the host has behind a pipe.
# case: PS-08
# class: HostLeak
# control: without rlimits, seccomp
# expect: limit = 1 1 -> !1 1
# expect: raise it = ValueError -> ok
# expect: how a crashing child ended = signal 11, no core -> signal 11, a core
# expect: lower it to 0 = ValueError -> ok
import ctypes
import json
import os
import resource

CORE = resource.RLIMIT_CORE


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


def limit(name, soft, hard):
    try:
        resource.setrlimit(CORE, (soft, hard))
        tell(name, "ok")
    except (ValueError, OSError) as error:
        tell(name, type(error).__name__)


soft, hard = resource.getrlimit(CORE)
tell("limit", f"{soft} {hard}")
limit("raise it", 1 << 30, max(hard, 1 << 30) if hard >= 0 else hard)
child = os.fork()
if child == 0:
    ctypes.string_at(0)
status = os.waitpid(child, 0)[1]
tell("how a crashing child ended", f"signal {status & 127}, {'a core' if os.listdir('/jar') else 'no core'}")
# A handler behind a pipe gets every core but one that is limited to exactly 1, even one that is limited to 0.
limit("lower it to 0", 0, hard)
