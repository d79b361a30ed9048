# claim: No inode can be named or opened by a file handle, past every mount.
# case: FS-10
# class: Escape
# control: without seccomp
# expect: name_to_handle_at = EPERM -> ok
# expect: open_by_handle_at = EPERM -> EBADF
import ctypes
import errno
import json

libc = ctypes.CDLL(None, use_errno=True)
NAME_TO_HANDLE_AT, OPEN_BY_HANDLE_AT = 303, 304
handle = ctypes.create_string_buffer((128).to_bytes(4, "little") + bytes(132))
mount = ctypes.c_int()


def probe(name, result):
    saw = "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]
    print(json.dumps({"probe": name, "saw": saw}))


probe("name_to_handle_at", libc.syscall(NAME_TO_HANDLE_AT, -100, b"/usr", handle, ctypes.byref(mount), 0))
# A descriptor that is none: only the filter answers before the kernel looks at it.
probe("open_by_handle_at", libc.syscall(OPEN_BY_HANDLE_AT, -5, handle, 0))
