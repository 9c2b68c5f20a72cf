"""The registry, typed arguments and the built-in tools."""

from pathlib import Path
from typing import Annotated, Any

import pytest
from msgspec import Meta

from skills_runtime.errors import NotFound, PolicyDenied, ToolError, ValidationFailed
from skills_runtime.runs.files import RunFiles, isolated_policy
from skills_runtime.tools import Arguments, Registry, build_schema, builtin_tools, parse
from skills_runtime.tools.builtin import FileRead, FileWrite
from tests.support.agents import Doing, succeed
from tests.support.tools import Workshop, data_of


class Wanted(Arguments, frozen=True):
    """Arguments of a test."""

    path: Annotated[str, Meta(description="Which file.")]
    count: Annotated[int, Meta(ge=1)] = 3


@pytest.fixture
def context(tmp_path: Path) -> Workshop:
    """A run whose own directory is the whole world."""
    for name in ("workspace", "deliverables", "logs", "blobs"):
        (tmp_path / name).mkdir()
    workshop = Workshop(tmp_path / "aside")
    workshop.files = RunFiles(isolated_policy(tmp_path), workshop.records.append, call_id=workshop.call_id)
    return workshop


def test_a_struct_is_the_schema_the_model_sees() -> None:
    assert build_schema(Wanted) == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Which file."},
            "count": {"type": "integer", "minimum": 1, "default": 3},
        },
        "required": ["path"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({}, "path"),
        ({"path": 7}, r"\$\.path"),
        ({"path": "a", "count": 0}, r"\$\.count"),
        ({"path": "a", "count": "3"}, r"\$\.count"),
        ({"path": "a", "more": 1}, "more"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_by_name(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ToolError, match=complaint) as caught:
        parse(arguments, Wanted)
    assert caught.value.kind == "validation"


def test_arguments_that_fit_are_typed() -> None:
    assert parse({"path": "a"}, Wanted) == Wanted(path="a", count=3)


def test_a_registry_keeps_its_order_and_each_name_once() -> None:
    registry = Registry(Doing(succeed, name="b"), Doing(succeed, name="a"))
    assert [schema["name"] for schema in registry.schemas()] == ["b", "a"]
    with pytest.raises(ValidationFailed):
        registry.add(Doing(succeed, name="a"))
    other = Doing(succeed, name="a")
    registry.add(other, override=True)
    assert registry.find("a") is other
    assert registry.find("c") is None
    assert len(registry) == 2


def test_two_agents_do_not_share_their_tools() -> None:
    first = builtin_tools()
    first.add(Doing(succeed))
    assert builtin_tools().find("do") is None


@pytest.mark.parametrize("tool", list(builtin_tools()), ids=lambda tool: tool.spec.name)
def test_a_built_in_tool_describes_itself(tool: Any) -> None:
    assert tool.spec.description
    assert tool.spec.parameters["type"] == "object"
    assert tool.spec.parameters["additionalProperties"] is False
    assert set(tool.spec.hidden_arguments) <= tool.spec.parameters["properties"].keys()
    assert tool.spec.effect in ("read", "idempotent", "effectful")


async def test_what_was_written_can_be_read(context: Workshop) -> None:
    written = await FileWrite().invoke({"path": "workspace/new/a.txt", "content": "grüß"}, context)
    assert (written.ok, written.data) == (True, {"path": "workspace/new/a.txt", "bytes": 6})
    read = await FileRead().invoke({"path": "workspace/new/a.txt"}, context)
    assert (read.stdout, read.truncated) == ("grüß", False)
    assert [(one.op, one.ok, one.call_id) for one in context.records] == [
        ("write", True, "call_1"),
        ("read", True, "call_1"),
    ]


async def test_a_long_file_is_cut_with_a_note(context: Workshop) -> None:
    await FileWrite().invoke({"path": "workspace/a", "content": "x" * 20}, context)
    read = await FileRead().invoke({"path": "workspace/a", "max_bytes": 10}, context)
    assert (read.stdout, read.truncated) == ("x" * 10, True)
    assert "only the first 10 bytes" in read.stderr
    whole = await FileRead().invoke({"path": "workspace/a", "max_bytes": 20}, context)
    assert (len(whole.stdout), whole.truncated, whole.stderr) == (20, False, "")


async def test_a_character_that_does_not_fit_is_left_out_whole(context: Workshop) -> None:
    await FileWrite().invoke({"path": "workspace/a", "content": "xüx"}, context)
    read = await FileRead().invoke({"path": "workspace/a", "max_bytes": 2}, context)
    assert (read.stdout, data_of(read)["bytes"]) == ("x", 2)


async def test_bytes_that_are_not_text_are_replaced(context: Workshop, tmp_path: Path) -> None:
    (tmp_path / "workspace" / "a").write_bytes(b"a\xffb")
    read = await FileRead().invoke({"path": "workspace/a"}, context)
    assert (read.stdout, data_of(read)["bytes"]) == ("a�b", 3)


@pytest.mark.parametrize("name", ["create_dirs", "mkdirs"])
async def test_directories_are_made_only_when_asked_for(context: Workshop, tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFound, match="does not exist"):
        await FileWrite().invoke({"path": "workspace/new/a", "content": "x", name: False}, context)
    assert not (tmp_path / "workspace" / "new").exists()


@pytest.mark.parametrize("path", ["run.json", "events.jsonl", "config.yaml", "logs/x", "archive/x", "a.txt", "blobs/x"])
async def test_only_the_two_directories_may_be_written(context: Workshop, tmp_path: Path, path: str) -> None:
    with pytest.raises(PolicyDenied):
        await FileWrite().invoke({"path": path, "content": "x"}, context)
    assert not (tmp_path / path).exists()
    assert [(one.op, one.path, one.ok, one.error) for one in context.records] == [
        ("write", path, False, "write_refused")
    ]
