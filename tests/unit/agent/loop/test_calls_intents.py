"""Tools that describe their calls badly, and calls that are hard to describe: the run goes on and nothing slips by."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.ports import ApprovalRequest, DecisionKind, Intent, ToolContext, ToolResult, ToolSpec
from skills_runtime.projections.approvals import Approvals
from skills_runtime.safety import Deny, Gate, Rules
from skills_runtime.testing import says
from tests.support.agents import Answering, calls
from tests.support.users import Unprivileged
from tests.unit.safety.approvals.stage import Stage, Yes

MANY = 50


class Odd:
    """A tool with whatever attributes a test gives it."""

    def __init__(self, **attributes: Any) -> None:
        self.spec = ToolSpec(name="odd", description="Odd.", parameters={"type": "object"})
        self.times = 0
        for name, value in attributes.items():
            setattr(self, name, value)

    async def invoke(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Count."""
        self.times += 1
        return ToolResult(ok=True)


async def raising(arguments: Mapping[str, Any], context: ToolContext) -> Intent:
    return {"line": "true"}[str(arguments["missing"])]  # pyright: ignore[reportReturnType]


async def garbage(arguments: Mapping[str, Any], context: ToolContext) -> Any:
    return {"line": "true"}


def plain(arguments: Mapping[str, Any], context: ToolContext) -> Intent:
    return Intent(line="true")


@pytest.mark.parametrize("name", ["intent", "preview"])
@pytest.mark.parametrize(
    "value", [raising, garbage, plain, "text"], ids=["raises", "garbage", "not async", "no method"]
)
def test_a_tool_that_cannot_describe_its_call_fails_that_call_only(tmp_path: Path, name: str, value: Any) -> None:
    tool = Odd(**{name: value})
    stage = Stage(tmp_path, [calls(("odd", {})), says("done")], tool=tool)
    assert stage.work(Answering("denied", "denied")).status == "completed"
    assert tool.times == 0


def test_a_description_that_changes_each_time_needs_no_approval_forever(tmp_path: Path) -> None:
    looks: list[int] = []

    async def preview(arguments: Mapping[str, Any], context: ToolContext) -> Intent:
        looks.append(1)
        return Intent(digests={"clock": str(len(looks))})

    class Patient(Yes):
        async def request_approval(self, *, request: ApprovalRequest, timeout_ms: int | None = None) -> DecisionKind:
            assert len(self.asked) < MANY, "asked without end"
            return await super().request_approval(request=request, timeout_ms=timeout_ms)

    tool = Odd(preview=preview)
    stage = Stage(tmp_path, [calls(("odd", {})), says("done")], tool=tool)
    assert stage.work(Patient()).status == "completed"
    assert tool.times == 0


@pytest.mark.parametrize("command", ["python3 setup.py build", "node .", "bash build", "./build", "sh -c 'echo hi' /"])
def test_a_command_may_name_a_directory(tmp_path: Path, command: str) -> None:
    (tmp_path / "build").mkdir()
    stage = Stage(tmp_path, [calls(("shell_command", {"command": command})), says("done")])
    assert stage.work(Answering("denied")).status == "completed"


NASTY = [
    "a\0b",
    "x" * 300,
    "/" * 5000,
    "a/" * 3000,
    "\ud800",
    "e\u0301",
    "..",
    "",
    "~",
    "~/x",
    "/proc/self/environ",
    "\n",
]
"""Words that are hard to make sense of, as a path, a command or a text."""
TOOLS: dict[str, tuple[str, Callable[[str], dict[str, Any]]]] = {
    "file_write": ("file_write", lambda text: {"path": text, "content": text}),
    "file_delete": ("file_delete", lambda text: {"path": text}),
    "read_file": ("read_file", lambda text: {"file_path": text}),
    "grep_files": ("grep_files", lambda text: {"pattern": "x", "path": text}),
    "list_dir": ("list_dir", lambda text: {"dir_path": text}),
    "view_image": ("view_image", lambda text: {"path": text}),
    "add": ("apply_patch", lambda text: {"input": f"*** Begin Patch\n*** Add File: {text}\n+x\n*** End Patch"}),
    "delete": ("apply_patch", lambda text: {"input": f"*** Begin Patch\n*** Delete File: {text}\n*** End Patch"}),
    "workdir": ("shell_command", lambda text: {"command": "true", "workdir": text}),
    "variable": ("shell_command", lambda text: {"command": "true", "env": {text: "x"}}),
    "value": ("shell_command", lambda text: {"command": "true", "env": {"A": text}}),
    "typed": ("write_stdin", lambda text: {"session_id": 1, "chars": text}),
    "line": ("shell_command", lambda text: {"command": text}),
    "argv": ("shell", lambda text: {"command": [text]}),
}


@pytest.mark.parametrize("what", TOOLS)
def test_no_argument_ends_a_run_before_it_needs_approval(tmp_path: Path, what: str) -> None:
    tool, arguments = TOOLS[what]
    script = [calls((tool, json.dumps(arguments(text))), ids=[f"c{n}"]) for n, text in enumerate(NASTY)]
    stage = Stage(tmp_path, [*script, says("done")], settings={"run": {"max_steps": 50}})
    assert stage.work(Answering(*["denied"] * len(NASTY))).status == "completed"
    assert len(stage.all("tool_call_finished")) == len(NASTY)


def test_an_unreadable_file_is_named_in_the_approval_request(
    unprivileged: Unprivileged, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = unprivileged.path / "closed"
    monkeypatch.setenv("XDG_STATE_HOME", str(unprivileged.path / "state"))

    def ask_about_it() -> tuple[str, int]:
        closed.write_text("x")
        closed.chmod(0o000)
        patch = "*** Begin Patch\n*** Update File: closed\n@@\n-x\n+y\n*** End Patch"
        script = [
            calls(("file_write", {"path": "closed", "content": "y"})),
            calls(("apply_patch", {"input": patch})),
            calls(("shell_command", {"command": "sh ./closed"})),
            says("done"),
        ]
        stage = Stage(unprivileged.path, script)
        result = stage.work(Answering(*["denied"] * 3))
        return result.status, len(stage.all("tool_call_finished"))

    assert unprivileged(ask_about_it) == ("completed", 3)


def test_a_change_of_bytes_that_are_no_text_is_shown_by_size_and_digest(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(range(256)))
    approver = Answering("denied")
    stage = Stage(tmp_path, [calls(("file_write", {"path": "a.bin", "content": "x"})), says("done")])
    stage.work(approver)
    (touch,) = approver.asked[0].intent.files
    assert touch.diff.startswith("a.bin: 256 bytes (sha256")


@pytest.mark.parametrize("decision", [True, None, "yes", {"decision": "approved"}, ["approved"], b"approved"])
def test_an_invalid_decision_of_an_approver_fails_the_run(tmp_path: Path, decision: Any) -> None:
    tool = Odd()
    stage = Stage(tmp_path, [calls(("odd", {})), says("done")], tool=tool)
    result = stage.work(Answering(decision))
    assert (result.status, result.error_kind, tool.times) == ("failed", "config_error", 0)


def test_an_approver_that_raises_approves_of_nothing(tmp_path: Path) -> None:
    tool = Odd()
    stage = Stage(tmp_path, [calls(("odd", {})), says("done")], tool=tool)
    assert stage.work(Answering()).status == "failed"
    assert tool.times == 0


@pytest.mark.parametrize("mode", ["allow", "deny", "ask"])
def test_a_tool_that_tells_nothing_of_its_calls_is_decided_on_once(mode: Any) -> None:
    gate = Gate(rules=Rules(mode=mode))
    spec = Odd().spec
    assert gate.decide(spec, None, Approvals()) is gate.decide(spec, None, Approvals())
    assert gate.decision_cache == {(spec.name, spec.effect, None): gate.decide(spec, None, Approvals())}


@pytest.mark.parametrize(
    "added",
    [
        Approvals(rules=[{"effect": "allow"}]),
        Approvals(permits={"[s].poet": [{"tool": ["odd"]}]}),
        Approvals(confining={"[s].poet": [{"tool": ["other"]}]}),
    ],
)
def test_where_something_was_added_to_the_rules_what_was_decided_before_does_not_count(added: Approvals) -> None:
    spec = Odd().spec
    before = Deny("before")
    gate = Gate(rules=Rules(mode="allow"), decision_cache={(spec.name, spec.effect, None): before})
    assert gate.decide(spec, None, Approvals()) is before
    assert gate.decide(spec, None, added) != before
