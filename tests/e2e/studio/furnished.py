"""A service with something to see on every page of Studio, and the addresses of all these pages."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, expect

from skills_runtime.events.payloads import RunFailed
from skills_runtime.runs import finish_run
from tests.e2e.service.servers import Service, write_python
from tests.e2e.studio.asking import begin
from tests.e2e.studio.long_runs import add_turns, open_run
from tests.e2e.studio.looking import EVERYTHING, done, looking

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
        risky = ("shell_command", {"command": "rm -rf build/* && make", "justification": "to begin afresh"})
        begin(service, risky, task="Build it again.", policy_mode="ask")
        yield Furnished(service, addresses(service, run_id, other))


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
    expect(page.locator("main h1").first).to_be_visible()
    expect(page.locator("main .animate-pulse")).to_have_count(0)
    page.wait_for_function("document.fonts.status === 'loaded'")


def walk(page: Page, service: Service, path: str) -> None:
    """Open an address of somebody who is logged in already."""
    page.goto(f"{service.url}{path}")
    settle(page)


def remembered(language: str, theme: str) -> str:
    """A script that makes choices before the page starts, as an earlier visit would have."""
    chosen = {"studio.language": language, "studio.theme": theme}
    return f"Object.entries({json.dumps(chosen)}).forEach(([name, value]) => localStorage.setItem(name, value));"
