# claim: A module that leaves a descriptor open is named, and jobs run cold.
# case: FK-06
# class: Lateral
# given: preload
# cold: open; importing hostile did that
import socket

if TEMPLATE:
    ours, theirs = socket.socketpair()
