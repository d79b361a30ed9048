# claim: Descriptors that a guest pushes through its control socket do not pile up in the warden, and none comes back.
# case: NET-09, FD-05
# class: HostDoS
# observe: warden descriptors
# outcome: exited
# expect: messages with descriptors = sent
# expect: descriptors received = none
import json
import os
import socket
import sys

# The control socket, as any guest finds it.
control = socket.socket(fileno=os.dup(3))
control.setblocking(False)
sent = 0
try:
    for _ in range(2000):
        # A frame of 16 bytes: a kind that is no end of the job, version 1, nothing behind it.
        socket.send_fds(control, [b"\x7f\x01" + bytes(14)], [0] * 8)
        sent += 1
except OSError:
    pass
print(json.dumps({"probe": "messages with descriptors", "saw": "sent" if sent else "refused"}))
try:
    received = socket.recv_fds(control, 16, 8)[1]
except OSError:
    received = []
print(json.dumps({"probe": "descriptors received", "saw": str(len(received)) if received else "none"}))
print('{"ready": true}', flush=True)
sys.stdin.read()
