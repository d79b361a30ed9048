"""Types of decorated functions, for type checkers alone: when a program runs they are functions with attributes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload

from typing_extensions import Unpack

from ._keywords import DecoratorKeywords
from ._outcome import Outcome
from ._policy import Policy
from ._warm import Warmed

P = ParamSpec("P")
R = TypeVar("R", covariant=True)
T = TypeVar("T")
S = TypeVar("S")
Q = ParamSpec("Q")

# No protocol: pyright binds none as a method. Both checkers take the first argument of a static method for the instance
# where it is of the same class and the method is called on one; on the class they see it as it is.
class Sandboxed(Generic[P, R]):
    """A function that runs in a jar of its own at each call, and binds as a method as functions do."""

    __name__: str
    __wrapped__: Callable[..., Any]
    policy: Policy

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    # Below `@classmethod` the class is bound, below `@staticmethod` nothing is.
    @overload
    def __get__(  # type: ignore[misc]
        self: Callable[Concatenate[type[S], Q], T], instance: S | None, owner: type[S], /
    ) -> Callable[Q, T]: ...
    @overload
    def __get__(self, instance: None, owner: type, /) -> Sandboxed[P, R]: ...
    @overload
    def __get__(self: Callable[Concatenate[S, Q], T], instance: S, owner: type[S], /) -> Callable[Q, T]: ...
    @overload
    def __get__(self, instance: object, owner: type, /) -> Sandboxed[P, R]: ...
    @overload
    def outcome(  # type: ignore[overload-overlap]
        self: Sandboxed[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, Outcome]: ...
    @overload
    def outcome(self, *args: P.args, **kwargs: P.kwargs) -> Outcome: ...
    @overload
    def map(  # type: ignore[overload-overlap]
        self: Sandboxed[P, Coroutine[Any, Any, T]],
        *iterables: Iterable[Any],
        ahead: int | None = None,
        chunksize: int = 1,
    ) -> AsyncIterator[T]: ...
    @overload
    def map(self, *iterables: Iterable[Any], ahead: int | None = None, chunksize: int = 1) -> Iterator[R]: ...
    @overload
    def map(  # type: ignore[overload-overlap]
        self: Sandboxed[P, Coroutine[Any, Any, T]],
        *iterables: Iterable[Any],
        ahead: int | None = None,
        chunksize: int = 1,
        outcomes: Literal[True],
    ) -> AsyncIterator[Outcome]: ...
    @overload
    def map(
        self, *iterables: Iterable[Any], ahead: int | None = None, chunksize: int = 1, outcomes: Literal[True]
    ) -> Iterator[Outcome]: ...
    @overload
    def starmap(  # type: ignore[overload-overlap]
        self: Sandboxed[P, Coroutine[Any, Any, T]],
        rows: Iterable[Iterable[Any]],
        *,
        ahead: int | None = None,
        chunksize: int = 1,
    ) -> AsyncIterator[T]: ...
    @overload
    def starmap(
        self, rows: Iterable[Iterable[Any]], *, ahead: int | None = None, chunksize: int = 1
    ) -> Iterator[R]: ...
    @overload
    def starmap(  # type: ignore[overload-overlap]
        self: Sandboxed[P, Coroutine[Any, Any, T]],
        rows: Iterable[Iterable[Any]],
        *,
        ahead: int | None = None,
        chunksize: int = 1,
        outcomes: Literal[True],
    ) -> AsyncIterator[Outcome]: ...
    @overload
    def starmap(
        self, rows: Iterable[Iterable[Any]], *, ahead: int | None = None, chunksize: int = 1, outcomes: Literal[True]
    ) -> Iterator[Outcome]: ...
    @overload
    def warm(  # type: ignore[overload-overlap]
        self: Sandboxed[P, Coroutine[Any, Any, T]], workers: int = 1
    ) -> Coroutine[Any, Any, Warmed]: ...
    @overload
    def warm(  # type: ignore[overload-overlap]
        self: Sandboxed[P, AsyncIterator[T]], workers: int = 1
    ) -> Coroutine[Any, Any, Warmed]: ...
    @overload
    def warm(self, workers: int = 1) -> Warmed: ...
    def options(self, **options: Unpack[DecoratorKeywords]) -> Sandboxed[P, R]: ...
