"""Where in a value the item is that cannot go to the host. Runs only for what is deep or refused."""

import sys
from collections import OrderedDict, deque

ITEMS = 1 << 26
LENGTH = 1000
PLAIN = (list, tuple, set, frozenset, deque)
Bad = Exception


def install(scope):
    """Takes what it needs from values.py."""
    globals()["Bad"] = scope["Bad"]


def explain(root, bad):
    """A refusal: what is wrong with which item, and what to do."""
    path = find(root, bad.item) if bad.item is not None else "result"
    return f"{path} {bad.reason}", bad.fix


def fields(value):
    """Names of what a dataclass, a pydantic model or an enum member holds."""
    kind, enum = type(value), sys.modules.get("enum")
    names = getattr(kind, "__dataclass_fields__", None) or getattr(kind, "__pydantic_fields__", None)
    if type(names) is dict and not isinstance(value, type):
        return [name for name in names if hasattr(value, name)]
    return ["value"] if enum is not None and isinstance(value, enum.Enum) else []


def pairs(value):
    return list(OrderedDict.items(value) if isinstance(value, OrderedDict) else dict.items(value))


def inside(value):
    """What a value holds."""
    if isinstance(value, PLAIN):
        return list(value)
    if isinstance(value, dict):
        return [item for pair in pairs(value) for item in pair]
    return [getattr(value, name) for name in fields(value)]


def steps(value):
    """The same, with the text that leads there."""
    if isinstance(value, tuple) and len(names := getattr(type(value), "_fields", ())) == len(value):
        return [(f".{name}", item) for name, item in zip(names, value, strict=True)]
    if isinstance(value, (list, tuple, deque)):
        return [(f"[{index}]", item) for index, item in enumerate(value)]
    if isinstance(value, (set, frozenset)):
        return [(f"{{{short(item)}}}", item) for item in value]
    if isinstance(value, dict):
        items = pairs(value)
        return [(f".key({short(key)})", key) for key, _ in items] + [(f"[{short(key)}]", item) for key, item in items]
    return [(f".{name}", getattr(value, name)) for name in fields(value)]


def short(item):
    try:
        text = repr(item)
    except Exception:
        text = f"<{type(item).__name__}>"
    return text if len(text) <= 60 else f"{text[:57]}..."


def find(root, wanted):
    """The path of that very object; level by level, as no stack is deep enough for some."""
    level, seen = [("result", root)], {id(root): root}
    while level:
        below = []
        for path, value in level:
            if value is wanted:
                return path if len(path) <= LENGTH else f"{path[:400]}...{path[-400:]}"
            for step, item in steps(value):
                if id(item) not in seen:
                    seen[id(item)] = item
                    below.append((path + step, item))
        level = below
    return "result"


def check(root):
    """Refuses a value that contains itself, or shares its parts so often that written out it would be endless."""
    # What is kept here keeps its id.
    sizes, alive, under, stack = {}, [], set(), []
    stack += [(root, None, ())]
    while stack:
        value, rest, holders = stack.pop()
        if rest is None:
            if id(value) in sizes:
                continue
            items = inside(value)
            holders = [item for item in items if isinstance(item, (*PLAIN, dict)) or fields(item)]
            alive += (items, value)
            sizes[id(value)] = 1 + len(items) - len(holders)
            under.add(id(value))
            rest = iter(holders)
        for item in rest:
            if id(item) in under:
                raise Bad(item, "contains itself", "return it without the loop")
            if id(item) not in sizes:
                stack += [(value, rest, holders), (item, None, ())]  # type: ignore[list-item]
                break
        else:
            under.discard(id(value))
            sizes[id(value)] += sum([sizes[id(item)] for item in holders])  # type: ignore[misc]
            if sizes[id(value)] > ITEMS:
                reason = f"shares its parts so that, written out, it has more than {ITEMS} items"
                raise Bad(value, reason, "return each part once")
