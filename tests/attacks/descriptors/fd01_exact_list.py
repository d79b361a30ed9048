# claim: Guest and init hold an exact list of descriptors, whatever the caller left open.
# case: FD-01, FD-02
# class: Escape
# given: own warden, leaky caller
# observe: descriptors
# expect: open numbers = 0 1 2 3
# expect: secret through any number = no
import json
import os
import sys


def open_numbers():
    for number in range(65536):
        try:
            os.fstat(number)
            yield number
        except OSError:
            pass


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


numbers = list(open_numbers())
tell("open numbers", " ".join(map(str, numbers)))
found = False
for number in numbers[4:]:
    try:
        found |= b"canary-7f3a" in os.pread(number, 100, 0)
    except OSError:
        pass
tell("secret through any number", "yes" if found else "no")
print('{"ready": true}', flush=True)
sys.stdin.read()
