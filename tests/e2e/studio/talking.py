"""A service whose model talks as its task says, and waits where a test wants to look."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.service.servers import Service, serving
from tests.support import model_server
from tests.support.model_server import Answer, calls, end_chunk, says, text_chunk

PATIENCE_SEC = 60
QUESTION = {"question": "Which colour?", "choices": ["red", "blue"]}


@dataclass
class Talker:
    """A model: `ASK` asks a person, `HOLD` waits until it is let go, `READ n` reads a file n times, `STREAM n` says
    n words slowly, `FAIL` calls a tool that fails.
    """

    go: threading.Event = field(default_factory=threading.Event)
    gap_sec: float = 0.0
    pause_at: int = -1
    """The reading at which it waits until it is let go."""

    def __call__(self, request: dict[str, Any]) -> Answer:
        """The next answer in a conversation."""
        messages: list[dict[str, Any]] = request["messages"]
        task = str(next(one["content"] for one in messages if one["role"] == "user"))
        results = [one for one in messages if one["role"] == "tool"]
        heard = [str(one["content"]) for one in messages if one["role"] == "user"]
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
            case "STREAM":
                words = [text_chunk(f"word{number} ") for number in range(int(rest.split()[0]))]
                return Answer((*words, end_chunk("stop")), gap_sec=self.gap_sec)
            case _:
                return says(f"**Done.** Heard: {heard[-1]}", usage=(1500, 40))


@contextmanager
def talking(home: Path, talker: Talker, *, listen: str = "127.0.0.1:0") -> Generator[Service]:
    """The service, in a workspace of its own."""
    (home / "skills").mkdir(parents=True, exist_ok=True)
    (home / "note.txt").write_text("a note\n")
    with model_server.start(talker) as model, serving_with(home, model.base_url, listen=listen) as service:
        yield service


@contextmanager
def serving_with(home: Path, base_url: str, *, listen: str = "127.0.0.1:0") -> Generator[Service]:
    """A service that asks the model at an address."""
    settings = {
        "llm.backend": "openai",
        "llm.base_url": base_url,
        "llm.api_key_env": "MODEL_KEY",
        "models.planner": "talker",
        "models.executor": "talker",
        "safety.mode": "allow",
        "run.max_steps": "10000",
    }
    given = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    away = {"MODEL_KEY": "secret", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    with serving(home, home / "skills", *given, listen=listen, **away) as service:
        yield service


def begin(service: Service, prompt: str, **more: Any) -> str:
    """A new run."""
    with service.client(token=True) as client:
        answer = client.post("/api/v1/runs", json={"prompt": prompt, **more})
        assert answer.status_code == 201, answer.text
        return answer.json()["run_id"]


def finished(service: Service, prompt: str, **more: Any) -> str:
    """A run that has ended."""
    run_id = begin(service, prompt, **more)
    with service.client(token=True) as client:
        client.get(f"/api/v1/runs/{run_id}/events/stream")  # it ends with the run
    return run_id


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


def lines_in(text: str) -> list[dict[str, Any]]:
    """What a download of events holds."""
    return [json.loads(line) for line in text.splitlines()]
