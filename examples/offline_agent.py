"""An offline agent: a scripted model writes a report, and the run is verified."""

import tempfile
from pathlib import Path

from skills_runtime import Agent
from skills_runtime.config import state_home
from skills_runtime.runs import KeyRing, verify_run
from skills_runtime.testing import FakeModel, calls, says

MODEL = FakeModel(
    [
        calls("file_write", path="deliverables/report.md", content="# Report\n\nAll is well.\n"),
        says("The report is written."),
    ]
)

with tempfile.TemporaryDirectory() as directory:
    agent = Agent(
        workspace_root=Path(directory),
        backend=MODEL,
        session_settings={"safety": {"mode": "allow"}},
    )
    result = agent.run("Write a report.")
    print(result.status, "-", result.final_output)
    print(Path(result.artifacts[0]).read_text(encoding="utf-8"))
    report = verify_run(Path(result.wal_locator).parent, KeyRing(state_home() / "keys"))
    print(f"{report.events} events, verified: {report.ok}")
    assert report.ok
