# claim: The jar's init adopts orphans and reaps them, and the guest is an ordinary process, not PID 1.
# case: PS-02
# class: HostDoS
# control: without pid namespace, landlock
# expect: who adopts an orphan = 1 -> !1
# expect: zombies left = 0 -> not ours
# expect: SIGTERM ends a child of ours = 15
import json
import os
import signal
import time


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


ours, theirs = os.pipe()
child = os.fork()
if child == 0:
    middle = os.getpid()
    if os.fork() == 0:
        while os.getppid() == middle:
            time.sleep(0.001)
        os.write(theirs, str(os.getppid()).encode())
    os._exit(0)
os.waitpid(child, 0)
adopter = os.read(ours, 20).decode()
tell("who adopts an orphan", adopter)


def zombies():
    count = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split()[:2] == ["Z", "1"]:
                count += 1
        except OSError:
            pass
    return count


patience = time.monotonic() + 20
while adopter == "1" and zombies() and time.monotonic() < patience:
    time.sleep(0.005)
tell("zombies left", str(zombies()) if adopter == "1" else "not ours")
child = os.fork()
if child == 0:
    time.sleep(10)
os.kill(child, signal.SIGTERM)
tell("SIGTERM ends a child of ours", os.waitpid(child, 0)[1])
