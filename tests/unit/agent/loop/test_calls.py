"""The tool boundary: whatever a model asks for and whatever a tool does, the model is told and the run goes on."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skills_runtime.errors import ToolError
from skills_runtime.ports import ToolContext, ToolResult
from skills_runtime.runs import RunPaths
from skills_runtime.testing import FakeModel, says
from tests.support.agents import Doing, agent_in, calls, events_of, payloads_of, succeed, writes
from tests.support.events import order_problem

DEEP = '{"a":' + "[" * 5000 + "]" * 5000 + "}"


async def _raise(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    raise KeyError("the tool broke")


async def _raise_odd(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    raise ValueError("half \ud800")


async def _complain(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    raise ToolError("timeout", "too slow", hint="ask for less")


async def _return_nothing(arguments: Mapping[str, Any], context: ToolContext) -> Any:
    return None


async def _return_text(arguments: Mapping[str, Any], context: ToolContext) -> Any:
    return "done"


async def _return_object(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    return ToolResult(ok=True, data={"thing": object()})


async def _return_bytes_as_text(arguments: Mapping[str, Any], context: ToolContext) -> Any:
    number: Any = 7
    return ToolResult(ok=True, stdout=number)


async def _return_odd_text(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
    return ToolResult(ok=True, stdout="caf\udce9 \ud83d\ude00")


BROKEN = {
    "raises": (_raise, "unknown", "KeyError: 'the tool broke'"),
    "raises text that is none": (_raise_odd, "unknown", "ValueError: half �"),
    "complains": (_complain, "timeout", "too slow (ask for less)"),
    "returns nothing": (_return_nothing, "unknown", "`NoneType`"),
    "returns text": (_return_text, "unknown", "`str`"),
    "returns an object": (_return_object, "unknown", "object"),
    "returns a number as text": (_return_bytes_as_text, "unknown", ""),
}


def _tool_results(backend: FakeModel) -> list[dict[str, Any]]:
    """The results the model was told, in order."""
    return [json.loads(message["content"]) for message in backend.requests[-1].messages if message["role"] == "tool"]


@pytest.mark.parametrize("how", BROKEN)
def test_a_tool_that_is_broken_does_not_break_the_run(tmp_path: Path, how: str) -> None:
    work, kind, text = BROKEN[how]
    backend = FakeModel([calls(("do", {})), says("I see.")])
    agent = agent_in(tmp_path, backend)
    agent.register_tool(Doing(work))
    assert agent.run("Go.").status == "completed"
    (result,) = _tool_results(backend)
    assert (result["ok"], result["error_kind"]) == (False, kind)
    assert text in result["stderr"]


def test_invalid_text_is_made_valid(tmp_path: Path) -> None:
    backend = FakeModel([calls(("do", {})), says("I see.")])
    agent = agent_in(tmp_path, backend)
    agent.register_tool(Doing(_return_odd_text))
    assert agent.run("Go.").status == "completed"
    assert _tool_results(backend)[0]["stdout"] == "caf� 😀"


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("no_such_tool", {}, "not_found"),
        ("", {}, "not_found"),
        ("file_write", "{not json", "validation"),
        ("file_write", "", "validation"),
        ("file_write", "[]", "validation"),
        ("file_write", '"text"', "validation"),
        ("file_write", DEEP, "validation"),
        ("file_write", r'{"path":"\ud800","content":"x"}', "validation"),
        ("file_write", {}, "validation"),
        ("file_write", {"path": 7, "content": "x"}, "validation"),
        ("file_write", {"path": "a", "content": {"x": 1}}, "validation"),
        ("file_write", {"path": "a", "content": "x", "extra": 1}, "validation"),
        ("file_read", {"path": "a", "max_bytes": "7"}, "validation"),
        ("file_read", {"path": "a", "max_bytes": 0}, "validation"),
        ("file_read", {"path": "none.txt"}, "not_found"),
        ("file_read", {"path": "../secret"}, "path_escape"),
        ("file_write", {"path": "../evil", "content": "x"}, "path_escape"),
        ("file_write", {"path": ".skills_runtime_sdk/x", "content": "x"}, "permission"),
    ],
)
def test_a_call_that_cannot_be_done_is_answered_with_its_kind(
    tmp_path: Path, name: str, arguments: Mapping[str, Any] | str, kind: str
) -> None:
    backend = FakeModel([calls((name, arguments)), says("I see.")])
    result = agent_in(tmp_path, backend).run("Go.")
    assert result.status == "completed"
    (outcome,) = _tool_results(backend)
    assert (outcome["ok"], outcome["error_kind"]) == (False, kind)
    assert not order_problem(backend.requests[-1].messages)
    assert [path.name for path in tmp_path.iterdir()] == [".skills_runtime_sdk"]


def test_bad_arguments_are_described_and_stored_as_blobs(tmp_path: Path) -> None:
    result = agent_in(tmp_path, [calls(("file_write", "{not json")), says("I see.")]).run("Go.")
    (requested,) = payloads_of(result.wal_locator, "tool_call_requested")
    assert (requested.arguments, requested.arguments_valid, requested.raw_arguments_len) == ({}, False, 9)
    assert requested.raw_arguments_sha256 == hashlib.sha256(b"{not json").hexdigest()
    assert requested.raw_arguments_error
    assert not payloads_of(result.wal_locator, "tool_call_started")


def test_a_huge_number_does_not_break_the_gate(tmp_path: Path) -> None:
    backend = FakeModel([calls(("do", '{"n":123456789012345678901234567890,"x":1e400}')), says("I see.")])
    agent = agent_in(tmp_path, backend)
    agent.register_tool(Doing(succeed))
    assert agent.run("Go.").status == "completed"


def test_calls_that_share_an_id_are_answered_each(tmp_path: Path) -> None:
    tool = Doing(succeed)
    backend = FakeModel([calls(("do", {"n": 1}), ("do", {"n": 2}), ("do", {}), ids=["same", "same", ""]), says("ok")])
    agent = agent_in(tmp_path, backend)
    agent.register_tool(tool)
    agent.run("Go.")
    assert tool.times == 3
    assert not order_problem(backend.requests[-1].messages)


def test_an_id_used_again_in_a_later_answer_is_another_call(tmp_path: Path) -> None:
    tool = Doing(succeed)
    script = [calls(("do", {}), ids=["call_0"]), calls(("do", {}), ids=["call_0"]), says("ok")]
    backend = FakeModel(script)
    agent = agent_in(tmp_path, backend)
    agent.register_tool(tool)
    result = agent.run("Go.")
    assert tool.times == 2
    assert not order_problem(backend.requests[-1].messages)
    keys = {payload.idempotency_key for payload in payloads_of(result.wal_locator, "tool_call_started")}
    assert len(keys) == 2


def test_the_model_gets_back_its_arguments_to_the_letter(tmp_path: Path) -> None:
    raw = '{ "content": "geheim ü",\n "path":"a.txt" }'
    backend = FakeModel([calls(("file_write", raw)), says("ok")])
    agent_in(tmp_path, backend).run("Go.")
    (assistant,) = [message for message in backend.requests[-1].messages if message["role"] == "assistant"]
    assert assistant["tool_calls"][0]["function"]["arguments"] == raw


def test_every_file_operation_is_recorded_also_the_refused_ones(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("in")
    expected = [
        ("file_read", {"path": "in.txt"}),
        writes("out.txt", "out"),
        writes("../evil", "x"),
        ("file_read", {"path": "/etc/passwd"}),
        writes("deliverables/r.md", "r"),
    ]
    result = agent_in(tmp_path, [calls(*expected), says("ok")]).run("Go.")
    operations = payloads_of(result.wal_locator, "file_operation")
    assert [(operation.op, operation.path, operation.ok, operation.error) for operation in operations] == [
        ("read", "in.txt", True, None),
        ("write", "out.txt", True, None),
        ("write", "../evil", False, "path_escape"),
        ("read", "/etc/passwd", False, "path_escape"),
        ("write", "deliverables/r.md", True, None),
    ]
    started = [payload.call_id for payload in payloads_of(result.wal_locator, "tool_call_started")]
    assert [payload.call_id for payload in operations] == started


def test_the_start_of_an_effect_is_durable_before_the_effect(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    async def look(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        (root,) = (tmp_path / ".skills_runtime_sdk" / "runs").iterdir()
        seen.append([event.type for event in events_of(str(root / "events.jsonl"))])
        return ToolResult(ok=True)

    agent = agent_in(tmp_path, [calls(("do", {})), says("ok")])
    agent.register_tool(Doing(look))
    agent.run("Go.")
    assert seen[0][-1] == "tool_call_started"


SECRET = "the launch code is 0000"


def _everything_but_blobs(locator: str) -> bytes:
    root = RunPaths(Path(locator).parent).root
    return b"".join(
        path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.is_relative_to(root / "blobs") and not path.is_relative_to(root / "deliverables")
    )


@pytest.mark.parametrize(
    "call",
    [
        writes("deliverables/a.txt", SECRET),
        ("file_read", {"path": "secret.txt"}),
        ("file_write", {"path": "a.txt", "contents": SECRET}),
        ("file_write", '{"path": "a.txt", "content": "' + SECRET),
        ("write_file", {"path": "a.txt", "content": SECRET}),
    ],
    ids=["written", "read", "misnamed argument", "broken arguments", "unknown tool"],
)
def test_no_content_of_a_file_is_in_the_log_or_the_transcript(
    tmp_path: Path, call: tuple[str, Mapping[str, Any] | str]
) -> None:
    (tmp_path / "secret.txt").write_text(SECRET)
    backend = FakeModel([calls(call), says("ok")])
    result = agent_in(tmp_path, backend).run("Go.")
    assert SECRET.encode() not in _everything_but_blobs(result.wal_locator)
    assert SECRET in json.dumps(backend.requests[-1].messages), "the model itself needs it"


def test_a_hidden_content_is_shown_as_its_size_and_digest(tmp_path: Path) -> None:
    result = agent_in(tmp_path, [calls(writes("a.txt", SECRET)), says("ok")]).run("Go.")
    (requested,) = payloads_of(result.wal_locator, "tool_call_requested")
    digest = hashlib.sha256(SECRET.encode()).hexdigest()
    assert requested.arguments == {"path": "a.txt", "content": {"bytes": len(SECRET), "sha256": digest}}
    assert digest in (Path(result.wal_locator).parent / "transcript.md").read_text()
