"""What was moved aside after a command is told to the model and to the user, by every tool that starts one."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.ports import Quarantined, Tool, ToolResult
from skills_runtime.sandbox import OsSandbox, build_policy, find_adapters
from skills_runtime.tools.builtin import ExecCommand, Shell, ShellCommand, ShellExec
from skills_runtime.tools.processes import note_quarantined
from tests.support.tools import Workshop, data_of

LINE = "mkdir .vscode; echo made"
CALLS: dict[str, tuple[Tool, dict[str, Any]]] = {
    "shell_exec": (ShellExec(), {"argv": ["sh", "-c", LINE]}),
    "shell": (Shell(), {"command": ["sh", "-c", LINE]}),
    "shell_command": (ShellCommand(), {"command": LINE}),
    "exec_command": (ExecCommand(), {"cmd": LINE, "yield_time_ms": 20_000}),
}


@pytest.fixture
async def workshop(tmp_path: Path) -> AsyncIterator[Workshop]:
    made = Workshop(tmp_path.resolve())
    policy = build_policy("workspace-write", made.root)
    made.sandbox = OsSandbox(policy, find_adapters("bubblewrap"), {}, state=tmp_path / "state")
    yield made
    await made.scope.aclose()


@pytest.mark.parametrize("name", CALLS)
async def test_every_tool_tells_what_was_moved(name: str, workshop: Workshop) -> None:
    tool, arguments = CALLS[name]
    result = await tool.invoke(arguments, workshop)
    assert result.ok, result
    (told,) = data_of(result)["sandbox"]["quarantined"]
    assert told["path"] == f"{workshop.root}/.vscode"
    assert Path(told["moved_to"]).is_dir()
    text = f"{result.stdout}{result.stderr}"
    assert f"`{workshop.root}/.vscode`" in text
    assert "`skills-runtime runs accept run_1`" in text
    assert not (workshop.root / ".vscode").exists()


async def test_a_command_that_makes_nothing_of_the_kind_is_told_nothing(workshop: Workshop) -> None:
    result = await workshop.call(ShellCommand(), command="mkdir src; git init -q /tmp/x")
    assert "quarantined" not in data_of(result)["sandbox"]
    assert result.stderr == ""


def test_what_an_earlier_command_left_is_reported_first() -> None:
    result = ToolResult(ok=True, data={"sandbox": {"active": True, "quarantined": [{"path": "/w/.git"}]}})
    told = data_of(note_quarantined(result, [Quarantined(path="/w/.vscode", moved_to="/q/1")], "run_1"))["sandbox"]
    assert told["active"] is True
    assert [one["path"] for one in told["quarantined"]] == ["/w/.git", "/w/.vscode"]


def test_without_anything_the_result_stays_as_it_is() -> None:
    result = ToolResult(ok=True, stdout="x")
    assert note_quarantined(result, [], "run_1") is result
