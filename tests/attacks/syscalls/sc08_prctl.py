# claim: prctl reads and tightens; whatever could loosen, or reaches past the caller, is not there.
# case: SC-08
# class: Escape
# control: without seccomp
# expect: PR_SET_NAME = ok
# expect: PR_GET_NAME = ok
# expect: PR_GET_SECCOMP = ok
# expect: PR_SET_NO_NEW_PRIVS 1 = ok
# expect: PR_SET_NO_NEW_PRIVS 0 = EINVAL
# expect: PR_SET_SECCOMP = EINVAL -> !EINVAL
# expect: PR_SET_DUMPABLE 1 = EINVAL -> ok
# expect: PR_SET_SECUREBITS = EINVAL -> EPERM
# expect: PR_SET_KEEPCAPS = EINVAL -> EPERM
# expect: PR_CAP_AMBIENT = EINVAL -> ok
# expect: PR_SET_MM = EINVAL -> EPERM
# expect: PR_SET_PTRACER = EINVAL -> !EPERM
# expect: PR_SET_CHILD_SUBREAPER = EINVAL -> ok
# expect: PR_SET_SPECULATION_CTRL = EINVAL -> !EINVAL
# expect: PR_SET_TSC = EINVAL -> ok
# expect: PR_MCE_KILL = EINVAL -> ok
# expect: PR_SET_IO_FLUSHER = EINVAL -> EPERM
# expect: PR_SCHED_CORE = EINVAL
import ctypes
import errno
import json

libc = ctypes.CDLL(None, use_errno=True)
name = ctypes.create_string_buffer(16)


def probe(label, *arguments):
    arguments = [value if not isinstance(value, int) else ctypes.c_ulong(value) for value in arguments]
    result = libc.prctl(*arguments, *[ctypes.c_ulong(0)] * (5 - len(arguments)))
    print(json.dumps({"probe": label, "saw": "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]}))


probe("PR_SET_NAME", 15, ctypes.c_char_p(b"attack"))
probe("PR_GET_NAME", 16, name)
probe("PR_GET_SECCOMP", 21)
probe("PR_SET_NO_NEW_PRIVS 1", 38, 1)
probe("PR_SET_NO_NEW_PRIVS 0", 38, 0)
# A filter at an address that is none: EFAULT where the call is let through.
probe("PR_SET_SECCOMP", 22, 2, 1)
probe("PR_SET_DUMPABLE 1", 4, 1)
probe("PR_SET_SECUREBITS", 28, 0)
probe("PR_SET_KEEPCAPS", 8, 1)
probe("PR_CAP_AMBIENT", 47, 4, 0)
probe("PR_SET_MM", 35, 1, 0)
probe("PR_SET_PTRACER", 0x59616D61, 1)
probe("PR_SET_CHILD_SUBREAPER", 36, 1)
probe("PR_SET_SPECULATION_CTRL", 53, 0, 2)
probe("PR_SET_TSC", 26, 1)
probe("PR_MCE_KILL", 33, 1, 0)
probe("PR_SET_IO_FLUSHER", 57, 1)
probe("PR_SCHED_CORE", 62, 1, 0, 0)
