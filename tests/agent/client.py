"""The smallest client of `belljar agent` (docs/reference/agent.md). The tests put a body below it."""
# ruff: noqa: F401 - what the bodies need

import array
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

HELLO, OPEN, JOB, CANCEL, INTERRUPT, CLOSE, STATS = range(1, 8)
WELCOME, OPENED, OUTPUT, VALUE, OUTCOME, ERROR, CLOSED, FIGURES = range(64, 72)
PREFIX = struct.Struct("<BBBBIQQ")


class Client:
    def __init__(self, binary, version):
        self.socket, theirs = socket.socketpair()
        self.agent = subprocess.Popen([binary, "agent"], stdin=theirs)
        theirs.close()
        self.last = 0
        self.send(HELLO, 0, {"protocol": 1, "version": version, "pid": os.getpid()})
        assert self.receive()[0] == WELCOME

    def send(self, kind, number, header, *parts):
        """Small bodies only; each part begins at a multiple of 64."""
        body = b""
        for part in parts:
            body += bytes(-len(body) % 64) + part
        text = json.dumps(header).encode()
        self.socket.sendall(PREFIX.pack(kind, 1, 0, 0, len(text), number, len(body)) + text + body)

    def read(self, length, descriptors=None):
        data = b""
        while len(data) < length:
            piece, ancillary, _, _ = self.socket.recvmsg(length - len(data), 64)
            if not piece:
                raise EOFError
            data += piece
            for _, _, numbers in ancillary:
                descriptors.extend(array.array("i", numbers))
        return data

    def receive(self):
        descriptors = []
        kind, _, flags, _, header, number, body = PREFIX.unpack(self.read(PREFIX.size, descriptors))
        text = json.loads(self.read(header))
        if not flags:
            return kind, number, text, self.read(body)
        with open(descriptors[0], "rb") as file:
            return kind, number, text, file.read()

    def request(self, kind, header, *parts):
        self.last += 1
        self.send(kind, self.last, header, *parts)
        return self.last

    def code(self, sandbox, source, **more):
        return self.request(JOB, {"sandbox": sandbox, "kind": "code", "parts": [len(source)], **more}, source)

    def open(self, **policy):
        number = self.request(OPEN, {"policy": policy})
        answer = self.receive()
        assert answer[:2] == (OPENED, number), answer
        return number

    def busy(self, jobs):
        """So many jobs that run and will not end by themselves."""
        sandbox = self.open(timeout="none")
        source = b"import time\nprint('on', flush=True)\ntime.sleep(600)"
        numbers = {self.code(sandbox, source, stream=True) for _ in range(jobs)}
        while numbers:
            kind, number, _, _ = self.receive()
            assert kind == OUTPUT, kind
            numbers.discard(number)


client = None


def tell(*words):
    print(*words, flush=True)
