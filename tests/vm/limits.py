"""Whether limits hold for a jar as a whole, from wherever this is started. Prints one line of JSON.

Usage: limits.py BELLJAR. Each attack is made with a limit that it breaks, and with one that it fits into: there it
must succeed.
"""

import json
import subprocess
import sys
from pathlib import Path

ATTACKS = {
    "children": """
import os
done, ready = os.pipe()
hold, release = os.pipe()
for _ in range(8):
    if os.fork() == 0:
        os.close(release)
        data = bytearray(b"x") * (80 << 20)
        os.write(ready, b".")
        os.read(hold, 1)
        os._exit(0)
os.close(ready)
count = 0
while count < 8 and (more := os.read(done, 8)):
    count += len(more)
print("all", count)
""",
    "shared": """
import mmap
data = mmap.mmap(-1, 700 << 20)
for at in range(0, 700 << 20, 4096):
    data[at] = 1
print("all 8")
""",
    "memfd": """
import os
fd = os.memfd_create("x")
for _ in range(700):
    os.write(fd, bytes(1 << 20))
print("all 8")
""",
    "processes": """
import os, time
count = 0
try:
    for count in range(60):
        if os.fork() == 0:
            time.sleep(60)
except OSError:
    raise SystemExit(f"only {count}")
print("all 8")
""",
}
TIGHT = ["--memory", "128M", "--pids", "40"]
ROOMY = ["--memory", "1G", "--pids", "100"]


def run(belljar: str, *words: str) -> dict:
    done = subprocess.run([belljar, "run", "--json", *words], capture_output=True, text=True)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"error": (done.stdout + done.stderr)[-300:], "exit_code": done.returncode}


def own() -> str:
    return Path("/proc/self/cgroup").read_text().strip()


def main() -> None:
    belljar = sys.argv[1]
    before = own()
    first = run(belljar, "-c", "print(6 * 7)")
    layer = first.get("isolation", {}).get("layers", {}).get("cgroup", {})
    found = {"cgroup": layer.get("state"), "detail": layer.get("detail"), "from": before}
    if "error" in first:
        found["error"] = first["error"]
    for name, source in ATTACKS.items():
        if name == "memfd" and layer.get("state") != "full":
            continue
        tight = run(belljar, *TIGHT, "-c", source)
        roomy = run(belljar, *ROOMY, "-c", source)
        held = tight.get("stdout") != "all 8\n" and (tight.get("limit") or tight.get("exit_code"))
        control = roomy.get("stdout") == "all 8\n"
        found[name] = ("held" if held else "NOT HELD") if control else f"CONTROL FAILED {roomy}"
        found[name + "_limit"] = tight.get("limit")
    required = subprocess.run(
        [belljar, "run", "--require-layer", "cgroup", "-c", "print(1)"], capture_output=True, text=True
    )
    found["required"] = required.returncode
    # The caller is where it was; in a unit that was delegated to it, perhaps in a leaf of it.
    found["moved"] = not own().startswith(before)
    print(json.dumps(found))


main()
