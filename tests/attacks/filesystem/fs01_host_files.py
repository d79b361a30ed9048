# claim: Files of the host that the policy does not name are not there, whoever started the jar.
# case: FS-01, FS-07
# class: HostLeak
# control: without root, landlock
# expect: /etc/shadow = ENOENT -> ok
# expect: /root = ENOENT -> ok
# expect: /home = ENOENT -> ok
# expect: /boot = ENOENT -> ok
# expect: /var/log = ENOENT -> ok
# expect: /sys = ENOENT -> ok
# expect: docker socket = ENOENT -> ok
# expect: secret = ENOENT -> canary-7f3a-secret
# expect: secret through a symlink in /jar = ENOENT -> canary-7f3a-secret
# expect: secret through /proc/self/root = ENOENT -> canary-7f3a-secret
# expect: ~/.ssh = ENOENT
import errno
import json
import os
import sys

secret = json.loads(sys.argv[1])["secret"] if len(sys.argv) > 1 else "/home/user/.ssh/id_ed25519"


def probe(name, call):
    try:
        saw = call()
    except OSError as error:
        saw = errno.errorcode[error.errno]
    print(json.dumps({"probe": name, "saw": saw}))


def stat(path):
    os.stat(path)
    return "ok"


for path in ("/etc/shadow", "/root", "/home", "/boot", "/var/log", "/sys"):
    probe(path, lambda: stat(path))
probe("docker socket", lambda: stat("/run/docker.sock"))
probe("secret", lambda: open(secret).read())
os.symlink(secret, "/jar/link")
probe("secret through a symlink in /jar", lambda: open("/jar/link").read())
probe("secret through /proc/self/root", lambda: open("/proc/self/root" + secret).read())
probe("~/.ssh", lambda: stat(os.path.expanduser("~/.ssh")))
