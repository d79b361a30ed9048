# claim: A module that leaves a thread in the template is named, and jobs run cold.
# case: FK-07
# class: PeerDoS
# given: preload
# cold: threads, and a fork takes only one along; importing hostile did that
import threading
import time

if TEMPLATE:
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
