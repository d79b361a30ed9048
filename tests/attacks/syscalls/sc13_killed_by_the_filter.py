# claim: A guest that uses the 32-bit entry dies of SIGSYS, and the host says so.
# case: SC-06, PS-02
# class: Escape
# control: without seccomp
# outcome: signalled 31 -> returned
# expect: before = reached
# expect: after = not tried -> reached
import ctypes
import json
import mmap
import sys

print(json.dumps({"probe": "before", "saw": "reached"}), flush=True)
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("53b814000000cd805bc3"))
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
print(json.dumps({"probe": "after", "saw": "reached"}), flush=True)
