"""Clients in a browser: what a web server would serve, and tabs in which the JavaScript client runs."""

from __future__ import annotations

import json
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from reference.places import ROOT


class Site:
    """What a web server would serve: the client, its vectors and the page, from an origin of its own."""

    def __init__(self) -> None:
        self.files: dict[str, Any] = {}
        files = self.files

        class Handler(SimpleHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.rpartition("/")[2]
                if name in files:
                    content = json.dumps(files[name]).encode()
                    self.send_response(200)
                    self.send_header("content-length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                elif self.path.startswith(("/clients/", "/examples/shuffler/")):
                    super().do_GET()
                else:
                    self.send_error(404)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *args: Handler(*args, directory=str(ROOT)))
        self.address = f"http://localhost:{self.server.server_port}"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Tab:
    """A page of the site; afterward nothing was asked of anybody but the site and the service."""

    def __init__(self, context: Any, site: Site, path: str = "/clients/js/package.json") -> None:
        self.page = context.new_page()
        self.page.set_default_timeout(60_000)
        self.asked: list[tuple[str, str]] = []
        self.page.on("request", lambda request: self.asked.append((request.method, request.url)))
        self.site = site
        self.page.goto(site.address + path)

    def run(self, code: str, **given: Any) -> Any:
        """What an async function body gives, with the client's modules at hand."""
        modules = "const at = (name) => import(`/clients/js/src/${name}.js`);"
        return self.page.evaluate(f"async (given) => {{ {modules} {code} }}", given)

    def report(self, value: str, **more: Any) -> Any:
        """The status of a report from the browser's own storage, or the sentence of the refusal."""
        code = """
            const { Client, BrowserStorage } = await at("index");
            const { settings, value } = given;
            const client = new Client({ ...settings, storage: new BrowserStorage() });
            try { return (await client.report(settings.name, value)).status; } catch (error) { return error.message; }
        """
        return self.run(code, settings=self.site.files["settings.json"] | more, value=value)

    @property
    def posts(self) -> list[str]:
        return [url for method, url in self.asked if method == "POST"]
