"""Random numbers differ between the workers of one template, whatever holds the generator."""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
import unittest

from harness import pythons
from keeper import Template, package, skip

STANDARD = """
import random, tempfile, uuid, ssl, secrets, multiprocessing.process
own = random.Random(1)
held = {'deep': [random.Random()]}
tempfile._get_candidate_names()
next(tempfile._get_candidate_names())
uuid.uuid1()
ssl.RAND_bytes(1)
random.random()
"""
SHOW_STANDARD = """
def f():
    import standard as s
    names = s.tempfile._get_candidate_names()
    return {
        'global': s.random.random(), 'own': s.own.random(), 'held': s.held['deep'][0].random(), 'name': next(names),
        'clock': s.uuid.uuid1().clock_seq, 'node': s.uuid.getnode(), 'ssl': s.ssl.RAND_bytes(8).hex(),
        'secrets': s.secrets.token_hex(8), 'uuid4': str(s.uuid.uuid4()),
        'authkey': s.multiprocessing.process.current_process().authkey.hex(),
    }
"""
NUMPY = """
import numpy as np
legacy = np.random.RandomState(3)
module = np.random.default_rng()
class Holder:
    rng = np.random.default_rng()
    def __init__(self):
        self.rngs = [np.random.Generator(kind()) for kind in (np.random.PCG64DXSM, np.random.Philox, np.random.SFC64)]
holder = Holder()
bits = np.random.MT19937()
np.random.random()
"""
SHOW_NUMPY = """
def f():
    import holding as h
    return {
        'global': h.np.random.random(), 'legacy': h.legacy.random(), 'module': h.module.random(),
        'class': h.Holder.rng.random(), 'deep': [rng.random() for rng in h.holder.rngs],
        'bits': int(h.bits.random_raw()),
        'spawned': h.module.spawn(1)[0].random(), 'normal': h.np.random.normal(),
        'integers': h.np.random.randint(1 << 30),
    }
"""
# As torch has it: made in C, not known to the collector, in modules and classes of anybody.
TORCH = """
import sys
class Generator:
    __slots__ = ('state',)
    def __init__(self): self.state = 1
    def manual_seed(self, seed): self.state = seed
default = Generator()
def seed(): default.manual_seed(int.from_bytes(__import__('os').urandom(8), 'little'))
"""


class Seeds(unittest.TestCase):
    def differ(self, template: Template, source: str) -> None:
        results = [json.loads(template.call(source).only.body) for _ in range(3)]
        for name in results[0]:
            values = {json.dumps(result[name]) for result in results}
            self.assertEqual(len(values), 3, (name, values))

    def test_standard_library(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = package(folder, standard=STANDARD)
            for python in pythons():
                with self.subTest(python=python), Template(python, "standard", path=path) as template:
                    self.differ(template, SHOW_STANDARD)

    def test_numpy(self) -> None:
        if importlib.util.find_spec("numpy") is None:
            skip("numpy")
        with tempfile.TemporaryDirectory() as folder:
            with Template(sys.executable, "holding", path=package(folder, holding=NUMPY)) as template:
                self.assertEqual(template.ready["ready"]["modules"][0]["error"], None)
                self.differ(template, SHOW_NUMPY)

    def test_a_seed_of_the_job_holds(self) -> None:
        source = "import random; random.seed(5); print(random.random())"
        with Template(pythons()[0], "random") as template:
            self.assertEqual(len({template.code(source).stdout for _ in range(3)}), 1)

    def test_torch(self) -> None:
        holding = "import torch\nclass Holder:\n    generator = torch.Generator()\nmodule = [torch.Generator()]"
        read = "{'default': h.torch.default.state, 'module': h.module[0].state, 'class': h.Holder.generator.state}"
        show = f"def f():\n    import holding as h\n    return {read}"
        with tempfile.TemporaryDirectory() as folder:
            with Template(pythons()[0], "holding", path=package(folder, torch=TORCH, holding=holding)) as template:
                self.differ(template, show)


if __name__ == "__main__":
    unittest.main()
