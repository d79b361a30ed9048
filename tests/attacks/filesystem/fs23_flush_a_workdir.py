# claim: Where a folder of the host can be written, a guest's files there reach the disk when it asks for it.
# case: RS-14
# class: HostDoS
# given: workdir
# expect: flush what is no file = EINVAL
# expect: flush a file of the folder = ok
import errno
import json
import os


def probe(name, descriptor):
    try:
        os.fsync(descriptor)
        saw = "ok"
    except OSError as error:
        saw = errno.errorcode[error.errno]
    print(json.dumps({"probe": name, "saw": saw}))


probe("flush what is no file", os.pipe()[0])
probe("flush a file of the folder", os.open("/jar/written", os.O_RDWR | os.O_CREAT, 0o600))
