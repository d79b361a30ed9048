# claim: The host's root is gone: the mount table holds only what the plan shows, and no folder leads back.
# case: FS-09, PF-07
# class: HostLeak
# control: without root, landlock
# expect: mount points = ["/", "/dev/full", "/dev/null", "/dev/random", "/dev/shm", "/dev/urandom", "/dev/zero", "/jar", "/proc", "/run/belljar/nothing", "/run/belljar/nowhere", "/tmp"] -> ["/", "/boot"*
# expect warm: mount points = ["/", "/dev/full", "/dev/null", "/dev/random", "/dev/shm", "/dev/urandom", "/dev/zero", "/jar", "/proc", "/run/belljar/nothing", "/run/belljar/nowhere", "/script", "/tmp"] -> ["/", "/boot"*
# expect: top folders = none but ours -> !none but ours
import json
import os

points = set()
with open("/proc/self/mountinfo") as table:
    for line in table:
        point = line.split()[4]
        # Masks of /proc, and what the interpreter and the system base consist of, differ between hosts.
        if not point.startswith(("/proc/", "/usr", "/bin", "/sbin", "/lib", "/etc/", "/opt", "/var/cache/fontconfig")):
            if not os.path.__file__.startswith(point + "/") or point == "/":
                points.add(point)
interpreter = os.path.realpath("/proc/self/exe")
points = {point for point in points if point == "/" or not interpreter.startswith(point + "/")}
print(json.dumps({"probe": "mount points", "saw": json.dumps(sorted(points))}))
ours = {"bin", "dev", "etc", "jar", "lib", "lib32", "lib64", "libx32", "opt", "proc", "run", "sbin", "script", "tmp", "usr", "var"}
ours.add(interpreter.split("/")[1])
print(json.dumps({"probe": "top folders", "saw": "none but ours" if set(os.listdir("/")) <= ours else str(os.listdir("/"))}))
