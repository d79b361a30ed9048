# Opens a device file (1:5, zeros) where the policy shows one, and where only a plan of its own could.
import errno
import json
import os
import sys

facts = json.loads(sys.argv[1])
for name, path in (("open a shown device", "/canary/device"), ("open a device of the plan", facts["planted"])):
    try:
        saw = "ok" if os.read(os.open(path, os.O_RDONLY), 1) == b"\0" else "other content"
    except OSError as error:
        saw = errno.errorcode[error.errno]
    print(json.dumps({"probe": name, "saw": saw}))
