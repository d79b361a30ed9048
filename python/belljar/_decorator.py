"""`@sandbox`: the function runs in a jar of its own at each call, and is a function as it was."""

from __future__ import annotations

import sys
from functools import update_wrapper
from typing import overload

from ._callee import Callee
from ._chunk import chunksize_of
from ._guest import CALLEE, plain_of
from ._job import GIVEN, checked
from ._map import acalls, ahead_of, calls
from ._place import PolicyPlace, ready
from ._policy import Policy
from ._stream import aitems, items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping
    from typing import Any, ParamSpec, TypeVar

    from typing_extensions import Unpack

    from ._keywords import DecoratorKeywords
    from ._outcome import Outcome
    from ._sandboxed import Sandboxed
    from ._warm import Warmed

    P = ParamSpec("P")
    R = TypeVar("R")

GENERATOR, COROUTINE, ASYNC_GENERATOR = 0x20, 0x80, 0x200
#: What `sandbox` takes besides the policy.
BESIDES = ("on_output", *GIVEN)


@overload
def sandbox(function: Callable[P, R], /) -> Sandboxed[P, R]: ...
@overload
def sandbox(function: staticmethod[P, R], /) -> staticmethod[P, R]: ...
@overload
def sandbox(function: classmethod[Any, P, R], /) -> classmethod[Any, P, R]: ...
@overload
def sandbox(**options: Unpack[DecoratorKeywords]) -> Callable[[Callable[P, R]], Sandboxed[P, R]]: ...
def sandbox(function: Any = None, /, **options: Any) -> Any:
    """Runs each call of the function in a jar of its own: `@sandbox`, or `@sandbox(memory="512M", timeout=5)`.

    Every key of a policy is a keyword. `on_output` is called with the stream's name and text instead of printing;
    `files` are in the working directory at each call; `collect` is how many bytes of files an outcome brings at most.
    """
    if function is not None and (options or not callable(getattr(function, "__func__", function))):
        raise TypeError(f"sandbox({function!r}): use it as @sandbox or as @sandbox(memory=…, timeout=…)")
    given = taken(options)
    policy = Policy(options, BESIDES)
    if function is None:
        return lambda function: decorated(function, policy, given)
    return decorated(function, policy, given)


def taken(options: dict[str, Any]) -> dict[str, Any]:
    """What is no part of the policy, out of `options`."""
    tell = options.pop("on_output", None)
    if tell is not None and not callable(tell):
        raise TypeError(f"on_output={tell!r}: is no function of stream and text")
    return {**({} if tell is None else {"on_output": tell}), **checked(options)}


def decorated(function: Any, policy: Policy, given: Mapping[str, Any]) -> Any:
    """The function that users call."""
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(decorated(function.__func__, policy, given))
    if isinstance(function, type):
        raise TypeError(f"sandbox(class {function.__name__}): decorate its methods, or call it in a function")
    if not callable(function):
        raise TypeError(f"sandbox({function!r}): it is no function")
    plain = plain_of(function)
    callee = FunctionCallee(plain, policy, given)
    wrapper = wrap(callee, getattr(getattr(plain, "__code__", None), "co_flags", 0))
    update_wrapper(wrapper, plain, updated=())
    wrapper.__dict__.update({name: value for name, value in vars_of(plain).items() if name not in wrapper.__dict__})
    callee.wrapper = wrapper
    methods = callee.methods(is_async=wrapper.__code__.co_flags & (COROUTINE | ASYNC_GENERATOR) != 0)
    wrapper.__dict__.update({CALLEE: callee, "policy": policy, **methods})
    return wrapper


def vars_of(function: Any) -> dict[str, Any]:
    """The attributes that a function was given; a built-in one has none."""
    return getattr(function, "__dict__", {})


# A guest has a function of that name too, which does nothing.
sandbox.__module__ = "belljar"


def wrap(callee: FunctionCallee, flags: int) -> Any:
    """A function of the same nature, so that frameworks see what it is."""
    wrapper: Any
    if flags & ASYNC_GENERATOR:

        async def wrapper(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            async for item in aitems(callee, args, kwargs):
                yield item

    elif flags & COROUTINE:

        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            await ready(callee.room)
            request = callee.request(args, kwargs, early=True)
            return callee.result(await request.await_(callee.teller()))

    elif flags & GENERATOR:

        def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, None, Any]:
            return (yield from items(callee, args, kwargs))

    else:

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            request = callee.request(args, kwargs, early=True)
            return callee.result(request.wait(callee.teller()))

    return wrapper


class FunctionCallee(Callee):
    """What a decorated function has as attributes."""

    def __init__(self, function: Callable[..., Any], policy: Policy, given: Mapping[str, Any]) -> None:
        super().__init__(function, PolicyPlace(policy, function), **given)
        self.policy = policy
        self.given = given
        self.wrapper: Any = None

    def methods(self, is_async: bool) -> dict[str, Any]:
        names = "outcome", "map", "starmap", "warm", "options"
        own = self.outcome_of, self.map, self.starmap, self.warm, self.options
        asynchronous = self.aoutcome_of, self.amap, self.astarmap, self.awarm, self.options
        return dict(zip(names, asynchronous if is_async else own, strict=True))

    def outcome_of(self, *args: Any, **kwargs: Any) -> Outcome:
        """Calls the function and returns the whole outcome. Raises nothing for what the guest does."""
        request = self.request(args, kwargs)
        return self.outcome(request, request.wait(self.teller()))

    async def aoutcome_of(self, *args: Any, **kwargs: Any) -> Outcome:
        """Calls the function and returns the whole outcome. Raises nothing for what the guest does."""
        await ready(self.room)
        request = self.request(args, kwargs)
        return self.outcome(request, await request.await_(self.teller()))

    def map(
        self, *iterables: Iterable[Any], ahead: int | None = None, outcomes: bool = False, chunksize: int = 1
    ) -> Iterator[Any]:
        """Like the built-in `map`: lazy and in order, with `ahead` calls at once. `outcomes=True` yields outcomes.

        The items of a chunk share one process, and the limits on time and memory hold for all of them together.
        """
        return self.starmap(zip(*iterables, strict=False), ahead=ahead, outcomes=outcomes, chunksize=chunksize)

    def starmap(
        self, rows: Iterable[Iterable[Any]], *, ahead: int | None = None, outcomes: bool = False, chunksize: int = 1
    ) -> Iterator[Any]:
        """Like `itertools.starmap`, with the keywords of `map`."""
        return calls(self, rows, ahead_of(ahead), outcomes, chunksize_of(chunksize))

    def amap(
        self, *iterables: Iterable[Any], ahead: int | None = None, outcomes: bool = False, chunksize: int = 1
    ) -> AsyncIterator[Any]:
        """Like the built-in `map`, for `async for`."""
        return self.astarmap(zip(*iterables, strict=False), ahead=ahead, outcomes=outcomes, chunksize=chunksize)

    def astarmap(
        self, rows: Iterable[Iterable[Any]], *, ahead: int | None = None, outcomes: bool = False, chunksize: int = 1
    ) -> AsyncIterator[Any]:
        """Like `itertools.starmap`, for `async for`."""
        return acalls(self, rows, ahead_of(ahead), outcomes, chunksize_of(chunksize))

    def warm(self, workers: int = 1) -> Warmed:
        """Waits until this many workers are ready. Reports which modules they have imported and which not."""
        from ._warm import warm

        return warm(self.room, workers, self.load())

    async def awarm(self, workers: int = 1) -> Warmed:
        """`warm` for an async function."""
        from ._warm import awarm

        await ready(self.room)
        return await awarm(self.room, workers, self.load())

    def options(self, **options: Any) -> Any:
        """Returns a copy with some keywords changed. `None` removes a keyword."""
        kept = {key: value for key, value in self.given.items() if key not in options}
        given = {**kept, **taken(options)}
        return decorated(self.function, self.policy.merged(options, BESIDES), given)

    def __reduce__(self) -> tuple[Any, ...]:
        if found(self.wrapper):
            return callee_of, (self.wrapper,)
        return callee_again, (self.function, self.policy, self.given)


def found(wrapper: Any) -> bool:
    """Whether another process finds the function by its name. Not in `__main__`, which is another program there."""
    if wrapper.__module__ in ("__main__", "__mp_main__"):
        return False
    place: Any = sys.modules.get(wrapper.__module__)
    for name in wrapper.__qualname__.split("."):
        place = getattr(place, name, None)
    return place is wrapper


def callee_of(wrapper: Any) -> Any:
    """From a pickle: by the function's name."""
    return wrapper.__dict__[CALLEE]


def callee_again(function: Any, policy: Policy, given: Mapping[str, Any]) -> Any:
    """From a pickle: no state but what it was given travels."""
    return decorated(function, policy, given).__dict__[CALLEE]
