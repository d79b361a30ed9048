# claim: A template that sends its keeper forged words, rubbish and descriptors gets nothing for it, and jobs have outcomes.
# case: FK-09, CP-01
# class: PeerDoS
# given: preload
# expect: words sent = many
# expect: the job = ran
import json
import os
import socket

if TEMPLATE:
    keeper = socket.socket(fileno=os.dup(3))
    words = [
        b"rubbish",
        b"[" * 5000,
        b"\xff\xfe\x00",
        json.dumps({"forked": 1, "pid": 1}).encode(),
        json.dumps({"forked": 1, "pid": -1}).encode(),
        json.dumps({"forked": 2**63, "pid": os.getpid()}).encode(),
        json.dumps({"ended": 1, "status": 0, "max_rss": 2**63, "cpu_usec": 2**63}).encode(),
        json.dumps({"failed": 1, "step": "x" * 60000, "errno": -1}).encode(),
        json.dumps({"failed": 1, "step": "\x1b[2J", "errno": 2**31 - 1}).encode(),
        json.dumps({"ready": 7}).encode(),
        json.dumps({"Make": {"number": 1}}).encode(),
        json.dumps({"Parked": {"number": 1, "worker_pid": 1}}).encode(),
    ]
    for _ in range(50):
        for word in words:
            keeper.send(word)
        socket.send_fds(keeper, [b"{}"], [0] * 100)
    keeper.close()
    tell("words sent", "many")


def job():
    print(json.dumps({"probe": "the job", "saw": "ran"}))
