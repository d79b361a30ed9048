# claim: Every mount refuses set-id programs, every one but single devices refuses device files, and every part of the host is read-only.
# case: FS-05, FS-09, IPC-02, PF-03
# class: Escape
# given: canary shown read-only
# observe: mounts
# control: without read-only
import sys

print('{"ready": true}', flush=True)
sys.stdin.read()
