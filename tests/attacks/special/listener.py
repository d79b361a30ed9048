# Listens on every address it has.
import json
import socket
import sys

server = socket.socket()
server.bind(("0.0.0.0", 0))
server.listen()
print(json.dumps({"probe": "port", "saw": server.getsockname()[1]}))
print('{"ready": true}', flush=True)
sys.stdin.read()
