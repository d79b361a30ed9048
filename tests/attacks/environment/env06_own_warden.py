# claim: The same where the command is its own warden, so that init is a copy of the process that the caller started.
# case: ENV-02
# class: HostLeak
# given: own warden
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
