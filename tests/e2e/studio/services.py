"""Services with a scripted model, the runs that tests start in them, and a listener that nothing should reach."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

from playwright.sync_api import Locator, Page

from tests.e2e.service.servers import Service, serving
from tests.support import model_server
from tests.support.model_server import Answer, calls, says

Call = tuple[str, dict[str, Any]]
Model = Callable[[dict[str, Any]], Answer]

PATIENCE_SEC = 60
QUESTION = {"question": "Which colour?", "choices": ["red", "blue"]}
HARMLESS = ("shell_command", {"command": "uname -s", "justification": "to know the system"})
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
"""A bit of everything to look at: changes, failures, files of all kinds."""


@dataclass
class Script:
    """A model that does what its task says: `CALLS [[tool, arguments], …]` makes these calls one after another, `ASK`
    asks a person, `HOLD` waits until it is let go, `READ n` reads a file n times, `FAIL` calls a tool that fails.
    """

    go: threading.Event = field(default_factory=threading.Event)
    pause_at: int = -1
    """The reading at which it waits until it is let go."""
    is_broken: bool = False

    def __call__(self, request: dict[str, Any]) -> Answer:
        """Return the next answer in a conversation."""
        if self.is_broken:
            return model_server.refuses(400, "the model is out of order")
        messages: list[dict[str, Any]] = request["messages"]
        last = max(index for index, message in enumerate(messages) if message["role"] == "user")
        prompt = str(messages[last]["content"])
        _, separator, script = prompt.partition("CALLS ")
        if separator:
            return _make_calls(
                json.loads(script), [message for message in messages[last:] if message["role"] == "tool"]
            )
        task = str(next(message["content"] for message in messages if message["role"] == "user"))
        results = [message for message in messages if message["role"] == "tool"]
        word, _, rest = task.partition(" ")
        match word:
            case "ASK" if not results:
                return calls(("ask_human", QUESTION))
            case "ASK":
                return says(f"You chose {results[-1]['content']}.", usage=(120, 12))
            case "HOLD" if not results:
                assert self.go.wait(PATIENCE_SEC)
                return calls(("file_read", {"path": "note.txt"}))
            case "READ" if len(results) < int(rest.split()[0]):
                if len(results) == self.pause_at:
                    assert self.go.wait(PATIENCE_SEC)
                return calls(("file_read", {"path": "note.txt"}), text=f"Reading {len(results)}.")
            case "FAIL" if not results:
                return calls(("file_read", {"path": "missing.txt"}))
            case _:
                return says(f"**Done.** Heard: {prompt}", usage=(1500, 40))


def _make_calls(planned: list[list[Any]], results: list[dict[str, Any]]) -> Answer:
    if len(results) < len(planned):
        tool, arguments = planned[len(results)]
        return calls((tool, arguments))
    return says(f"Done. {results[-1]['content'] if results else ''}")


@contextmanager
def scripted(
    home: Path, model: Model | None = None, *, mode: str = "allow", skills: Path | None = None, **settings: str
) -> Generator[Service]:
    """A service in a workspace of its own whose model is a script."""
    overrides = {"safety.mode": mode, **settings}
    with (
        model_server.start(model or Script()) as server,
        serving_with(home, server.base_url, skills=skills, **overrides) as service,
    ):
        yield service


@contextmanager
def serving_with(
    home: Path, base_url: str, *, listen: str = "127.0.0.1:0", skills: Path | None = None, **settings: str
) -> Generator[Service]:
    """A service that asks the model at an address."""
    (home / "skills").mkdir(parents=True, exist_ok=True)
    (home / "note.txt").write_text("a note\n")
    overrides = model_settings(base_url) | {"run.max_steps": "10000"} | settings
    options = [part for name, value in overrides.items() for part in ("--set", f"{name}={value}")]
    away = {"MODEL_KEY": "secret", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    with serving(home, skills or home / "skills", *options, listen=listen, **away) as service:
        yield service


def model_settings(base_url: str) -> dict[str, str]:
    """The settings of a run whose model is at an address, where everything is allowed."""
    return {
        "llm.backend": "openai",
        "llm.base_url": base_url,
        "llm.api_key_env": "MODEL_KEY",
        "models.planner": "talker",
        "models.executor": "talker",
        "safety.mode": "allow",
    }


def start_run(service: Service, prompt: str, **more: Any) -> str:
    """A new run."""
    with service.client(token=True) as client:
        answer = client.post("/api/v1/runs", json={"prompt": prompt, **more})
        assert answer.status_code == 201, answer.text
        return answer.json()["run_id"]


def start_calls(service: Service, *planned: Call, task: str = "Do as you are told.", **more: Any) -> str:
    """A new run that makes these calls."""
    return start_run(service, f"{task} CALLS {json.dumps(planned)}", **more)


def finished_run(service: Service, prompt: str, **more: Any) -> str:
    """A run that has ended."""
    return wait_for_end(service, start_run(service, prompt, **more))


def finished_calls(service: Service, *planned: Call, task: str = "Do as you are told.", **more: Any) -> str:
    """A run that has made these calls and ended."""
    return wait_for_end(service, start_calls(service, *planned, task=task, **more))


def wait_for_end(service: Service, run_id: str) -> str:
    """Wait until a run has ended."""
    with service.client(token=True) as client:
        client.get(f"/api/v1/runs/{run_id}/events/stream")  # it ends with the run
    return run_id


def wait_for_person(service: Service, run_id: str) -> str:
    """Wait until a run has come to where a person is needed."""
    with service.client(token=True) as client, client.stream("GET", f"/api/v1/runs/{run_id}/events/stream") as stream:
        for line in stream.iter_lines():
            if "run_waiting_human" in line or "review_required" in line:
                return run_id
    raise AssertionError(f"{run_id} does not wait")


def log_of(service: Service, run_id: str) -> list[dict[str, Any]]:
    """The log of a run, page by page."""
    events: list[dict[str, Any]] = []
    with service.client(token=True) as client:
        while True:
            after = events[-1]["seq"] if events else -1
            page = client.get(f"/api/v1/runs/{run_id}/events", params={"limit": 1000, "after": after}).json()
            events += page["events"]
            if not page["events"]:
                return events


def events_of(service: Service, run_id: str) -> list[dict[str, Any]]:
    """Every event of a run, once it has ended."""
    return log_of(service, wait_for_end(service, run_id))


def decision_in(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The only decision of a run."""
    [decision] = [event["payload"] for event in events if event["type"] == "approval_decided"]
    return decision


def lines_in(text: str) -> list[dict[str, Any]]:
    """What a download of events holds."""
    return [json.loads(line) for line in text.splitlines()]


def card_of(page: Page, text: str) -> Locator:
    """The card of the request that says this."""
    return page.get_by_role("article").filter(has_text=text)


class Listener(ThreadingHTTPServer):
    """A server elsewhere that notes every request that reaches it."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        super().__init__(("127.0.0.1", 0), _Ear)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"


class _Ear(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        cast(Listener, self.server).heard.append(self.path)
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""


@contextmanager
def listening() -> Generator[Listener]:
    """A listener, for as long as the block lasts."""
    with Listener() as listener:
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield listener
        finally:
            listener.shutdown()
            thread.join()
