"""A service with a finished run that has a bit of everything to look at: changes, failures, files of all kinds."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

from tests.e2e.service.servers import Service
from tests.e2e.studio.asking import Call, obeying
from tests.e2e.studio.talking import finished, serving_with
from tests.support import model_server

HOSTILE_PAGE = """<!doctype html><title>page</title><h1>Quarterly report</h1>
<script>
parent.document.title = "stolen"; top.document.title = "stolen"; document.body.dataset.ran = "yes";
fetch("/api/v1/runs"); new Image().src = "AWAY/script";
</script>
<img src="AWAY/image.png" onerror="parent.document.title = 'stolen'">
<link rel="stylesheet" href="AWAY/style.css">
<form action="AWAY/form"><button>Send</button></form>
<iframe src="AWAY/frame"></iframe>
<meta http-equiv="refresh" content="0; url=AWAY/refresh">
"""
DRAWING = '<svg xmlns="http://www.w3.org/2000/svg"><script>parent.document.title = "stolen"</script><rect/></svg>'
TABLE = 'name,said,amount\nAnna,"well, <b>yes</b>",12\nBo,=cmd(),7\n'
REPORT = "# Report\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n<script>parent.document.title = 'stolen'</script>\n"
NOTES = "one\ntwo\nthree\n"
PATCH = """*** Begin Patch
*** Update File: notes.txt
@@
 one
-two
+two <img src=x onerror=alert(1)>
 three
*** End Patch
"""
SLOW: tuple[Call, ...] = (
    ("shell_command", {"command": "sleep 0.3"}),
    ("shell_command", {"command": "sleep 0.1; exit 4"}),
)
EVERYTHING: tuple[Call, ...] = (
    ("file_write", {"path": "notes.txt", "content": NOTES}),
    ("apply_patch", {"input": PATCH}),
    ("shell_command", {"command": "echo to stdout; echo to stderr >&2; exit 3"}),
    ("file_write", {"path": "deliverables/drawing.svg", "content": DRAWING}),
    ("file_write", {"path": "deliverables/table.csv", "content": TABLE}),
    ("file_write", {"path": "deliverables/report.md", "content": REPORT}),
    ("file_write", {"path": "deliverables/data.json", "content": '{"answer": {"is": [42]}}'}),
    ("file_write", {"path": "deliverables/archive.zip", "content": "PK"}),
    ("file_read", {"path": "notes.txt"}),
)


@contextmanager
def looking(home: Path) -> Generator[Service]:
    """The service, in a workspace of its own, where everything is allowed."""
    (home / "skills").mkdir(parents=True, exist_ok=True)
    with model_server.start(obeying) as model, serving_with(home, model.base_url) as service:
        yield service


class Listener(ThreadingHTTPServer):
    """Somebody elsewhere, who notes every request that reaches them."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        super().__init__(("127.0.0.1", 0), _Ear)

    @property
    def url(self) -> str:
        """Where they are."""
        return f"http://127.0.0.1:{self.server_port}"


class _Ear(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        cast(Listener, self.server).heard.append(self.path)
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def listening() -> Generator[Listener]:
    """Somebody elsewhere, for as long as the block lasts."""
    with Listener() as listener:
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield listener
        finally:
            listener.shutdown()
            thread.join()


def done(service: Service, *wanted: Call, task: str = "Do as you are told.", **more: Any) -> str:
    """A run that has made these calls."""
    return finished(service, f"{task} CALLS {json.dumps(wanted)}", **more)
