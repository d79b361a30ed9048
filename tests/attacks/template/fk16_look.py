# claim: From outside a template has three capabilities over its cabinet, a filter, one thread and five descriptors; its user is nobody of the host.
# case: FK-10, PR-01
# class: Escape
# given: preload
# observe: template
# control: without seccomp
# expect: the job = waits
import json
import sys


def job():
    print(json.dumps({"probe": "the job", "saw": "waits"}))
    print('{"ready": true}', flush=True)
    sys.stdin.read()
