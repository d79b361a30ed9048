"""An endpoint that runs code that it is sent: `uvicorn endpoint:app`. Run as a program, it asks itself."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

import belljar
from belljar import sandbox

app = FastAPI()


class Request(BaseModel):
    code: str
    inputs: dict[str, Any] = {}


class Answer(BaseModel):
    status: str
    value: Any = None
    stdout: str = ""
    report: str | None = None


@app.post("/run")
async def run(request: Request) -> Answer:
    # The loop goes on meanwhile, and a client that goes away takes its jar with it.
    outcome = await belljar.arun(request.code, inputs=request.inputs, timeout=5, memory="256M", profile="strict")
    report = None if outcome.ok else outcome.for_model(1000)
    return Answer(status=outcome.status, value=outcome.value, stdout=outcome.stdout, report=report)


@app.get("/primes/{most}")
@sandbox(timeout=5)
async def primes(most: int) -> list[int]:
    return [number for number in range(2, most) if all(number % divisor for divisor in range(2, number))]


def main() -> None:
    from fastapi.testclient import TestClient

    with TestClient(app) as client:
        print(client.get("/primes/20").json())
        print(client.post("/run", json={"code": "print('hi')\nx * 2", "inputs": {"x": 21}}).json()["value"])
        refused = client.post("/run", json={"code": "open('/home/me/.ssh/id_rsa')"}).json()
        print(refused["report"].splitlines()[0])


if __name__ == "__main__":
    main()
