# claim: Whatever a job does to modules, builtins and settings, the next job of the same template starts as the first did.
# case: FK-01, FK-02, FK-08
# class: Lateral
# given: preload
# control: without own process
# expect: left by another job = [] -> ![]
# expect: changed by this one = all
import builtins
import decimal
import gc
import json
import locale
import logging
import os
import random
import signal
import sys
import warnings

value = {"kept": []}
MARKS = {
    "a module's value": (lambda: value["kept"].append(1), lambda: value["kept"]),
    "a builtin": (lambda: setattr(builtins, "ascii", repr), lambda: builtins.ascii is repr),
    "a class of the library": (lambda: setattr(json.JSONEncoder, "stolen", 1), lambda: hasattr(json.JSONEncoder, "stolen")),
    "a module": (lambda: sys.modules.update(planted=sys), lambda: "planted" in sys.modules),
    "a variable": (lambda: os.environ.update(PLANTED="1"), lambda: "PLANTED" in os.environ),
    "the path": (lambda: sys.path.insert(0, "/planted"), lambda: "/planted" in sys.path),
    "a signal": (lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN), lambda: signal.getsignal(signal.SIGUSR1) == signal.SIG_IGN),
    "the mask": (lambda: os.umask(0o77), lambda: os.umask(0o77) == 0o77),
    "the folder": (lambda: os.chdir("/dev/shm"), lambda: os.getcwd() == "/dev/shm"),
    "a warning filter": (lambda: warnings.simplefilter("error", ResourceWarning), lambda: warnings.filters[0][:3:2] == ("error", ResourceWarning)),
    "a log handler": (lambda: logging.getLogger().addHandler(logging.NullHandler()), lambda: bool(logging.getLogger().handlers)),
    "decimal": (lambda: setattr(decimal.getcontext(), "prec", 3), lambda: decimal.getcontext().prec == 3),
    "the collector": (lambda: gc.set_threshold(7), lambda: gc.get_threshold()[0] == 7),
    "recursion": (lambda: sys.setrecursionlimit(777), lambda: sys.getrecursionlimit() == 777),
    "digits": (lambda: sys.set_int_max_str_digits(999), lambda: sys.get_int_max_str_digits() == 999),
    "the locale": (lambda: locale.setlocale(locale.LC_ALL, "C"), lambda: locale.setlocale(locale.LC_ALL) == "C"),
    "random numbers": (lambda: random.seed(7), lambda: random.getstate() == random.Random(7).getstate()),
    "a file": (lambda: open("/tmp/planted", "w").close(), lambda: os.path.exists("/tmp/planted")),
    "a hook": (lambda: setattr(sys, "displayhook", print), lambda: sys.displayhook is print),
}


def job():
    def show(probe, saw):
        print(json.dumps({"probe": probe, "saw": saw}))

    before = [name for name, (_, left) in MARKS.items() if left()]
    show("left by another job", json.dumps(before))
    for change, _ in MARKS.values():
        change()
    missed = [name for name, (_, left) in MARKS.items() if not left()]
    show("changed by this one", "all" if not missed else json.dumps(missed))
