# claim: kill(-1) ends the guest's own processes and reaches neither the warden nor anything of the same user on the host.
# case: PS-03
# class: HostDoS
# expect: our child was ended by = 9
# expect: we are still here = yes
import json
import os
import time

child = os.fork()
if child == 0:
    time.sleep(30)
os.kill(-1, 9)
print(json.dumps({"probe": "our child was ended by", "saw": os.waitpid(child, 0)[1]}))
os.killpg(0, 0)
print(json.dumps({"probe": "we are still here", "saw": "yes"}))
