"""Writes the golden run of an agent of the current format, once: `python -m tests.replay.make_agent_golden`.

It has everything that replay and fork have to understand: history, messages, a question, a plan, calls of every sort,
a compaction, an answer that was rejected.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skills_runtime.agent import Agent
from skills_runtime.agent.options import RunRequest
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.clock import RandomIds, SystemClock
from skills_runtime.engine import RunControl
from skills_runtime.ledger import SqliteInbox, open_ledger
from skills_runtime.llm import ScriptedBackend
from skills_runtime.ports import ToolContext, ToolResult
from skills_runtime.runs import RunPaths, runs_root
from skills_runtime.testing import says
from tests.replay.make_golden import GOLDEN, KEY
from tests.support.agents import Doing, calls, writes

AGENT = GOLDEN / "agent"
RUN_ID = "agent"
SETTINGS: Mapping[str, Any] = {
    "tools": {"compat": True},  # the golden run is older than the setting, and was offered all
    "safety": {"mode": "allow"},
    "run": {
        "output_schema": {"type": "object", "required": ["haiku"], "properties": {"haiku": {"type": "string"}}},
        "context_recovery": {"window_tokens": 1000, "compaction_keep_last_messages": 2},
    },
}
SCRIPT = [
    calls(
        ("update_plan", {"plan": [{"step": "look", "status": "in_progress"}, {"step": "write", "status": "pending"}]}),
        text="I make a plan.",
    ),
    calls(("look", {"n": 1}), ("look", {"n": 2}), ("no_such_tool", {})),
    calls(("ask_human", {"question": "Shall it have a title?", "choices": ["yes", "no"]})),
    calls(("look", {"n": 3, "chars": 3000})),
    calls(writes("haiku.txt", "大海\nthe sea\n"), writes("deliverables/haiku.txt", "waves\n"), ("append", {})),
    says("Done."),
    says('{"haiku": ', '"waves"}'),
]
SUMMARY = "The sea was looked at; there is to be no title."


async def _look(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    return ToolResult(ok=True, stdout="~" * arguments.get("chars", 0) or f"wave {arguments['n']}")


async def _append(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    return ToolResult(ok=True, stdout="appended")


def agent_for(workspace: Path, inbox: SqliteInbox | None = None) -> Agent:
    """The agent whose run is golden."""
    backend = ScriptedBackend(SCRIPT, compactions=[SUMMARY])
    agent = Agent(
        model="gpt-4",  # the default at the time
        workspace_root=workspace,
        backend=backend,
        session_settings=SETTINGS,
        inbox=inbox,
    )
    agent.register_tool(Doing(_look, name="look", effect="read"))
    agent.register_tool(Doing(_append, name="append"))
    return agent


def make(directory: Path) -> Path:
    """Run the agent below `place`, where its keys are, and return the directory of the run."""
    workspace = directory / "workspace"
    workspace.mkdir()
    history = (
        {"role": "user", "content": "Do you know the sea?"},
        {"role": "assistant", "content": "I have read of it."},
    )
    request = RunRequest(prompt="Write a haiku about the sea.", run_id=RUN_ID, history=history)
    with open_ledger(directory / "ledger", clock=SystemClock(), ids=RandomIds()) as ledger:
        agent_for(workspace).create(request).close()
        ledger.inbox.send(RUN_ID, "steer", {"text": "be brief"})
        agent = agent_for(workspace, ledger.inbox)
        parked = agent.run("", run_id=RUN_ID)
        assert parked.status == "waiting_human"
        paths = RunPaths(runs_root(workspace) / RUN_ID)
        RunControl(ledger.inbox, log_ports()).answer(paths, "no")
        ledger.inbox.send(RUN_ID, "steer", {"text": "and kind"})
        done = agent.run("", run_id=RUN_ID)
        assert done.output == {"haiku": "waves"}
    return paths.root


def main() -> None:
    """Write the golden run; refuses where there is one."""
    if AGENT.exists():
        raise SystemExit(f"{AGENT} exists: golden runs are made once; remove it if the format was not released yet")
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="golden-") as file_path:
        keys = Path(file_path) / "skills_runtime" / "keys"
        keys.mkdir(parents=True, mode=0o700)
        (keys / "log.key").write_bytes(KEY)
        (keys / "log.key").chmod(0o600)
        os.environ["XDG_STATE_HOME"] = file_path
        shutil.copytree(make(Path(file_path)), AGENT, ignore=shutil.ignore_patterns("run.lock"))
    for path in AGENT.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)  # all that git keeps of it


if __name__ == "__main__":
    main()
