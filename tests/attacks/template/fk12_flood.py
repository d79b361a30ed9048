# claim: A module that prints without end while it is imported fills nobody's memory and nobody's output.
# case: FK-01
# class: HostDoS
# given: preload
# expect: printed = 64 MiB
# expect: of that in the job's output = no
import json
import sys

if TEMPLATE:
    for _ in range(64):
        sys.stdout.write("flood of a template\n" * (1 << 20 >> 4))
        sys.stderr.write("flood of a template\n" * 100)
    tell("printed", "64 MiB")
    # Left in the buffer: a fork would print it once more in each worker.
    sys.stdout.write("left over")


def job():
    print(json.dumps({"probe": "of that in the job's output", "saw": "no"}))
