"""A package index on loopback, as PEP 503 and PEP 691 tell, that can be slow, wrong, private or dying."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import ssl
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from urllib.parse import unquote

from .packages import Artifact

JSON = "application/vnd.pypi.simple.v1+json"


@dataclass
class Offer:
    """An artifact, and how it is served."""

    artifact: Artifact
    yanked: str | None = None
    requires_python: str | None = None
    sha256: str | None = None
    # How many times the file breaks off half way before it comes whole.
    dies: int = 0
    # The first half of the file comes at once, the rest when this is set.
    gate: threading.Event | None = None
    # Whether the metadata is offered beside the file, as PEP 658 tells.
    metadata: bool = True
    # Set as soon as somebody has been sent the first half.
    begun: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    path: str
    authorization: str | None
    agent: str

    @property
    def credentials(self) -> str | None:
        """`user:password`, if they came."""
        kind, _, text = (self.authorization or "").partition(" ")
        return base64.b64decode(text).decode() if kind == "Basic" else None


class Index:
    """Serves what it was given; remembers who asked for what. `credentials` ("user:password") make it private."""

    def __init__(self, credentials: str | None = None, certificate: Path | None = None) -> None:
        self.offers: dict[str, list[Offer]] = {}
        self.asked: list[Asked] = []
        self.credentials = credentials
        self.pages_are_kept = False
        self._lock = threading.Lock()
        index = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                index._answer(self)

            def do_HEAD(self) -> None:
                index._answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request: object, client_address: object) -> None:
                """Clients are killed half way: nothing to tell."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self._scheme = "https" if certificate else "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}/simple/"

    def url_with(self, credentials: str) -> str:
        return self.url.replace("://", f"://{credentials}@")

    def file_url(self, artifact: Artifact) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}/files/{artifact.filename}"

    def add(self, *artifacts: Artifact) -> None:
        for artifact in artifacts:
            self.offer(Offer(artifact))

    def offer(self, offer: Offer) -> Offer:
        with self._lock:
            self.offers.setdefault(normalised(offer.artifact.name), []).append(offer)
        return offer

    def count(self, what: str) -> int:
        """How many requests there were whose path has this in it."""
        with self._lock:
            return sum(what in asked.path for asked in self.asked)

    def close(self) -> None:
        """From now on nothing listens here."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        asked = Asked(handler.path, handler.headers["Authorization"], handler.headers["User-Agent"] or "")
        with self._lock:
            self.asked.append(asked)
        if self.credentials is not None and asked.credentials != self.credentials:
            self._send(handler, 401, b"", {"WWW-Authenticate": 'Basic realm="private"'})
            return
        # Whoever takes it for a proxy asks for a whole address.
        path = re.sub(r"^http://[^/]*", "", handler.path).split("?")[0]
        parts = [unquote(part) for part in path.split("/") if part]
        if len(parts) == 2 and parts[0] == "simple":
            self._page(handler, parts[1])
        elif len(parts) == 2 and parts[0] == "files":
            self._file(handler, parts[1])
        else:
            self._send(handler, 404, b"")

    def _page(self, handler: BaseHTTPRequestHandler, name: str) -> None:
        with self._lock:
            offers = list(self.offers.get(normalised(name), []))
        if not offers:
            self._send(handler, 404, b"")
        elif JSON in (handler.headers["Accept"] or ""):
            about = {
                "meta": {"api-version": "1.1"},
                "name": normalised(name),
                "files": [_as_json(offer) for offer in offers],
            }
            about["versions"] = sorted({offer.artifact.version for offer in offers})
            self._send(handler, 200, json.dumps(about).encode(), {"Content-Type": JSON})
        else:
            page = "<!DOCTYPE html><html><body>" + "".join(map(_as_html, offers)) + "</body></html>"
            self._send(handler, 200, page.encode(), {"Content-Type": "text/html"})

    def _file(self, handler: BaseHTTPRequestHandler, filename: str) -> None:
        with self._lock:
            every = [offer for offers in self.offers.values() for offer in offers]
        for offer in every:
            artifact = offer.artifact
            if filename == artifact.filename + ".metadata" and offer.metadata and artifact.metadata is not None:
                self._send(handler, 200, artifact.metadata)
                return
            if filename == artifact.filename:
                self._body(handler, offer)
                return
        self._send(handler, 404, b"")

    def _body(self, handler: BaseHTTPRequestHandler, offer: Offer) -> None:
        data = offer.artifact.data
        if handler.command == "HEAD":
            self._send(handler, 200, data)
            return
        with self._lock:
            dying = offer.dies > 0
            offer.dies -= dying
        if not dying and offer.gate is None:
            self._send(handler, 200, data)
            return
        handler.send_response(200)
        handler.send_header("Cache-Control", "max-age=365000000, immutable, public")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[: len(data) // 2])
        handler.wfile.flush()
        offer.begun.set()
        if dying:
            handler.close_connection = True
            return
        assert offer.gate is not None
        offer.gate.wait(60)
        handler.wfile.write(data[len(data) // 2 :])

    def _send(
        self, handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str] | None = None
    ) -> None:
        handler.send_response(status)
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        # Files may be kept, as those of the public index are; pages are asked for each time, so that it is seen here.
        lasting = "/files/" in handler.path and status == 200
        page = "max-age=0" if self.pages_are_kept else "no-store"
        handler.send_header("Cache-Control", "max-age=365000000, immutable, public" if lasting else page)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(body)


def normalised(name: str) -> str:
    """A name as PEP 503 writes it."""
    return name.lower().replace("_", "-").replace(".", "-")


def _sha256(offer: Offer) -> str:
    return offer.sha256 or offer.artifact.sha256


def _metadata_hash(offer: Offer) -> dict[str, str] | None:
    if not offer.metadata or offer.artifact.metadata is None:
        return None
    return {"sha256": hashlib.sha256(offer.artifact.metadata).hexdigest()}


def _as_json(offer: Offer) -> dict[str, object]:
    artifact = offer.artifact
    about: dict[str, object] = {
        "filename": artifact.filename,
        "url": f"../../files/{artifact.filename}",
        "hashes": {"sha256": _sha256(offer)},
        "size": len(artifact.data),
        "upload-time": "2020-01-01T00:00:00Z",
        "core-metadata": _metadata_hash(offer) or False,
    }
    if offer.requires_python:
        about["requires-python"] = offer.requires_python
    if offer.yanked is not None:
        about["yanked"] = offer.yanked or True
    return about


def _as_html(offer: Offer) -> str:
    artifact = offer.artifact
    more = f' data-requires-python="{offer.requires_python.replace(">", "&gt;")}"' if offer.requires_python else ""
    more += f' data-yanked="{offer.yanked}"' if offer.yanked is not None else ""
    hashed = _metadata_hash(offer)
    more += f' data-core-metadata="sha256={hashed["sha256"]}"' if hashed else ""
    return f'<a href="../../files/{artifact.filename}#sha256={_sha256(offer)}"{more}>{artifact.filename}</a>'
