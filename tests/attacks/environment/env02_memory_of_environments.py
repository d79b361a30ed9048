# claim: No process of the jar, its init included, carries the caller's environment, and the guest cannot read init's at all.
# case: ENV-02
# class: HostLeak
# observe: environment
# control: without environment
# expect: our own = clean -> secret
# expect: init's = EACCES
# expect: init's memory = EACCES
# expect: init's arguments = EACCES
import errno
import json
import sys


def look(path):
    try:
        with open(path, "rb") as file:
            return "secret" if b"canary-7f3a" in file.read(1 << 20) else "clean"
    except OSError as error:
        return errno.errorcode[error.errno]


for name, path in (
    ("our own", "/proc/self/environ"),
    ("init's", "/proc/1/environ"),
    ("init's memory", "/proc/1/mem"),
    ("init's arguments", "/proc/1/maps"),
):
    print(json.dumps({"probe": name, "saw": look(path)}))
print('{"ready": true}', flush=True)
sys.stdin.read()
