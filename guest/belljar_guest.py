"""What `import belljar` gives inside a jar: the names that guest code may use, and nothing that starts another jar."""

__all__ = ["keep", "sandbox"]


class Keep:
    """An object on its way to the host, which gets a token for it."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return f"belljar.keep({self.value!r})"


Keep.__module__ = "belljar"


def keep(value):
    """Returned from a guest, the host gets a token that a later call may open, and never the object itself."""
    return value if type(value) is Keep else Keep(value)


def Kept(data):
    """Opens a token; called while the arguments of a call are read."""
    from _pickle import loads

    return loads(data)


def _once(make, *given):
    """A class that is in several pickles is made for the first of them."""
    from cloudpickle import cloudpickle

    known = cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID.get(given[-2])
    return make(*given) if known is None else known


def sandbox(function=None, /, **options):
    """In a jar already: the function as it is."""
    return function if function is not None else sandbox
