# claim: The machine has no identity: host name, domain, machine id and boot id are not the host's, and cannot be changed.
# case: ENV-04, NS-04
# class: HostLeak
# control: without seccomp, privileges, synthetic etc, uts namespace, mask, landlock
# expect: host name = belljar -> !belljar
# expect: /etc/hostname = belljar -> *
# expect: machine id = 0000000000000000000000000000be11 -> *
# expect: boot id = hidden -> shown
# expect: set the host name = EPERM -> *
import errno
import json
import os
import socket


def read(path):
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError as error:
        return errno.errorcode[error.errno]


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


tell("host name", socket.gethostname())
tell("/etc/hostname", read("/etc/hostname"))
tell("machine id", read("/etc/machine-id"))
tell("boot id", "shown" if read("/proc/sys/kernel/random/boot_id").count("-") == 4 else "hidden")
try:
    socket.sethostname(socket.gethostname())
    tell("set the host name", "ok")
except OSError as error:
    tell("set the host name", errno.errorcode[error.errno])
