"""Every key of a policy, and what it takes. Written by `make docs` from crates/belljar/src/policy/keys.rs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The kind of its value, and what bounds it: names, or least, most, a value that works, and whether "none" does.
KEYS: dict[str, tuple[Any, ...]] = {
    "python": ("python",),
    "venv": ("path",),
    "system": ("switch",),
    "site_packages": ("switch",),
    "locks": ("switch",),
    "network": ("choice", "none", "loopback", "host"),
    "mount": ("mounts",),
    "workdir": ("workdir",),
    "draft": ("switch",),
    "apply": ("switch",),
    "env": ("variables",),
    "timeout": ("duration", 0.001, 31622400, "30s", True),
    "memory": ("size", 16777216, 17592186044416, "512M", False),
    "cpus": ("amount", 0.01, 4096, "1.5", False),
    "cpu_seconds": ("amount", 0.001, 1000000000, "10", True),
    "pids": ("count", 2, 4194304, "128", False),
    "disk": ("size", 65536, 17592186044416, "256M", False),
    "inodes": ("count", 64, 4294967296, "65536", False),
    "open_files": ("count", 16, 1048576, "1024", False),
    "file_size": ("size", 1, 17592186044416, "100M", True),
    "output": ("size", 1, 1099511627776, "1M", False),
    "require": ("choice", "sealed", "screened"),
    "require_layers": (
        "layers",
        *"namespaces root privileges seccomp landlock cgroup rlimits descriptors clock".split(),
    ),
    "profile": ("choice", "default", "strict", "data", "jupyter"),
}
