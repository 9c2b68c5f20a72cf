"""A site on this machine that answers what it is told to."""

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answers = dict[str, bytes | str]
"""By path: bytes are the content, text is where a redirect leads."""


@contextmanager
def site(answers: Mapping[str, bytes | str]) -> Generator[tuple[str, list[str]]]:
    """The address of a site while a block lasts, and the paths that were asked for."""
    asked: list[str] = []

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            answer = answers.get(self.path)
            self.send_response(404 if answer is None else 302 if isinstance(answer, str) else 200)
            if isinstance(answer, str):
                self.send_header("Location", answer)
            content = answer if isinstance(answer, bytes) else b""
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
