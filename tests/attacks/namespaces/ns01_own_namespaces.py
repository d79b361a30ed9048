# claim: Guest and init are in user, mount, pid, network, ipc, uts and cgroup namespaces of their own.
# case: NS-01
# class: Escape
# observe: namespaces
# control: without network namespace
import sys

print('{"ready": true}', flush=True)
sys.stdin.read()
