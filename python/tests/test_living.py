"""Living in real programs: loops, executors, processes, servers, notebooks."""

from __future__ import annotations

import asyncio
import builtins
import concurrent.futures
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import until

import belljar
from belljar import Sandbox, SandboxExecutor, sandbox

Program = Callable[..., "subprocess.CompletedProcess[str]"]


@sandbox
def double(number: int) -> int:
    return number * 2


@sandbox
async def adouble(number: int) -> int:
    return number * 2


@sandbox
def fails(name: str) -> None:
    kind = getattr(__import__("builtins"), name)
    raise kind("utf-8", b"x", 0, 1, "why") if name == "UnicodeDecodeError" else (
        kind("utf-8", "x", 0, 1, "why") if name == "UnicodeEncodeError" else (
            kind("x", 0, 1, "why") if name == "UnicodeTranslateError" else (
                kind("text", [ValueError(1)]) if "Group" in name else kind("text"))))  # fmt: skip


@sandbox
async def afails(name: str) -> None:
    fails(name)


NAMES = sorted(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException) and not name.startswith("_")
)
EXITS = ("SystemExit",)


def test_every_builtin_exception_is_caught_everywhere() -> None:
    """In a call, a task, a gather, a generator and an executor; and the host lives."""

    async def tasks() -> list[Any]:
        task = asyncio.create_task(afails(NAMES[0]))
        with pytest.raises(belljar.GuestError):
            await task
        return await asyncio.gather(*(afails(name) for name in NAMES), return_exceptions=True)

    for name, error in zip(NAMES, asyncio.run(tasks()), strict=True):
        assert isinstance(error, belljar.GuestError), name
        if name not in EXITS:
            # Some names are other names of the same class, a group of ordinary exceptions is an ordinary one, and no
            # coroutine can raise a StopIteration.
            real = getattr(builtins, name).__name__.replace("BaseExceptionGroup", "ExceptionGroup")
            assert error.type_name == ("RuntimeError" if name == "StopIteration" else real), name
    with SandboxExecutor(4) as executor:
        futures = {name: executor.submit(fails, name) for name in NAMES}
        for future in futures.values():
            with pytest.raises(belljar.GuestError):
                future.result()
    for name, outcome in zip(NAMES, fails.map(NAMES, outcomes=True), strict=True):
        # Python ends by a signal to itself where a KeyboardInterrupt was not caught.
        odd = {"SystemExit": "exited", "KeyboardInterrupt": "signalled"}
        assert outcome.status == odd.get(name, "raised"), name


def test_errno_and_builtin_travel() -> None:
    def opens() -> None:
        open("/no/such/file")

    with pytest.raises(FileNotFoundError) as caught:
        sandbox(opens)()
    assert isinstance(caught.value, belljar.GuestError) and caught.value.type_name == "FileNotFoundError"


def test_the_loop_is_never_blocked(tmp_path: Path) -> None:
    """The guest ends only after the loop has done something else: a loop that is blocked would wait for its deadline."""

    @sandbox(mount=f"{tmp_path}:/box:rw", timeout=30)
    async def waits(number: int) -> int:
        import os
        import time

        open(f"/box/ready{number}", "w").close()
        while not os.path.exists(f"/box/go{number}"):
            time.sleep(0.005)
        return number

    async def main() -> list[int]:
        tasks = [asyncio.create_task(waits(number)) for number in range(3)]
        for number in range(3):
            while not (tmp_path / f"ready{number}").exists():
                await asyncio.sleep(0.005)
            (tmp_path / f"go{number}").touch()
        return list(await asyncio.gather(*tasks))

    assert asyncio.run(main()) == [0, 1, 2]


def test_cancelling_a_task_kills_its_job(tmp_path: Path) -> None:
    @sandbox(mount=f"{tmp_path}:/box:rw", timeout=60)
    async def beats() -> None:
        import time

        while True:
            with open("/box/beat", "w") as file:
                file.write(str(time.monotonic()))
            time.sleep(0.01)

    async def main() -> None:
        task = asyncio.create_task(beats())
        while not (tmp_path / "beat").exists():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())

    def still() -> bool:
        one = (tmp_path / "beat").read_text()
        time.sleep(0.2)
        return (tmp_path / "beat").read_text() == one

    until(still)

    async def late() -> None:
        await asyncio.wait_for(beats(), 0.5)

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(late())
    until(still)


def test_two_loops_in_two_threads() -> None:
    results: list[list[int]] = []

    def loop() -> None:
        async def main() -> list[int]:
            return list(await asyncio.gather(*(adouble(number) for number in range(4))))

        results.append(asyncio.run(main()))

    threads = [threading.Thread(target=loop) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[0, 2, 4, 6]] * 2


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_anyio(backend: str) -> None:
    import anyio

    async def main() -> int:
        with anyio.move_on_after(0.3) as scope:
            await sandbox(asleep)()
        assert scope.cancelled_caught
        found: list[int] = []

        async def one(number: int) -> None:
            found.append(await adouble(number))

        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(one, number)
        async with Sandbox() as box:
            assert (await box.arun("1 + 1")).value == 2
        return sum(found)

    assert anyio.run(main, backend=backend) == 6


async def asleep() -> None:
    time.sleep(30)


def test_a_sandbox_is_a_context_in_both_worlds() -> None:
    with Sandbox(timeout=20) as box:
        assert box.call(pow, 2, 5) == 32
        assert box.call(double, 4) == 8
        assert box.run("x + 1", inputs={"x": [1]}).exception is not None
        assert box.run("x + 1", inputs={"x": 1}, timeout=5).value == 2
        assert box.run_command(["echo", "hi"], env={"A": "1"}).stdout == "hi\n"
        assert box.outcome(double, 4).value == 8
        with pytest.raises(TypeError, match="whole sandbox"):
            box.run("1", network="none")  # type: ignore[call-arg]
    with pytest.raises(belljar.BelljarError, match="closed"):
        box.run("1")
    with pytest.raises(belljar.PolicyError, match="/not/there"), Sandbox(mount="/not/there"):
        pass

    async def main() -> int:
        async with Sandbox() as other:
            return int(await other.acall(pow, 2, 6))

    assert asyncio.run(main()) == 64


def test_an_executor_is_an_executor() -> None:
    with SandboxExecutor(3, timeout=20) as executor:
        assert isinstance(executor, concurrent.futures.Executor)
        assert list(executor.map(double, range(6))) == [0, 2, 4, 6, 8, 10]
        futures = [executor.submit(pow, 2, number) for number in range(5)]
        assert {future.result() for future in concurrent.futures.as_completed(futures)} == {1, 2, 4, 8, 16}

        async def main() -> int:
            return await asyncio.get_running_loop().run_in_executor(executor, double, 8)

        assert asyncio.run(main()) == 16
    with pytest.raises(RuntimeError):
        executor.submit(double, 1)


MULTIPROCESSING = """
import multiprocessing, sys
from belljar import sandbox
FACTOR = 3
@sandbox(timeout=20)
def triple(x): return x * FACTOR
def child(x): return triple(x)
if __name__ == "__main__":
    assert triple(1) == 3
    context = multiprocessing.get_context(sys.argv[1] if len(sys.argv) > 1 else METHOD)
    with context.Pool(2) as pool:
        print(pool.map(child, range(4)), pool.map(triple, range(4)))
    process = context.Process(target=triple, args=(1,))
    process.start(); process.join()
    print(process.exitcode)
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(program: Program, method: str) -> None:
    told = program(MULTIPROCESSING.replace("METHOD", repr(method)))
    assert told.stdout == "[0, 3, 6, 9] [0, 3, 6, 9]\n0\n", told.stderr


def test_a_dask_cluster(program: Program) -> None:
    source = """
from belljar import sandbox
FACTOR = 3
@sandbox(timeout=30)
def triple(x): return x * FACTOR
if __name__ == "__main__":
    from distributed import Client, LocalCluster
    with LocalCluster(n_workers=1, threads_per_worker=2, processes=True, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            print(client.gather(client.map(triple, range(4))))
"""
    assert program(source).stdout == "[0, 3, 6, 9]\n"


APP = """
import os
from belljar import sandbox
@sandbox
def double(x): return x * 2
double(1)
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown": return
    body = f"{double(21)}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})
def wsgi(environ, start_response):
    start_response("200 OK", [])
    return [f"{double(21)}".encode()]
"""


def serve(words: list[str], folder: Path, log: Path) -> tuple[subprocess.Popen[bytes], int]:
    """A server on a port that is free, once it listens."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    with log.open("wb") as file:
        server = subprocess.Popen([*words, str(port)], cwd=folder, stderr=file, stdout=file)

    def listens() -> bool:
        assert server.poll() is None, log.read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    until(listens, 60)
    return server, port


def asked(port: int) -> str:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/")
        return connection.getresponse().read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize("kind", ["uvicorn", "gunicorn"])
def test_servers(tmp_path: Path, kind: str) -> None:
    (tmp_path / "served.py").write_text(APP)
    runner = f"import sys; port = sys.argv.pop(); sys.argv = [{kind!r}, *ARGS, 'BIND' + port]; "
    if kind == "uvicorn":
        code = runner.replace("*ARGS", "'served:app', '--workers', '2'").replace("'BIND' + port", "'--port', port")
        code += "import uvicorn.main; uvicorn.main.main()"
    else:
        # The application is loaded, and used, before the workers are forked.
        code = runner.replace("*ARGS", "'--preload', '--workers', '2', 'served:wsgi'").replace(
            "'BIND' + port", "'--bind', '127.0.0.1:' + port"
        )
        code += "from gunicorn.app.wsgiapp import run; run()"
    script = tmp_path / "serve.py"
    script.write_text(f"if __name__ == '__main__':\n    {code}\n")
    server, port = serve([sys.executable, str(script)], tmp_path, tmp_path / "log")
    try:
        with concurrent.futures.ThreadPoolExecutor(6) as threads:
            assert list(threads.map(asked, [port] * 6)) == ["42"] * 6
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def test_a_notebook() -> None:
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3")
    try:
        cells = [
            "from belljar import sandbox\nK = 2\ndef near(x): return x * K",
            "@sandbox\ndef f(x):\n    print('printed')\n    return near(x)",
            "f(20)",
            "K = 3",
            "f(20)",
            "import asyncio\n@sandbox\nasync def g(x): return near(x)\nawait g(5)",
        ]
        shown: list[str] = []
        for cell in cells:

            def hook(message: dict[str, Any]) -> None:
                content = message["content"]
                if message["msg_type"] == "execute_result":
                    shown.append(content["data"]["text/plain"])
                elif message["msg_type"] == "stream":
                    shown.append(content["text"])
                elif message["msg_type"] == "error":
                    shown.append("\n".join(content["traceback"]))

            client.execute_interactive(cell, output_hook=hook, timeout=60)
        assert shown == ["printed\n", "40", "printed\n", "60", "15"]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_many_threads_get_their_own_answers() -> None:
    with concurrent.futures.ThreadPoolExecutor(32) as threads:
        assert list(threads.map(double, range(100))) == [2 * number for number in range(100)]


def test_descriptors_do_not_grow() -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    big = bytes(200_000)

    @sandbox
    def echo(data: bytes) -> bytes:
        return data

    assert echo(big) == big
    before = count()
    for _ in range(10):
        assert len(echo(big)) == len(big)
    assert count() <= before + 1
