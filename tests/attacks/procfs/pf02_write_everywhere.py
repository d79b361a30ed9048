# claim: Not one file of /proc/sys, and none of the kernel's switches, can be opened for writing.
# case: PF-02
# class: Escape
# control: without mask, landlock, privileges, seccomp
# expect: settings that can be written = 0 -> !0
# expect: settings that were tried = many
# expect: /proc/sysrq-trigger = !ok
# expect: our own security label = !ok
# expect: lower our chance to be killed = !ok
# expect: write through a mask = !ok
import errno
import json
import os

tried = written = 0
for folder, _, names in os.walk("/proc/sys"):
    for name in names:
        tried += 1
        try:
            os.close(os.open(f"{folder}/{name}", os.O_WRONLY))
            written += 1
        except OSError:
            pass


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


def write(path, text):
    try:
        opened = os.open(path, os.O_WRONLY)
        os.write(opened, text)
        return "ok"
    except OSError as error:
        return errno.errorcode[error.errno]


tell("settings that can be written", str(written))
tell("settings that were tried", "many" if tried > 500 else str(tried))
tell("/proc/sysrq-trigger", write("/proc/sysrq-trigger", b"h"))
tell("our own security label", write("/proc/self/attr/current", b"unconfined"))
tell("lower our chance to be killed", write("/proc/self/oom_score_adj", b"-1000"))
tell("write through a mask", write("/proc/keys", b"x"))
