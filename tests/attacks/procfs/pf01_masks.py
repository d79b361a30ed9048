# claim: What of /proc tells of the host's hardware, kernel and keys is empty or closed.
# case: PF-01, PF-06, PF-07
# class: HostLeak
# control: without mask, landlock
# expect: readable secrets of the kernel = none
# expect: masked and readable = none -> !none
# expect: load and hardware = none -> all
# expect: how the kernel was built = none -> all
# expect: on some kernels = none -> !none
# expect: settings of the kernel = 0 -> !0
# expect: /proc/cpuinfo = ok
# expect: /proc/meminfo = ok
# expect: /proc/self/maps = ok
import errno
import json
import os

# Only the host's root may read these, whether they are masked or not.
CLOSED = "kcore kmsg kpagecount kpageflags kpagecgroup sysrq-trigger vmallocinfo slabinfo timer_list pagetypeinfo"
MASKED = """acpi asound bootconfig bus cmdline driver fs interrupts irq kallsyms key-users keys latency_stats locks modules mtrr
sched_debug scsi zoneinfo sys/kernel/random/boot_id"""
# The first two are there on every kernel.
LOAD = "buddyinfo diskstats iomem ioports partitions softirqs swaps sys/kernel/core_pattern sys/kernel/pid_max"
BUILD = "cgroups consoles crypto devices execdomains misc tty"
MAYBE = "config.gz dma pressure"


def read(path):
    try:
        if os.path.isdir(path):
            return bool(os.listdir(path))
        with open(path, "rb", buffering=0) as file:
            return bool(file.read(64))
    except OSError:
        return False


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


tell("readable secrets of the kernel", " ".join(name for name in CLOSED.split() if read(f"/proc/{name}")) or "none")
tell("masked and readable", " ".join(name for name in MASKED.split() if read(f"/proc/{name}")) or "none")
for title, names in (("load and hardware", LOAD), ("how the kernel was built", BUILD), ("on some kernels", MAYBE)):
    found = [name for name in names.split() if read(f"/proc/{name}")]
    tell(title, "none" if not found else "all" if len(found) == len(names.split()) else " ".join(found))
tell("settings of the kernel", str(len(os.listdir("/proc/sys/kernel"))))
for path in ("/proc/cpuinfo", "/proc/meminfo", "/proc/self/maps"):
    tell(path, "ok" if read(path) else "closed")
