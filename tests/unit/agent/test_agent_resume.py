"""Going on: after a failed disk, and after being killed between any two events."""

import errno
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.agent.options import RunRequest
from skills_runtime.agent.run_inputs import run_spec
from skills_runtime.agent.run_ports import log_ports
from skills_runtime.config import resolve
from skills_runtime.errors import LogCorrupt
from skills_runtime.events.states import RunStatus
from skills_runtime.ports import Effect, ToolContext, ToolResult
from skills_runtime.runs import LogPorts, RunPaths, create_run, read_record, runs_root, verify_run
from skills_runtime.testing import FakeModel, FaultyDisk, says
from tests.support.agents import Doing, agent_in, calls, events_of, payloads_of, writes
from tests.support.events import order_problem
from tests.support.runs import lines_of

SCRIPT = [
    calls(writes("a.txt", "first"), ("do", {"n": 1}), text="Let me see."),
    calls(("file_read", {"path": "a.txt"}), writes("deliverables/report.md", "# Report"), ("note", {})),
    says("All ", "done."),
]
"""Two answers with calls of every effect, then the end."""


class Effects:
    """Counts what really happened in the world, by run."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def tool(self, name: str, effect: Effect) -> Doing:
        """A tool that has an effect each time it is called."""

        async def work(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
            self.done.append(name)
            return ToolResult(ok=True, stdout=f"{name} done")

        return Doing(work, name=name, effect=effect)


def _resume(directory: Path, backend: Any, effects: Effects) -> Any:
    agent = agent_in(directory, backend)
    agent.register_tool(effects.tool("do", "effectful"))
    agent.register_tool(effects.tool("note", "idempotent"))
    return agent.run("Go.", run_id="run_1")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run that ended, in a workspace and with keys that outlive one test."""
    path, state = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(state))
        result = _resume(path, FakeModel(SCRIPT), Effects())
    assert result.status == "completed"
    return path, state


@pytest.fixture
def copied(whole: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, RunPaths]:
    """A copy of that workspace."""
    path = tmp_path / "place"
    shutil.copytree(whole[0], path, symlinks=True)
    monkeypatch.setenv("XDG_STATE_HOME", str(whole[1]))
    return path, RunPaths(runs_root(path) / "run_1")


LINES = 32
"""How many lines the log of the script has."""


def test_the_script_has_as_many_lines_as_are_cut_below(copied: tuple[Path, RunPaths]) -> None:
    assert len(lines_of(copied[1])) == LINES


def _started_without_end(lines: list[bytes]) -> list[str]:
    started: list[str] = []
    for data in map(json.loads, lines):
        if data["type"] == "tool_call_started":
            started.append(data["payload"]["tool"])
        elif data["type"] == "tool_call_finished":
            started.remove(data["payload"]["tool"])
    return started


@pytest.mark.parametrize(
    ("line_count", "torn"),
    [
        *((line_count, True) for line_count in range(1, LINES)),
        *((line_count, False) for line_count in range(1, LINES, 5)),
    ],
)
def test_a_run_killed_after_any_event_continues_to_its_end(
    copied: tuple[Path, RunPaths], line_count: int, torn: bool
) -> None:
    path, paths = copied
    lines = lines_of(paths)
    paths.events.write_bytes(b"".join(lines[:line_count]) + (lines[line_count][:-1] if torn else b""))
    _leave_files_as_they_were(path, paths, lines[:line_count])
    effects, backend = Effects(), FakeModel(SCRIPT)
    result = _resume(path, backend, effects)
    assert (result.status, result.final_output) == ("completed", "All done.")
    assert read_record(paths.run_json).status == "completed"
    _check_effects(lines[:line_count], effects)
    for request in backend.requests:
        assert not order_problem(request.messages)
    assert (path / "a.txt").read_text() == "first"
    assert (paths.deliverables / "report.md").read_text() == "# Report"
    findings = verify_run(paths.root, log_ports().keys).findings
    # What the killed process kept for an event that it could not write any more is nobody's.
    assert [finding for finding in findings if finding.message != "no event names this blob"] == []
    assert _ids_are_unique(result.wal_locator)


def _leave_files_as_they_were(directory: Path, paths: RunPaths, lines: list[bytes]) -> None:
    """Take away what had not been written by then, and what the process wrote only at its end."""
    written = [data["payload"]["path"] for data in map(json.loads, lines) if data["type"] == "file_operation"]
    if "a.txt" not in written:
        (directory / "a.txt").unlink()
    if "deliverables/report.md" not in written:
        (paths.deliverables / "report.md").unlink()


def _check_effects(lines: list[bytes], effects: Effects) -> None:
    """An effect that may have happened is not repeated unless its tool said that this does no harm."""
    before = [data["payload"]["tool"] for data in map(json.loads, lines) if data["type"] == "tool_call_started"]
    unknown = _started_without_end(lines)
    assert effects.done.count("do") == (0 if "do" in before else 1)
    assert effects.done.count("note") == (1 if "note" in unknown or "note" not in before else 0)


def _ids_are_unique(locator: str) -> bool:
    """Whether no turn was numbered twice, and no step but for calls that were tried again."""
    turns = [event.turn_id for event in events_of(locator) if event.type == "llm_request_started"]
    steps = [event.step_id for event in events_of(locator) if event.type == "tool_call_requested"]
    return len(set(turns)) == len(turns) and len(set(steps)) == len(steps)


def test_the_model_is_told_the_truth_about_an_effect_that_may_have_happened(copied: tuple[Path, RunPaths]) -> None:
    path, paths = copied
    lines = lines_of(paths)
    count = next(n for n, line in enumerate(lines) if b'"type":"tool_call_started"' in line and b'"do"' in line)
    paths.events.write_bytes(b"".join(lines[: count + 1]))
    backend = FakeModel(SCRIPT)
    _resume(path, backend, Effects())
    results = [json.loads(message["content"]) for message in backend.requests[0].messages if message["role"] == "tool"]
    assert results[1]["ok"] is False
    assert results[1]["stderr"].startswith("outcome unknown")


def test_a_log_without_its_first_line_is_refused(copied: tuple[Path, RunPaths]) -> None:
    path, paths = copied
    paths.events.write_bytes(lines_of(paths)[0][:-1])
    with pytest.raises(LogCorrupt):
        _resume(path, FakeModel(SCRIPT), Effects())


def test_a_run_that_was_only_created_is_run_by_its_id(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, [says("done")])
    agent.create(RunRequest(prompt="The task.", run_id="run_1")).close()
    backend = FakeModel([says("done")])
    result = agent_in(tmp_path, backend).run("Another task.", run_id="run_1")
    assert result.status == "completed"
    assert backend.requests[0].messages[1]["content"] == "The task."


def test_a_resumed_run_says_so(copied: tuple[Path, RunPaths]) -> None:
    path, paths = copied
    paths.events.write_bytes(b"".join(lines_of(paths)[:10]))
    result = _resume(path, FakeModel(SCRIPT), Effects())
    first, second = payloads_of(result.wal_locator, "run_started")
    assert (first.resume["enabled"], second.resume["enabled"]) == (False, True)
    assert second.resume["previous_events"] >= 10


async def _on_a_failing_disk(directory: Path, disk: FaultyDisk) -> Any:
    resolved = resolve(directory, session_settings={"safety": {"mode": "allow"}})
    ports = LogPorts(log_ports().keys, disk=disk)
    run = create_run(run_spec(resolved, RunRequest(prompt="Go.", run_id="run_1")), ports)
    agent = agent_in(directory, FakeModel(SCRIPT))
    agent.register_tool(Effects().tool("do", "effectful"))
    agent.register_tool(Effects().tool("note", "idempotent"))
    return await agent.execute(run)


@pytest.mark.parametrize("nth", [2, 5, 8, 13, 20, 26])
async def test_a_run_stopped_by_a_full_disk_can_be_resumed(tmp_path: Path, nth: int) -> None:
    disk = FaultyDisk()
    disk.fail("write", errno.ENOSPC, nth=nth)
    result = await _on_a_failing_disk(tmp_path, disk)
    assert (result.status, result.error_kind) == ("failed", "storage_error")
    assert "resume" in result.hint
    assert read_record(runs_root(tmp_path) / "run_1" / "run.json").status in (RunStatus.PENDING, RunStatus.RUNNING)
    again = _resume(tmp_path, FakeModel(SCRIPT), Effects())
    assert (again.status, again.final_output) == ("completed", "All done.")
    assert verify_run(runs_root(tmp_path) / "run_1", log_ports().keys).findings == []


@pytest.mark.parametrize("nth", [1, 2, 3, 5])
async def test_a_run_stopped_by_a_failed_sync_can_be_resumed(tmp_path: Path, nth: int) -> None:
    disk = FaultyDisk()
    disk.fail("sync", errno.EIO, nth=nth)
    result = await _on_a_failing_disk(tmp_path, disk)
    assert (result.status, result.error_kind) == ("failed", "storage_error")
    again = _resume(tmp_path, FakeModel(SCRIPT), Effects())
    assert (again.status, again.final_output) == ("completed", "All done.")
