"""Explain what the policy decides about a hypothetical call, and what would change the decision."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import msgspec

from skills_runtime.agent import contains_commands, previewable_tools
from skills_runtime.config import Resolved
from skills_runtime.engine.approvals import preview_rules
from skills_runtime.errors import ValidationFailed
from skills_runtime.ports import Intent
from skills_runtime.safety import PLAIN_FINGERPRINT, PlannedCall, PolicyPreview, preview_call, preview_command
from skills_runtime.safety.approvals import build_approval_request, draft_request
from skills_runtime.safety.policy import Ask, PolicyDecision, SafetyMode, decide, user_rule_file


def explain_command(resolved: Resolved, tool: str, command: str | Sequence[str]) -> PolicyPreview:
    """Explain the decision on a command, a shell line or an argument list, that a tool would run."""
    intent = Intent(line=command) if isinstance(command, str) else Intent(argv=tuple(command))
    sandboxed = contains_commands(resolved)
    return preview_command(resolved, previewable_tools(resolved), tool, intent, sandboxed=sandboxed)


async def explain_call(resolved: Resolved, call: PlannedCall) -> PolicyPreview:
    """Explain the decision on a call of any tool."""
    return await preview_call(resolved, previewable_tools(resolved), call, sandboxed=contains_commands(resolved))


async def describe_decision(
    resolved: Resolved,
    tool: str,
    line: str | None = None,
    argv: Sequence[str] | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the decision, its reason, how the call was parsed, and alternatives."""
    if sum(value is not None for value in (line, argv, arguments)) != 1:
        raise ValidationFailed("give the call once, as `line`, as `argv` or as `arguments`")
    if arguments is not None:
        preview = await explain_call(resolved, PlannedCall(tool, dict(arguments)))
    else:
        preview = explain_command(resolved, tool, line if line is not None else argv or ())
    rules, no_rule = _propose_rules(resolved, preview, arguments or {})
    return {
        "verdict": _verdict_name(preview.explanation.verdict),
        "explanation": msgspec.to_builtins(preview.explanation),
        "facts": msgspec.to_builtins(preview.facts),
        "modes": [_describe_mode(preview, mode) for mode in get_args(SafetyMode)],
        "rules": rules,
        "no_rule": no_rule,
        "notices": list(preview.notices),
    }


def _verdict_name(verdict: PolicyDecision) -> str:
    return type(verdict).__name__.lower()


def _describe_mode(preview: PolicyPreview, mode: SafetyMode) -> dict[str, Any]:
    """Return what the decision would be in another policy mode."""
    verdict = decide(preview.facts, msgspec.structs.replace(preview.rules, mode=mode))
    return {
        "mode": mode,
        "verdict": _verdict_name(verdict),
        "rule": verdict.rule,
        "justification": verdict.justification,
        "current": mode == preview.rules.mode,
    }


def _propose_rules(
    resolved: Resolved, preview: PolicyPreview, arguments: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], str]:
    """Return the rules that would allow the call without asking; none if it is not asked about."""
    verdict = preview.explanation.verdict
    if not isinstance(verdict, Ask):
        return [], ""
    intent = preview.intent or Intent()
    pending = draft_request(preview.spec, arguments, intent, preview.facts, verdict, PLAIN_FINGERPRINT)
    request = build_approval_request(pending, approval_id="", run_id="", call_id="", expires_at="")
    request = msgspec.structs.replace(request, folder=str(resolved.workspace_root.resolve()))
    rules, no_rule = preview_rules(request, user_rule_file(resolved))
    return [rule for rule in rules if rule["scope"] != "run"], no_rule
