# claim: A process that a module starts when its template has long been ready is noticed at the worker that is made then, and ended.
# case: FK-02, PS-05
# class: HostDoS
# given: preload
# cold: processes
import gc
import os
import time

if TEMPLATE:
    # The template's own names: what it says when it has forked a worker, and is back from the jar.
    runtime = next(found for found in gc.get_objects() if type(found) is dict and "load_boot" in found)
    say = runtime["say"]

    def patched(text):
        if b"forked" in text and os.fork() == 0:
            time.sleep(1000)
        say(text)

    runtime["say"] = patched
