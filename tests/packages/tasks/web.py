"""HTTP, with what the network policy allows, and the pages that come by it."""

from __future__ import annotations


def requests() -> None:
    import threading
    from http.server import BaseHTTPRequestHandler, HTTPServer

    import requests

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"a": 1}')

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    assert requests.get(f"http://127.0.0.1:{server.server_port}/", timeout=10).json() == {"a": 1}
    try:
        requests.get("http://192.0.2.1/", timeout=5)
        raise AssertionError("the network can be reached")
    except requests.ConnectionError:
        pass


def httpx() -> None:
    import asyncio
    import ssl

    import httpx

    transport = httpx.MockTransport(lambda request: httpx.Response(200, json={"path": request.url.path}))

    async def ask() -> dict[str, str]:
        async with httpx.AsyncClient(transport=transport) as client:
            answer: dict[str, str] = (await client.get("https://example.org/x")).json()
            return answer

    assert asyncio.run(ask()) == {"path": "/x"}
    assert ssl.create_default_context().get_ca_certs()
    try:
        httpx.get("http://192.0.2.1/", timeout=5)
        raise AssertionError("the network can be reached")
    except httpx.TransportError:
        pass


def aiohttp() -> None:
    import asyncio

    from aiohttp import ClientSession, web

    async def both() -> str:
        app = web.Application()

        async def hello(_: web.Request) -> web.Response:
            return web.Response(text="hello")

        app.router.add_get("/", hello)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 8080)
        await site.start()
        async with ClientSession() as session, session.get("http://127.0.0.1:8080/") as answer:
            text: str = await answer.text()
        await runner.cleanup()
        return text

    assert asyncio.run(both()) == "hello"


def lxml() -> None:
    from lxml import etree, html

    tree = etree.fromstring(b"<a><b n='1'/><b n='2'/></a>")
    assert tree.xpath("sum(//b/@n)") == 3
    assert html.fromstring("<p>x<p>y").xpath("//p/text()") == ["x", "y"]
    schema = etree.RelaxNG(
        etree.fromstring(b'<element name="a" xmlns="http://relaxng.org/ns/structure/1.0"><text/></element>')
    )
    assert not schema.validate(tree)


def beautifulsoup4() -> None:
    from bs4 import BeautifulSoup

    soup = BeautifulSoup("<ul><li class=x>1<li>2</ul>", "html.parser")
    assert [item.get_text() for item in soup.select("li.x")] == ["12"] or len(soup.find_all("li")) == 2
