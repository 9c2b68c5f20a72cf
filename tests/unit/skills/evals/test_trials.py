"""Which events tell that a model called a skill."""

import msgspec
import pytest

from skills_runtime.events import Event, Payload
from skills_runtime.events.payloads import LlmUsage, SkillInjected, SkillInjectionSkipped, ToolCallRequested
from skills_runtime.skills.evals.trials import uses_skill
from tests.unit.skills.samples import a_skill

SKILL = msgspec.structs.replace(a_skill(), file="/skills/writer/SKILL.md")


def is_call(payload: Payload) -> bool:
    event = Event(seq=1, type=payload.event_type, timestamp="2026-01-01T00:00:00Z", run_id="run_1", payload=payload)
    return uses_skill(event, SKILL)


def request_tool(tool: str, **arguments: str) -> ToolCallRequested:
    return ToolCallRequested(call_id="1", tool=tool, name=tool, arguments=arguments)


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (SkillInjected(skill_name="writer"), True),
        (SkillInjected(skill_name="reader"), False),
        (SkillInjectionSkipped(skill_name="writer"), False),
        (request_tool("skill_exec", skill_mention="$[web:mvp].writer", action_id="run"), True),
        (request_tool("activate_skill", name="writer"), True),
        (request_tool("activate_skill", name="reader"), False),
        (request_tool("read_file", file_path="/skills/writer/SKILL.md"), True),
        (request_tool("shell_command", command="cat /skills/writer/SKILL.md"), True),
        (request_tool("read_file", file_path="writer.txt"), False),
        (ToolCallRequested(call_id="1", tool="x_skill", name="x_skill", arguments={"name": {"sha256": "0"}}), False),
        (LlmUsage(model="m"), False),
    ],
)
def test_a_skill_is_called_by_name_or_by_its_files(payload: Payload, expected: bool) -> None:
    assert is_call(payload) is expected
