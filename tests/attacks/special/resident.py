# Leaves a queue, a segment, shared memory, a file and a socket lying about, and stays.
import ctypes
import os
import socket
import sys

libc = ctypes.CDLL(None)
libc.msgget(0x6A61, 0o1666)
libc.shmget(0x6A61, 4096, 0o1666)
for path in ("/dev/shm/resident", "/tmp/resident", "/jar/resident"):
    open(path, "w").close()
    os.chmod(path, 0o666)
server = socket.socket(socket.AF_UNIX)
server.bind("\0resident")
server.listen()
print('{"ready": true}', flush=True)
sys.stdin.read()
