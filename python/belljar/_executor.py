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

    from ._keywords import CallKeywords

    P = ParamSpec("P")
    R = TypeVar("R")


class SandboxExecutor(Executor):
    """Calls run in jars of one sandbox, `max_workers` at once. A thread waits for each; none runs guest code."""

    def __init__(self, max_workers: int | None = None, **options: Unpack[CallKeywords]) -> None:
        if max_workers is None:
            max_workers = 2 * (os.cpu_count() or 1)
        self._sandbox = Sandbox(**options)
        self._threads = ThreadPoolExecutor(max_workers, "belljar executor")

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Calls `fn` in a jar; the future has its value, or raises as the call would."""
        return self._threads.submit(self._sandbox.call, fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls; those that run come to their end."""
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        if wait:
            self._sandbox.close()

    def __reduce__(self) -> Any:
        raise TypeError("a SandboxExecutor cannot be pickled; make one in each process")
