# claim: The machine has no identity: host name, domain, machine id and boot id are not the host's.
# case: ENV-04
# class: HostLeak
# control: without synthetic etc, uts namespace, mask, landlock
# expect: host name = belljar -> !belljar
# expect: /etc/hostname = belljar -> !belljar
# expect: machine id = 0000000000000000000000000000be11 -> !0000000000000000000000000000be11
# expect: boot id = hidden -> shown
import errno
import json
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
