"""A request for approval as somebody reads it: what would be done, where, why, and behind which fence.

Pure but for the place of the user's own rules.
"""

import shlex
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.ports import ApprovalRequest, Intent
from skills_runtime.projections.approvals import PendingApproval
from skills_runtime.runs import RunPaths, blobs_of
from skills_runtime.safety.approvals.proposal import Scope, as_recorded, proposed_rule
from skills_runtime.safety.policy import Rule

FENCE = (
    "adapter",
    "active",
    "effective",
    "requested",
    "profile",
    "network",
    "cwd",
    "promises",
    "gaps",
    "accepted_gaps",
    "egress",
    "file_access",
)
"""What is told of the fence in short; the whole stands in `intent.fence`."""


def card(request: ApprovalRequest, rule_file: Path) -> dict[str, Any]:
    """The parts that a page shows, each under a name of its own."""
    intent = request.intent
    rules, no_rule = rule_previews(request, rule_file)
    return {
        "command": command_text(intent),
        "argv": list(intent.argv),
        "cwd": intent.directory,
        "patch": "\n".join(file.diff.rstrip("\n") for file in intent.files if file.diff),
        "files": msgspec.to_builtins(intent.files),
        "reason": intent.justification,
        "escalated": intent.escalated,
        "sandbox": {name: intent.fence[name] for name in FENCE if name in intent.fence},
        "rules": rules,
        "no_rule": no_rule,
    }


def command_text(intent: Intent) -> str | None:
    """The exact command as one would type it, or nothing where none is run."""
    if intent.line is not None:
        return intent.line
    if intent.typed is not None:
        return intent.typed
    return shlex.join(intent.argv) if intent.argv else None


def rule_previews(request: ApprovalRequest, rule_file: Path) -> tuple[list[dict[str, Any]], str]:
    """The rules that could be added, as they would be written, or why there is none."""
    scopes: tuple[Scope, ...] = ("run", "skill") if request.intent.skill else ("run", "user")
    try:
        rules: list[tuple[Scope, Rule]] = [(scope, rule_for(request, scope)) for scope in scopes]
    except ValidationFailed as error:
        return [], error.message
    return [
        {"scope": scope, "text": as_recorded(rule, scope)["text"], "file": None if scope == "run" else str(rule_file)}
        for scope, rule in rules
    ], ""


def rule_for(request: ApprovalRequest, scope: Scope) -> Rule:
    """The rule that allows such a call from now on; of a call of high risk none is made."""
    if request.risk.get("level") == "high":
        raise ValidationFailed("no rule can be made of this call: it is of high risk", hint="approve it once")
    return proposed_rule(request, scope)


def shown_request(paths: RunPaths, run_id: str, pending: PendingApproval) -> ApprovalRequest:
    """Everything whoever decides is shown, to the letter; an older log has only the summary."""
    if pending.details_blob is not None:
        return msgspec.json.decode(blobs_of(paths).get(pending.details_blob), type=ApprovalRequest)
    return ApprovalRequest(
        approval_key=pending.approval_key,
        tool=pending.tool,
        summary=pending.summary,
        approval_id=pending.approval_id,
        run_id=run_id,
        call_id=pending.call_id,
        rule=pending.rule,
        risk=pending.risk,
        expires_at=pending.expires_at,
    )
