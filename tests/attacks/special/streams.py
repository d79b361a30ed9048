# Tells what each descriptor is.
import os

kinds = []
for number in sorted(int(name) for name in os.listdir("/proc/self/fd")):
    try:
        kinds.append(f"{number} {os.readlink(f'/proc/self/fd/{number}').split(':')[0]}")
    except OSError:
        pass  # the folder itself, which is closed again
print(", ".join(kinds))
