# claim: Addresses of physical memory are not shown.
# case: PF-08
# class: HostLeak
# expect: frames of our own pages = 0
# expect: kernel addresses = none
import json
import mmap

import ctypes


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


page = mmap.mmap(-1, 4096)
page.write(b"x")
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
try:
    with open("/proc/self/pagemap", "rb", buffering=0) as file:
        file.seek(address // 4096 * 8)
        entry = int.from_bytes(file.read(8), "little")
    tell("frames of our own pages", str(entry & ((1 << 55) - 1)))
except OSError:
    tell("frames of our own pages", "0")
wide = [field for field in open("/proc/self/stat").read().split() if field.isdigit() and int(field) >= 1 << 63]
wide = [field for field in wide if int(field) != (1 << 64) - 1]
tell("kernel addresses", " ".join(wide) or "none")
