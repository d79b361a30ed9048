# claim: A template cannot take its keeper's descriptors or processor time away by limits.
# case: FK-09, PS-03
# class: PeerDoS
# given: preload
# control: without seccomp
# cold: no -> (os error 24)
# expect: limit the keeper = EPERM -> not tried
import ctypes
import errno

libc = ctypes.CDLL(None, use_errno=True)
PRLIMIT64, NOFILE = 302, 7

if TEMPLATE:
    result = libc.syscall(PRLIMIT64, 1, NOFILE, ctypes.create_string_buffer(16), 0)
    tell("limit the keeper", "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()])
