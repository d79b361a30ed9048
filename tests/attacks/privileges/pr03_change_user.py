# claim: There is one user and one group in a jar, and no call changes to another.
# case: PR-03
# class: Escape
# control: without seccomp
# expect: users = 1000 1000 1000
# expect: groups = 1000 1000 1000
# expect: supplementary groups = none
# expect: setuid to itself = EPERM -> ok
# expect: setgid to itself = EPERM -> ok
# expect: setresuid to itself = EPERM -> ok
# expect: setuid 0 = EPERM -> EINVAL
# expect: setgid 0 = EPERM -> EINVAL
# expect: setuid 65534 = EPERM -> EINVAL
# expect: drop groups = EPERM
import errno
import json
import os


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


def probe(name, call, *arguments):
    try:
        call(*arguments)
        tell(name, "ok")
    except OSError as error:
        tell(name, errno.errorcode[error.errno])


tell("users", " ".join(map(str, os.getresuid())))
tell("groups", " ".join(map(str, os.getresgid())))
tell("supplementary groups", " ".join(str(group) for group in os.getgroups() if group != 1000) or "none")
probe("setuid to itself", os.setuid, 1000)
probe("setgid to itself", os.setgid, 1000)
probe("setresuid to itself", os.setresuid, 1000, 1000, 1000)
probe("setuid 0", os.setuid, 0)
probe("setgid 0", os.setgid, 0)
probe("setuid 65534", os.setuid, 65534)
probe("drop groups", os.setgroups, [])
