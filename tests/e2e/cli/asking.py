"""Runs that ask for approvals, and what their logs say of it."""

import json
from pathlib import Path
from typing import Any

from tests.e2e.cli.programs import Answer, invoke, say, write, write_config

PARKED = ("--approvals", "inbox")
ASK = {"safety": {"mode": "ask"}}
FIRST, SECOND = "deliverables/a.md", "deliverables/b.md"


def park(*answers: dict[str, Any], run_id: str = "r") -> Answer:
    """Start a run that leaves its approvals for later, in the current directory."""
    write_config(Path(), *(answers or (say("", write(FIRST)), say("Written."))), **ASK)
    return invoke("run", "Write it", "--config", "kgent.yaml", "--sandbox", f"runs/{run_id}", *PARKED)


def events(event_type: str, root: str = "runs/r") -> list[dict[str, Any]]:
    """What events of a type hold."""
    lines = (json.loads(line) for line in Path(root, "events.jsonl").read_text().splitlines())
    return [line["payload"] for line in lines if line["type"] == event_type]


def asked(root: str = "runs/r") -> str:
    """The id of the last request of a run."""
    return events("approval_requested", root)[-1]["approval_id"]
