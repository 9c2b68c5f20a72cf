"""A service whose model calls what its task says, and whose rules ask about everything."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page

from tests.e2e.service.servers import Service, serving
from tests.support import model_server
from tests.support.model_server import Answer, calls, says

Call = tuple[str, dict[str, Any]]
HARMLESS = ("shell_command", {"command": "uname -s", "justification": "to know the system"})


def obeying(request: dict[str, Any]) -> Answer:
    """The answer of a model that does the calls of its task one after another, then tells what came of the last."""
    messages: list[dict[str, Any]] = request["messages"]
    last = max(place for place, message in enumerate(messages) if message["role"] == "user")
    results = [message for message in messages[last:] if message["role"] == "tool"]
    wanted: list[Call] = _calls_in(str(messages[last]["content"]))
    if len(results) < len(wanted):
        return calls(wanted[len(results)])
    return says(f"Done. {results[-1]['content'] if results else ''}")


def _calls_in(task: str) -> list[Call]:
    _, found, text = task.partition("CALLS ")
    return [(name, arguments) for name, arguments in json.loads(text)] if found else []


@contextmanager
def asking(home: Path) -> Generator[Service]:
    """The service, in a workspace of its own."""
    (home / "skills").mkdir(parents=True)
    with model_server.start(obeying) as model:
        settings = {
            "llm.backend": "openai",
            "llm.base_url": model.base_url,
            "llm.api_key_env": "MODEL_KEY",
            "models.planner": "obeying",
            "models.executor": "obeying",
            "safety.mode": "ask",
        }
        given = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        away = {"MODEL_KEY": "secret", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        with serving(home, home / "skills", *given, **away) as service:
            yield service


def begin(service: Service, *wanted: Call, task: str = "Do as you are told.", **more: Any) -> str:
    """A new run that makes these calls."""
    with service.client(token=True) as client:
        prompt = f"{task} CALLS {json.dumps(wanted)}"
        answer = client.post("/api/v1/runs", json={"prompt": prompt, **more})
        assert answer.status_code == 201, answer.text
        return answer.json()["run_id"]


def events_of(service: Service, run_id: str) -> list[dict[str, Any]]:
    """Every event of a run, once it has ended."""
    with service.client(token=True) as client:
        client.get(f"/api/v1/runs/{run_id}/events/stream")  # it ends with the run
        return client.get(f"/api/v1/runs/{run_id}/events", params={"limit": 1000}).json()["events"]


def decision_in(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The only decision of a run."""
    [found] = [event["payload"] for event in events if event["type"] == "approval_decided"]
    return found


def card_of(page: Page, text: str) -> Locator:
    """The card of the request that says this."""
    return page.get_by_role("article").filter(has_text=text)
