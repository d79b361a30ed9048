# claim: A guest cannot make device files, not even the one that the kernel gives to everyone; pipes and plain files it can.
# case: FS-11
# class: Escape
# control: without seccomp, landlock
# expect: character device 0:0 in /tmp = EPERM -> ok
# expect: character device 0:0 in /jar = EPERM -> ok
# expect: the memory of the machine = EPERM
# expect: the first disk = EPERM
# expect: a named pipe = ok
# expect: a plain file = ok
import errno
import json
import os
import stat


def probe(name, path, mode, device=0):
    try:
        os.mknod(path, mode | 0o600, device)
        saw = "ok"
    except OSError as error:
        saw = errno.errorcode[error.errno]
    print(json.dumps({"probe": name, "saw": saw}))


probe("character device 0:0 in /tmp", "/tmp/c", stat.S_IFCHR)
probe("character device 0:0 in /jar", "/jar/c", stat.S_IFCHR)
probe("the memory of the machine", "/tmp/mem", stat.S_IFCHR, os.makedev(1, 1))
probe("the first disk", "/tmp/disk", stat.S_IFBLK, os.makedev(254, 0))
probe("a named pipe", "/tmp/pipe", stat.S_IFIFO)
probe("a plain file", "/tmp/file", stat.S_IFREG)
