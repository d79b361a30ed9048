"""Runs a command in every place that people start programs from. For root of a virtual machine that is thrown away.

Usage: places.py COMMAND… Prints a heading and the command's output for each place.
"""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

USER = "plain"


def out(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.stdout + done.stderr


def manager(running: bool) -> None:
    """With lingering, the user's manager runs without a session."""
    out("loginctl", "enable-linger" if running else "disable-linger", USER)
    folder = Path("/run/user") / out("id", "-u", USER).strip() / "systemd/private"
    for _ in range(600):
        if folder.exists() == running:
            return
        time.sleep(0.1)
    raise SystemExit(f"the manager of {USER} did not change")


def session(command: str) -> str:
    return out("runuser", "-l", USER, "-c", command)


def user_service(*options: str) -> Callable[[str], str]:
    return lambda command: out(
        *("systemd-run", f"--machine={USER}@", "--user", "--quiet", "--pipe", "--wait"),
        *(*options, "sh", "-c", command),
    )


def service(*options: str) -> Callable[[str], str]:
    return lambda command: out(
        *("systemd-run", "--quiet", "--pipe", "--wait", "-p", f"User={USER}"),
        *(*options, "sh", "-c", command),
    )


def cron(command: str) -> str:
    said = Path("/tmp/cron")
    said.mkdir(exist_ok=True)
    os.chmod(said, 0o777)
    for old in said.iterdir():
        old.unlink()
    # Once: the next minute may come before the command has ended.
    table = f"* * * * * crontab -r; ({command}) >/tmp/cron/said 2>&1; touch /tmp/cron/done\n"
    subprocess.run(["crontab", "-u", USER, "-"], input=table, text=True, check=True)
    for _ in range(3000):
        if (said / "done").exists():
            break
        time.sleep(0.1)
    return (said / "said").read_text() if (said / "said").exists() else "cron did nothing"


def root(command: str) -> str:
    return out("systemd-run", "--quiet", "--pipe", "--wait", "sh", "-c", command)


def root_session(command: str) -> str:
    return out("runuser", "-l", "root", "-c", command)


# Those without a manager first: it is slow to go.
PLACES: list[tuple[str, bool, Callable[[str], str]]] = [
    ("session, no lingering", False, session),
    ("service with User=, no manager", False, service()),
    ("service with User= and Delegate=yes, no manager", False, service("-p", "Delegate=yes")),
    ("root in a unit", False, root),
    ("root in a session", False, root_session),
    ("session, lingering", True, session),
    ("user service", True, user_service()),
    ("user scope", True, lambda command: session(f"systemd-run --user --scope -q sh -c {shlex.quote(command)}")),
    ("service with User=", True, service()),
    ("service with User= and MemoryMax=", True, service("-p", "MemoryMax=1G")),
    ("cron", True, cron),
]


def main() -> None:
    command = shlex.join(sys.argv[1:])
    for name, running, start in PLACES:
        manager(running)
        print(f"## {name}", flush=True)
        print(start(command).strip(), flush=True)
        left = [
            line for line in out("systemctl", "list-units", "--all", "belljar-*.scope").splitlines() if ".scope" in line
        ]
        left += [str(path) for path in Path("/sys/fs/cgroup").rglob("belljar-*") if "belljar-job" not in str(path)]
        print("left:", left or "nothing", flush=True)


main()
