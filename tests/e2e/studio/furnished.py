"""A service with something to see on every page of Studio, and the addresses of all these pages."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from skills_runtime.events.payloads import RunFailed
from skills_runtime.runs import finish_run
from tests.e2e.service.servers import Service, write_python
from tests.e2e.studio.asking import HARMLESS, Call, begin
from tests.e2e.studio.long_runs import add_turns, open_run
from tests.e2e.studio.looking import EVERYTHING, done, looking
from tests.e2e.studio.talking import QUESTION

FAILED = "run_failed_early"
SKILL = """---
name: gardening
description: How a garden is kept through the year. Use it when something should grow.
---
# Gardening

1. Look at the soil.
2. Choose what grows there.

| plant | when |
|---|---|
| bean | May |

```bash
echo water
```
"""
SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "title": "Text", "description": "What is counted."},
        "unit": {"type": "string", "enum": ["words", "letters"]},
        "deep": {"type": "boolean"},
    },
    "required": ["text"],
}
KEY = "nightly"
RISKY: Call = ("shell_command", {"command": "rm -rf build/* && make", "justification": "to begin afresh"})
OPEN: dict[str, tuple[tuple[Call, ...], dict[str, Any]]] = {
    "run-dangerous": ((RISKY,), {"task": "Build it again.", "policy_mode": "ask"}),
    "run-approval": ((HARMLESS,), {"task": "Look at the system.", "policy_mode": "ask"}),
    "run-question": ((("ask_human", QUESTION),), {"task": "Paint it."}),
    "run-review": ((), {"task": "Write a draft.", "review": True}),
    "run-parked": (EVERYTHING[:3], {"task": "Write much.", "max_steps": 1, "on_limit": "park"}),
}
"""Runs that wait for a person, each for something else."""
_SETTLED = """() => document.querySelector("main h1")?.checkVisibility()
  && document.querySelector("main .animate-pulse") === null && document.fonts.status === "loaded" """
_CHOOSE = """async ([language, theme]) => {
  const tell = (key, newValue) => {
    if (newValue === null) return;
    localStorage.setItem(key, newValue);
    window.dispatchEvent(new StorageEvent("storage", { key, newValue }));
  };
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  tell("studio.language", language);
  tell("studio.theme", theme);
  const { documentElement: root } = document;
  while ((language ?? root.lang) !== root.lang || (theme ?? root.dataset.theme) !== root.dataset.theme) await frame();
  await frame();
}"""
TABS = ("model", "keys", "sandbox", "policy", "configuration", "storage")


@dataclass(frozen=True)
class Furnished:
    """The service, and the addresses of its pages by name."""

    service: Service
    pages: dict[str, str]


@contextmanager
def furnished(home: Path) -> Generator[Furnished]:
    """A service whose workspace has runs of all kinds, a request, sessions, skills and executions."""
    write_skills(home)
    failed = open_run(home, FAILED)
    add_turns(failed, 0, 3)
    finish_run(failed, RunFailed(error_kind="rate_limited", message="the service is busy\ntry again"))
    failed.close()
    with looking(home) as service:
        run_id = done(service, *EVERYTHING, task="Write the report of this quarter.")
        other = done(service, *EVERYTHING[:3], task="Write the report of this quarter.")
        open_runs = {name: begin(service, *wanted, **more) for name, (wanted, more) in OPEN.items()}
        with service.client(token=True) as client:
            made = client.post("/api/v1/keys", json={"name": KEY, "scopes": ["read", "admin"]})
            assert made.status_code == 201, made.text
        for run in open_runs.values():
            until_it_waits(service, run)
        pages = addresses(service, run_id, other)
        pages |= {name: f"/studio/runs/{run}" for name, run in open_runs.items()}
        yield Furnished(service, pages)


def until_it_waits(service: Service, run_id: str) -> None:
    """Wait until a run has come to where a person is needed."""
    with service.client(token=True) as client, client.stream("GET", f"/api/v1/runs/{run_id}/events/stream") as told:
        for line in told.iter_lines():
            if "run_waiting_human" in line or "review_required" in line:
                return
    raise AssertionError(f"{run_id} does not wait")


def write_skills(home: Path) -> None:
    """A skill to read, one that cannot be read, and one to run."""
    skills = home / ".agents" / "skills"
    for name, text in (("gardening", SKILL), ("broken", "no front matter\n")):
        (skills / name).mkdir(parents=True)
        (skills / name / "SKILL.md").write_text(text)
    (home / "skills").symlink_to(skills)  # where the server looks for those that run by themselves
    count = write_python(skills, "count", "print(json.dumps({'count': len(given['text'])}))")
    (count / "input.schema.json").write_text(json.dumps(SCHEMA))


def addresses(service: Service, run_id: str, other: str) -> dict[str, str]:
    """Every page, and every view of those that have several."""
    with service.client(token=True) as client:
        log = client.get(f"/api/v1/runs/{run_id}/events", params={"limit": 1000}).json()["events"]
        session = client.get("/api/v1/sessions").json()["sessions"][0]["session_id"]
    patched = next(one["seq"] for one in log if one["payload"].get("tool") == "apply_patch")
    run = f"/studio/runs/{run_id}"
    return {
        "runs": "/studio/runs",
        "run": f"{run}?event={patched}",
        "run-timeline": f"{run}/timeline?event={patched}",
        "run-events": f"{run}/events",
        "run-files": f"{run}/files",
        "run-replay": f"{run}?at={patched}",
        "run-failed": f"/studio/runs/{FAILED}",
        "compare": f"/studio/compare?a={run_id}&b={other}",
        "new": "/studio/new",
        "approvals": "/studio/approvals",
        "sessions": "/studio/sessions",
        "session": f"/studio/sessions/{session}",
        "skills": "/studio/skills",
        "skill": "/studio/skills/gardening",
        "skill-edit": "/studio/skills/gardening/edit",
        "skill-checks": "/studio/skills/gardening/checks",
        "skill-run": "/studio/skills/count/run",
        "welcome": "/studio/welcome",
        "nowhere": "/studio/there/is/nothing",
        **{f"operations-{tab}": f"/studio/operations/{tab}" for tab in TABS},
    }


def settle(page: Page) -> None:
    """Wait until a page shows what it has to show."""
    page.wait_for_function(_SETTLED)


def walk(page: Page, service: Service, path: str) -> None:
    """Open an address of somebody who is logged in already."""
    page.goto(f"{service.url}{path}")
    settle(page)


def go(page: Page, path: str) -> None:
    """Go to an address within Studio, as its links do, without loading everything anew."""
    page.evaluate("path => history.pushState(null, '', path)", path)
    settle(page)


def choose(page: Page, *, language: str | None = None, theme: str | None = None) -> None:
    """Choose a language or colours as another tab would, and wait until this one shows them."""
    page.evaluate(_CHOOSE, [language, theme])


def remembered(language: str, theme: str) -> str:
    """A script that makes choices before the page starts, as an earlier visit would have."""
    chosen = {"studio.language": language, "studio.theme": theme}
    return f"Object.entries({json.dumps(chosen)}).forEach(([name, value]) => localStorage.setItem(name, value));"
