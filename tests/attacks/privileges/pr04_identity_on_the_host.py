# claim: On the host the guest is one user that is not root, and nobody else is mapped into the jar.
# case: PR-04
# class: Escape
# observe: ids
# control: without own user
# expect: uid_map lines = 1
# expect: rewrite uid_map = !ok
# expect: rewrite gid_map = !ok
# expect: rewrite setgroups = !ok
import errno
import json
import os
import sys


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


def write(path, text):
    try:
        opened = os.open(path, os.O_WRONLY)
        os.write(opened, text)
        return "ok"
    except OSError as error:
        return errno.errorcode[error.errno]


tell("uid_map lines", str(len(open("/proc/self/uid_map").read().splitlines())))
tell("rewrite uid_map", write("/proc/self/uid_map", b"0 0 1\n"))
tell("rewrite gid_map", write("/proc/self/gid_map", b"0 0 1\n"))
tell("rewrite setgroups", write("/proc/self/setgroups", b"allow"))
print('{"ready": true}', flush=True)
sys.stdin.read()
