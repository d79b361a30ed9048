# claim: A crashing guest leaves no core, whatever the host does with cores.
# case: PS-08
# class: HostLeak
# control: without rlimits
# expect: limit = 0 0 -> !0 0
# expect: raise it = ValueError -> ok
# expect: how a crashing child ended = signal 11, no core -> signal 11, a core
import ctypes
import json
import os
import resource


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


tell("limit", "{} {}".format(*resource.getrlimit(resource.RLIMIT_CORE)))
try:
    resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1] or 4096,) * 2)
    tell("raise it", "ok")
except (ValueError, OSError) as error:
    tell("raise it", type(error).__name__)
child = os.fork()
if child == 0:
    ctypes.string_at(0)
status = os.waitpid(child, 0)[1]
tell("how a crashing child ended", f"signal {status & 127}, {'a core' if os.listdir('/jar') else 'no core'}")
