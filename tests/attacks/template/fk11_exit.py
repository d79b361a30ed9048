# claim: A module that ends the template ends no job: jobs run cold, and the reason says what became of it.
# case: FK-09
# class: PeerDoS
# given: preload
# cold: the template died before it was ready
import os

if TEMPLATE:
    os._exit(3)
