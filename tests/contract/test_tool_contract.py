"""What holds for every built-in tool, whatever it does."""

import asyncio
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_runtime.errors import EXIT_CODES, SkillsRuntimeError, ToolError
from skills_runtime.events import canonical_json
from skills_runtime.ports import Sandbox, Tool, ToolResult
from skills_runtime.safety import sanitize
from skills_runtime.safety.policy.patterns import tool_aliases
from skills_runtime.sandbox import UnavailableSandbox
from skills_runtime.tools import builtin_tools
from skills_runtime.tools.builtin import ExecCommand
from tests.support.agents import Brood
from tests.support.examples import examples
from tests.support.tools import Workshop, tree


class NoPages:
    """A search service that knows nothing."""

    async def search(self, q: str, recency: int | None, limit: int) -> Sequence[Mapping[str, Any]]:
        return []


TOOLS: dict[str, Tool] = {tool.spec.name: tool for tool in builtin_tools(search=NoPages())}
KEYWORDS = {
    "type", "properties", "required", "additionalProperties", "description", "default", "enum", "items", "anyOf",
    "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems",
}  # fmt: skip
"""What a schema may say: the part of JSON Schema that model providers take."""
SEED_ARGUMENTS = {
    "close_agent": "id",
    "resume_agent": "id",
    "send_input": "id message interrupt",
    "spawn_agent": "message agent_type",
    "wait": "ids timeout_ms",
    "apply_patch": "input",
    "ask_human": "question choices context",
    "exec_command": "cmd workdir yield_time_ms max_output_tokens tty sandbox sandbox_permissions justification",
    "file_read": "path max_bytes",
    "file_write": "path content create_dirs mkdirs sandbox_permissions justification",
    "grep_files": "pattern path include limit",
    "list_dir": "dir_path depth offset limit",
    "read_file": "file_path offset limit mode indentation",
    "request_user_input": "questions",
    "shell": "command workdir env timeout_ms sandbox sandbox_permissions justification",
    "shell_command": "command workdir env timeout_ms sandbox sandbox_permissions justification",
    "shell_exec": "argv cwd env timeout_ms sandbox sandbox_permissions tty justification",
    "update_plan": "plan explanation",
    "view_image": "path",
    "web_search": "q recency limit",
    "write_stdin": "session_id chars yield_time_ms max_output_tokens",
}
"""The names a user of the seed knows."""


@contextmanager
def _workshop(sandbox: Sandbox | None = None) -> Generator[Workshop]:
    with tempfile.TemporaryDirectory() as place:
        workshop = Workshop(Path(place), delete="allow", sandbox=sandbox, answers={"answer": "yes"})
        workshop.children = Brood(workshop.root)
        workshop.write("a.txt", "one\ntwo\n")
        workshop.write("dot.gif", b"GIF89a\1\0\1\0\0\0\0;")
        yield workshop


def _call(tool: Tool, arguments: Mapping[str, Any], workshop: Workshop) -> ToolResult:
    async def call() -> ToolResult:
        try:
            if tool.spec.name == "write_stdin" and not isinstance(workshop.sandbox, UnavailableSandbox):
                await ExecCommand().invoke({"cmd": 'read -r name; touch "$name"', "yield_time_ms": 0}, workshop)
            return await tool.invoke(arguments, workshop)
        finally:
            await workshop.scope.aclose()

    return asyncio.run(call())


@pytest.fixture(params=TOOLS)
def tool(request: pytest.FixtureRequest) -> Tool:
    return TOOLS[request.param]


def _objects(schema: Any) -> Generator[dict[str, Any]]:
    """The schema and every schema inside it."""
    assert isinstance(schema, dict)
    found: dict[str, Any] = schema  # pyright: ignore[reportUnknownVariableType]
    yield found
    for inner in (*found.get("properties", {}).values(), *found.get("anyOf", ())):
        yield from _objects(inner)
    if "items" in found:
        yield from _objects(found["items"])


def test_the_schema_is_self_contained_and_closed(tool: Tool) -> None:
    schema = dict(tool.spec.parameters)
    assert schema["type"] == "object"
    for one in _objects(schema):
        assert one.keys() <= KEYWORDS
        assert "type" in one or "anyOf" in one or "enum" in one
        if one.get("type") == "object" and "properties" in one:
            assert one["additionalProperties"] is False
            assert set(one.get("required", ())) <= one["properties"].keys()
        elif one.get("type") == "object":
            assert one["additionalProperties"] in ({"type": "string"}, {"type": "integer"}), "values are not free"


def test_every_argument_is_described(tool: Tool) -> None:
    described = [one for one in _objects(dict(tool.spec.parameters)) if "properties" in one]
    assert not [
        name
        for one in described
        for name, inner in one["properties"].items()
        if not any("description" in option for option in (inner, *inner.get("anyOf", ())))
    ]


def test_the_schema_is_json_and_always_the_same(tool: Tool) -> None:
    again = {other.spec.name: other.spec.parameters for other in builtin_tools(search=NoPages())}
    assert canonical_json(dict(tool.spec.parameters)) == canonical_json(dict(again[tool.spec.name]))


def test_hidden_names_are_names_of_the_tool(tool: Tool) -> None:
    assert set(tool.spec.hidden_arguments) <= tool.spec.parameters["properties"].keys()
    assert set(tool.spec.hidden_results) <= set(ToolResult.__struct_fields__)


def test_one_name_of_each_tool_is_listed_and_rules_know_the_others(tool: Tool) -> None:
    listed = [name for name in tool_aliases(tool.spec.name) if name in TOOLS and TOOLS[name].spec.listed]
    assert len(listed) == 1


def test_its_example_succeeds_and_the_result_is_json(tool: Tool) -> None:
    with _workshop() as workshop:
        result = _call(tool, tool.spec.example, workshop)
    assert result.ok
    assert msgspec.json.decode(msgspec.json.encode(result), type=ToolResult) == result
    assert canonical_json(msgspec.to_builtins(result))


def test_an_argument_it_does_not_have_is_refused_and_nothing_happens(tool: Tool) -> None:
    with _workshop() as workshop:
        before = tree(workshop.root)
        with pytest.raises(ToolError, match="surprise") as caught:
            _call(tool, {**tool.spec.example, "surprise": 1}, workshop)
        assert tree(workshop.root) == before
    assert caught.value.kind == "validation"
    assert workshop.records == []


def test_an_argument_of_another_type_is_refused_by_name_and_nothing_happens(tool: Tool) -> None:
    for name in tool.spec.parameters["properties"]:
        with _workshop(UnavailableSandbox()) as workshop:
            before = tree(workshop.root)
            with pytest.raises(ToolError, match=rf"\$\.{name}\b|surprise") as caught:
                _call(tool, {**tool.spec.example, name: {"surprise": {"inside": []}}}, workshop)
            assert tree(workshop.root) == before
        assert caught.value.kind == "validation"
        assert workshop.records == []


ADDED = {"grant"}
"""What the process tools take besides: more than the fence allows, once somebody has said yes."""


def test_the_names_of_the_seed_are_kept(tool: Tool) -> None:
    if tool.spec.name in SEED_ARGUMENTS:
        assert set(tool.spec.parameters["properties"]) - ADDED == set(SEED_ARGUMENTS[tool.spec.name].split())


def test_only_what_may_be_repeated_is_repeated(tool: Tool) -> None:
    assert tool.spec.recovery != "retry" or tool.spec.effect != "effectful"
    assert tool.spec.max_parallel is None or tool.spec.max_parallel >= 1


def test_a_missing_argument_is_refused_by_name(tool: Tool) -> None:
    for name in tool.spec.parameters.get("required", ()):
        given_ones = {other: value for other, value in tool.spec.example.items() if other != name}
        with _workshop() as workshop, pytest.raises(ToolError, match=name):
            _call(tool, given_ones, workshop)


def test_what_may_be_left_out_may_be_null_as_many_models_write_it(tool: Tool) -> None:
    optional = tool.spec.parameters["properties"].keys() - set(tool.spec.parameters.get("required", ()))
    with _workshop() as workshop:
        assert _call(tool, {**dict.fromkeys(optional), **tool.spec.example}, workshop).ok


def test_a_tool_that_only_reads_changes_nothing(tool: Tool) -> None:
    with _workshop() as workshop:
        before = tree(workshop.root)
        _call(tool, tool.spec.example, workshop)
        if tool.spec.effect == "read":
            assert tree(workshop.root) == before
            assert {record.op for record in workshop.records} <= {"read", "list", "stat"}
        elif tool.spec.name != "update_plan":
            assert tree(workshop.root) != before


def _texts(value: str | dict[str, str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value.values())


def test_hidden_arguments_are_not_in_the_sanitized_form(tool: Tool) -> None:
    arguments = tool.spec.example
    shown = sanitize(tool.spec, arguments)
    assert set(tool.spec.hidden_arguments) <= arguments.keys()
    for name in tool.spec.hidden_arguments:
        for secret in _texts(arguments[name]):
            assert secret not in msgspec.json.encode(shown).decode()
        assert shown[name].keys() <= {"bytes", "sha256", "keys", "type"}
    assert {name: shown[name] for name in shown.keys() - set(tool.spec.hidden_arguments)} == {
        name: arguments[name] for name in arguments.keys() - set(tool.spec.hidden_arguments)
    }


words = st.one_of(
    st.sampled_from(["a.txt", ".", "..", "", "/", "dot.gif", "a.txt/x", "\0", "~", "(", "*", "\ud800", "x" * 5000]),
    st.text(max_size=12),
    st.text("*@+- \n\r{}[]\\/AddUpdateFileBeginEndPatch:", max_size=60).map(
        lambda text: f"*** Begin Patch\n*** Update File: a.txt\n{text}\n*** End Patch"
    ),
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), words),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3)),
    max_leaves=6,
)


@pytest.mark.parametrize("name", sorted(TOOLS))
@settings(max_examples=examples(60))
@given(data=st.data())
def test_whatever_the_arguments_are_a_tool_answers_or_raises_an_error_of_ours(name: str, data: st.DataObject) -> None:
    tool = TOOLS[name]
    likely = {argument: st.one_of(words, values) for argument in tool.spec.parameters["properties"]}
    arguments: dict[str, Any] = data.draw(
        st.one_of(st.dictionaries(words, values, max_size=3), st.fixed_dictionaries({}, optional=likely))
    )
    if data.draw(st.booleans()):
        arguments = {**tool.spec.example, **arguments}
    problem, result = None, None
    with _workshop(UnavailableSandbox()) as workshop:  # arguments made up by a machine are nothing to execute
        try:
            result = _call(tool, arguments, workshop)
        except SkillsRuntimeError as error:
            problem = error
    if problem is None:
        assert msgspec.json.encode(result)
    else:
        assert problem.kind in EXIT_CODES
        assert problem.message
