# claim: No request types into, takes over or rewires a terminal, on any stream.
# case: TTY-02
# class: Escape
# control: without seccomp
# expect: TIOCSTI = EPERM EPERM EPERM -> ENOTTY ENOTTY ENOTTY
# expect: TIOCLINUX = EPERM EPERM EPERM -> ENOTTY ENOTTY ENOTTY
# expect: TIOCSCTTY = EPERM EPERM EPERM -> ENOTTY ENOTTY ENOTTY
# expect: TIOCCONS = EPERM EPERM EPERM -> ENOTTY ENOTTY ENOTTY
# expect: TIOCSETD = EPERM EPERM EPERM -> ENOTTY ENOTTY ENOTTY
# expect: FIONREAD = ok ok ok
import errno
import fcntl
import json

REQUESTS = {"TIOCSTI": 0x5412, "TIOCLINUX": 0x541C, "TIOCSCTTY": 0x540E, "TIOCCONS": 0x541D, "TIOCSETD": 0x5423, "FIONREAD": 0x541B}


def ask(number, request):
    try:
        fcntl.ioctl(number, request, b"x" * 8)
        return "ok"
    except OSError as error:
        return errno.errorcode[error.errno]


for name, request in REQUESTS.items():
    print(json.dumps({"probe": name, "saw": " ".join(ask(number, request) for number in range(3))}))
