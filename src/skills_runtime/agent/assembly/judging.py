"""What the rules of a workspace say about a call that nobody makes; nothing is touched but names of files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from skills_runtime.agent.assembly.rules import read_rules
from skills_runtime.agent.skills.libraries import library_of
from skills_runtime.agent.skills.seen import names_skills
from skills_runtime.ports import Intent, Tool, ToolContext, ToolSpec
from skills_runtime.safety.gate import with_real_places
from skills_runtime.safety.guard import Facts, assess
from skills_runtime.safety.policy import Explanation, Rules, explain
from skills_runtime.safety.redaction import Keeper
from skills_runtime.tools import builtin_tools

if TYPE_CHECKING:
    from skills_runtime.config import Resolved


class PlannedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call as a file has it."""

    tool: str
    arguments: dict[str, Any] = {}


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """A call as the gate sees it, and what the rules say."""

    spec: ToolSpec
    intent: Intent | None
    facts: Facts
    explanation: Explanation
    rules: Rules = Rules()
    notices: tuple[str, ...] = ()


def judge_command(resolved: "Resolved", tool: str, intent: Intent) -> Judgement:
    """What the rules say about a command."""
    found = _tools(resolved).get(tool)
    return _judged(resolved, found.spec if found else _unknown(tool), intent)


async def judge_call(resolved: "Resolved", call: PlannedCall) -> Judgement:
    """What the rules say about a call; of a tool that is not built in only the name is known."""
    tool = _tools(resolved).get(call.tool)
    if tool is None:
        return _judged(resolved, _unknown(call.tool), None)
    describe = getattr(tool, "intent", None)
    root = resolved.workspace_root
    context = cast("ToolContext", _Onlooker(root, _Names(root), Keeper()))
    return _judged(resolved, tool.spec, await describe(call.arguments, context) if describe else None)


def command_intent(words: Sequence[str]) -> Intent:
    """What a command would do; a single word is a line of shell."""
    return Intent(line=words[0]) if len(words) == 1 else Intent(argv=tuple(words))


class _Names(msgspec.Struct, frozen=True):
    """Where paths lead, without touching what is there."""

    root: Path

    def real(self, path: str) -> str:
        """Where a path really leads, or the path itself where that cannot be told."""
        try:
            found, top = (self.root / path).resolve(), self.root.resolve()
        except (OSError, RuntimeError, ValueError):
            return path
        return str(found.relative_to(top)) if found.is_relative_to(top) else path


class _Onlooker(msgspec.Struct, frozen=True):
    """All that tools need to tell what they would do: where they would start, where paths lead, and what to hide."""

    root: Path
    files: _Names
    secrets: Keeper


def _unknown(name: str) -> ToolSpec:
    return ToolSpec(name=name, description="", parameters={})


def _tools(resolved: "Resolved") -> Mapping[str, Tool]:
    from skills_runtime.tools.builtin.skill_exec import SkillExec
    from skills_runtime.tools.builtin.skill_ref_read import SkillRefRead

    tools: dict[str, Tool] = {tool.spec.name: tool for tool in builtin_tools()}
    if names_skills(resolved):
        library, skills = library_of(resolved), resolved.settings.skills
        tools["skill_exec"] = SkillExec(library, enabled=skills.actions.enabled)
        tools["skill_ref_read"] = SkillRefRead(
            library,
            enabled=skills.references.enabled,
            allow_assets=skills.references.allow_assets,
            default_max_bytes=skills.references.default_max_bytes,
        )
    return tools


def _judged(resolved: "Resolved", spec: ToolSpec, intent: Intent | None) -> Judgement:
    read = read_rules(resolved)
    facts = assess(spec, with_real_places(intent))
    return Judgement(
        spec=spec,
        intent=intent,
        facts=facts,
        explanation=explain(facts, read.rules),
        rules=read.rules,
        notices=read.notices,
    )
