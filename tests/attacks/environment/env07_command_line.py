# claim: The command line that started belljar, with the host's paths in it, is not to be read in the jar.
# case: ENV-02, PF-07
# class: HostLeak
# given: own warden
# expect: command line of init = belljar init
# expect: command line of our own child = readable
# expect warm: command line of our own child = not
# expect: program of init = EACCES
import errno
import json
import os
import time


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


tell("command line of init", open("/proc/1/cmdline").read().replace("\0", " ").strip())
child = os.fork()
if child == 0:
    time.sleep(10)
tell("command line of our own child", "readable" if os.path.basename(__file__) in open(f"/proc/{child}/cmdline").read() else "not")
os.kill(child, 9)
try:
    tell("program of init", os.readlink("/proc/1/exe"))
except OSError as error:
    tell("program of init", errno.errorcode[error.errno])
