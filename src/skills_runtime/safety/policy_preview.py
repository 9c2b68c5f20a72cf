"""Preview what the rules of a workspace decide about a call, without making it.

Checks only the names of files. The caller passes the tools.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from skills_runtime.ports import Intent, Tool, ToolContext, ToolSpec
from skills_runtime.safety.gate import add_real_paths
from skills_runtime.safety.guard import Facts, assess
from skills_runtime.safety.policy import Explanation, Rules, explain
from skills_runtime.safety.policy.rule_files import load_active_rules
from skills_runtime.safety.redaction import SecretRegistry

if TYPE_CHECKING:
    from skills_runtime.config import Resolved


class PlannedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call as described by a file."""

    tool: str
    arguments: dict[str, Any] = {}


class PolicyPreview(msgspec.Struct, frozen=True, kw_only=True):
    """A call as the policy sees it, and the decision of the rules."""

    spec: ToolSpec
    intent: Intent | None
    facts: Facts
    explanation: Explanation
    rules: Rules = Rules()
    notices: tuple[str, ...] = ()


def preview_command(
    resolved: "Resolved", tools: Mapping[str, Tool], tool: str, intent: Intent, *, sandboxed: bool
) -> PolicyPreview:
    """Return the decision of the rules on a command that a tool would run; `sandboxed`: a sandbox is active."""
    known_tool = tools.get(tool)
    return _preview(resolved, known_tool.spec if known_tool else _unknown_tool_spec(tool), intent, sandboxed=sandboxed)


async def preview_call(
    resolved: "Resolved", tools: Mapping[str, Tool], call: PlannedCall, *, sandboxed: bool
) -> PolicyPreview:
    """Return the decision of the rules on a call; of a tool missing from `tools` only the name is known."""
    tool = tools.get(call.tool)
    if tool is None:
        return _preview(resolved, _unknown_tool_spec(call.tool), None, sandboxed=sandboxed)
    describe = getattr(tool, "intent", None)
    root = resolved.workspace_root
    context = cast("ToolContext", _PreviewContext(root, _FileNames(root), SecretRegistry()))
    intent = await describe(call.arguments, context) if describe else None
    return _preview(resolved, tool.spec, intent, sandboxed=sandboxed)


class _FileNames(msgspec.Struct, frozen=True):
    """Resolves paths without opening files."""

    root: Path

    def real(self, path: str) -> str:
        """Return where a path really leads, or the path itself if that is unknown."""
        try:
            real, top = (self.root / path).resolve(), self.root.resolve()
        except (OSError, RuntimeError, ValueError):
            return path
        return str(real.relative_to(top)) if real.is_relative_to(top) else path


T = TypeVar("T")


class _EmptyScope:
    """Resources outside a run: no terminal is open."""

    def hold(self, kind: type[T], make: Callable[[], T]) -> T:
        """Return a new resource."""
        del kind
        return make()


class _PreviewContext(msgspec.Struct, frozen=True):
    """What tools need to describe a call: the start directory, path resolution, and values to redact."""

    root: Path
    files: _FileNames
    secrets: SecretRegistry
    scope: _EmptyScope = _EmptyScope()


def _unknown_tool_spec(name: str) -> ToolSpec:
    return ToolSpec(name=name, description="", parameters={})


def _preview(resolved: "Resolved", spec: ToolSpec, intent: Intent | None, *, sandboxed: bool) -> PolicyPreview:
    loaded = load_active_rules(resolved)
    rules = msgspec.structs.replace(loaded.rules, sandboxed=sandboxed)
    facts = assess(spec, add_real_paths(intent))
    return PolicyPreview(
        spec=spec,
        intent=intent,
        facts=facts,
        explanation=explain(facts, rules),
        rules=rules,
        notices=loaded.notices,
    )
