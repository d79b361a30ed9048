"""Gives a worker random numbers of its own: after a fork, generators go on as they do in all its siblings."""

import sys
from gc import get_objects, get_referents
from posix import urandom

# Classes of generators: module, name, and how one is seeded anew.
KINDS = (
    ("random", "Random", "seed"),
    ("numpy.random.bit_generator", "BitGenerator", "state"),
    ("torch", "Generator", "torch"),
)


def find():
    """Every generator that something preloaded holds, with the way to seed it. For the template, before the freeze."""
    named = [(getattr(sys.modules.get(module), name, None), how) for module, name, how in KINDS]
    bases = [(base, how) for base, how in named if isinstance(base, type)]
    if not bases:
        return []
    found, wanted = {}, tuple(base for base, _ in bases)
    # Not all of them are known to the collector themselves, but what holds them is.
    for item in get_referents(*get_objects()):
        if issubclass(type(item), wanted):
            how = next(how for base, how in bases if issubclass(type(item), base))
            found[id(item)] = how, item
    return list(found.values())


def reseed(found):
    modules = sys.modules
    for how, generator in found:
        if how == "seed":
            generator.seed()
        elif how == "torch":
            generator.manual_seed(int.from_bytes(urandom(8), "little") >> 1)
        else:
            reseed_bits(generator)
    if "torch" in modules and hasattr(modules["torch"], "seed"):
        modules["torch"].seed()
    if "tempfile" in modules:
        # It looks for a change of its process id, which need not change from one namespace to another.
        modules["tempfile"]._name_sequence = None
    if "uuid" in modules:
        # libuuid keeps its node and clock sequence where nobody can reach them; without it Python makes its own.
        uuid = modules["uuid"]
        uuid._generate_time_safe = uuid._last_timestamp = None
        uuid._node = int.from_bytes(urandom(6), "big") | 1 << 40
    if "_ssl" in modules:
        modules["_ssl"].RAND_add(urandom(48), 48.0)
    if "multiprocessing.process" in modules:
        modules["multiprocessing.process"].current_process().authkey = urandom(32)


def reseed_bits(generator):
    """numpy: the state itself, and the sequence from which further generators are spawned."""
    fresh = type(generator)()
    state = fresh.__getstate__() if hasattr(generator, "__setstate__") else fresh.state
    if isinstance(state, tuple):
        generator.__setstate__(state)
        return
    generator.state = fresh.state
    sequence = getattr(generator, "_seed_seq", None)
    if hasattr(sequence, "__setstate_cython__") and type(sequence) is type(fresh._seed_seq):
        sequence.__setstate_cython__(fresh._seed_seq.__reduce_cython__()[-1])
