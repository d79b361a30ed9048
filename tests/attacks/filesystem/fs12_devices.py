# claim: /dev holds five harmless devices, links to the guest's own streams and its shared memory, and nothing else.
# case: FS-12, TTY-01
# class: Escape
# control: without root, landlock
# expect: /dev = fd full null random shm stderr stdin stdout urandom zero -> !fd full null random shm stderr stdin stdout urandom zero
# expect: numbers = 1:3 1:5 1:7 1:8 1:9 -> !1:3 1:5 1:7 1:8 1:9
# expect: /dev/tty = ENOENT -> !ENOENT
# expect: write to /dev/null = ok -> EACCES
import errno
import json
import os
import stat

names = sorted(os.listdir("/dev"))
print(json.dumps({"probe": "/dev", "saw": " ".join(names)}))
numbers = []
for name in names:
    found = os.lstat(f"/dev/{name}")
    if stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode):
        numbers.append(f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}")
print(json.dumps({"probe": "numbers", "saw": " ".join(sorted(numbers))}))
for name, path, flags in (("/dev/tty", "/dev/tty", os.O_RDWR), ("write to /dev/null", "/dev/null", os.O_WRONLY)):
    try:
        os.close(os.open(path, flags))
        saw = "ok"
    except OSError as error:
        saw = errno.errorcode[error.errno]
    print(json.dumps({"probe": name, "saw": saw}))
