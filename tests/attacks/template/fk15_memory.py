# claim: A module that takes all the memory of the cabinet ends as a reason to run cold, or as a failed import; jobs have outcomes.
# case: FK-09, RS-01
# class: HostDoS
# given: preload, little memory
# cold: the template
# expect: the job = ran
import json

if TEMPLATE:
    hoard = []
    try:
        while True:
            hoard.append(bytearray(b"x" * (1 << 22)))
    except MemoryError:
        import os

        os._exit(4)


def job():
    print(json.dumps({"probe": "the job", "saw": "ran"}))
