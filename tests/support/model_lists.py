"""A model service that lists its models and answers nothing else, over real HTTP."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ModelList:
    """The service: `base_url` is where it is, `requests` the path and the authorization of each request."""

    def __init__(self, port: int) -> None:
        self.base_url = f"http://127.0.0.1:{port}/v1"
        self.requests: list[tuple[str, str]] = []


@contextmanager
def lists_models(body: Any, *, status: int = 200, location: str = "") -> Generator[ModelList]:
    """Serve a body, as JSON unless it is bytes, to every GET; a POST is answered with 404."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            service.requests.append((self.path, self.headers.get("Authorization", "")))
            self.send_response(status)
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            refusal = json.dumps({"error": {"message": "the model does not exist", "code": "model_not_found"}}).encode()
            self.send_response(404)
            self.send_header("Content-Length", str(len(refusal)))
            self.end_headers()
            self.wfile.write(refusal)

        def log_message(self, format: str, *args: Any) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service = ModelList(server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def names(*models: str) -> dict[str, Any]:
    """A list of models, as the wire has it."""
    return {"object": "list", "data": [{"id": model, "object": "model"} for model in models]}
