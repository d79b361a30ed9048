"""`SandboxExecutor`: a `concurrent.futures.Executor` whose calls run in jars."""

from __future__ import annotations

import os
from concurrent.futures import Executor, Future, ThreadPoolExecutor

from ._sandbox import Sandbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ParamSpec, TypeVar

    from typing_extensions import Unpack

    from ._keywords import SandboxKeywords

    P = ParamSpec("P")
    R = TypeVar("R")


class SandboxExecutor(Executor):
    """A `concurrent.futures.Executor` whose calls run in jars of one sandbox, `max_workers` at once."""

    def __init__(self, max_workers: int | None = None, **options: Unpack[SandboxKeywords]) -> None:
        if max_workers is None:
            max_workers = 2 * (os.cpu_count() or 1)
        self._sandbox = Sandbox(**options)
        self._threads = ThreadPoolExecutor(max_workers, "belljar executor")

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Calls `fn` in a jar. The future holds its value or its exception."""
        return self._threads.submit(self._sandbox.call, fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accepts no more calls. Running calls finish."""
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        if wait:
            self._sandbox.close()

    def __reduce__(self) -> Any:
        raise TypeError("a SandboxExecutor cannot be pickled; make one in each process")
