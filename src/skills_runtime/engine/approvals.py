"""Approval requests of runs: which are open, what the approver is shown, and the rules that could be made of them."""

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from skills_runtime.config import Resolved
from skills_runtime.errors import SkillsRuntimeError, ValidationFailed
from skills_runtime.ports import ApprovalRequest, Decision, DecisionKind, Inbox, Intent
from skills_runtime.projections import PendingApproval, RunView
from skills_runtime.runs import LogPorts, RunPaths, blobs_of, read_view
from skills_runtime.safety.approvals import RuleScope, propose_rule, rule_record
from skills_runtime.safety.policy import Rule, add_rule, user_rule_file
from skills_runtime.text import make_title

SANDBOX_SUMMARY_FIELDS = (
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
PERSISTENT_SCOPES = ("skill", "user")
"""How far rules reach that outlive their run."""


class OpenApproval(msgspec.Struct, frozen=True, kw_only=True):
    """A call that waits for a decision, and the run that asks for it."""

    paths: RunPaths
    run_id: str
    session_id: str
    parent: str | None = None
    """The run that began this one as its sub-agent."""
    pending: PendingApproval
    decided: dict[str, Any] | None = None
    """A decision that the run has not acted on yet."""
    task: str = ""
    workspace: str = ""

    @property
    def id(self) -> str:
        """What a decision has to name."""
        return self.pending.approval_id

    def request(self) -> ApprovalRequest:
        """Read everything the approver is shown."""
        return read_request(self.paths, self.run_id, self.pending)

    def document(self) -> dict[str, Any]:
        """The request as clients read it."""
        pending, request = self.pending, self.request()
        return {
            "approval_id": pending.approval_id,
            "approval_key": pending.approval_key,
            "run_id": self.run_id,
            "session_id": self.session_id,
            "run_title": make_title(self.task),
            "workspace": request.workspace or self.workspace,
            "call_id": pending.call_id,
            "tool": pending.tool,
            "summary": pending.summary,
            "since": pending.since,
            "seq": pending.seq,
            "rule": request.rule,
            "why": request.why,
            "risk": dict(request.risk),
            "expires_at": pending.expires_at,
            "details": dict(request.details),
            "intent": msgspec.to_builtins(request.intent),
            "decided": self.decided,
        }


def read_request(paths: RunPaths, run_id: str, pending: PendingApproval) -> ApprovalRequest:
    """Read what the approver is shown, to the letter; an older log has only the summary."""
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


class ApprovalAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody decides about a request they saw."""

    decision: DecisionKind
    decided_by: str
    approval_key: str | None = None
    """The key of what they saw; nothing means what was found."""
    note: str = ""
    arguments: dict[str, Any] | None = None
    """Run the call with these arguments instead."""
    rule: RuleScope | None = None
    """Also allow such calls: for the rest of the run, or always, by the same skill or by anything."""

    def decision_on(self, approval: OpenApproval) -> Decision:
        """The decision as it is sent to the run."""
        rule: dict[str, Any] = {}
        if self.rule is not None:
            if self.decision != "approved" or self.arguments is not None:
                raise ValidationFailed("a rule goes with a plain `approved`")
            rule = rule_record(rule_for(approval.request(), self.rule), self.rule)
        return Decision(
            decision=self.decision, note=self.note, decided_by=self.decided_by, arguments=self.arguments, rule=rule
        )


def open_approvals(paths: RunPaths, inbox: Inbox, ports: LogPorts) -> Iterator[OpenApproval]:
    """What one run asks; a run that cannot be read asks nothing anybody could decide."""
    try:
        view = read_view(paths, ports)
    except (SkillsRuntimeError, OSError):
        return
    for pending in view.pending.approvals.open.values():
        yield OpenApproval(
            paths=paths,
            run_id=view.state.run_id,
            session_id=view.state.session_id,
            parent=view.state.parent_run_id if view.state.fork is None else None,
            pending=pending,
            decided=_decision(view, pending.approval_id, inbox),
            task=view.state.task,
            workspace=view.state.workspace_root,
        )


def _decision(view: RunView, approval_id: str, inbox: Inbox) -> dict[str, Any] | None:
    """The decision that was sent and not acted on, wherever it is by now."""
    received = view.pending.approvals.find_decision(approval_id)
    if received is not None:
        return received.body
    for message in inbox.pending(view.state.run_id):
        if message.kind == "approve" and message.body.get("approval_id") == approval_id:
            return dict(message.body)
    return None


def deduplicate(approvals: Iterable[OpenApproval]) -> list[OpenApproval]:
    """Each request once: what a sub-agent asks is asked by the run that began it, as soon as that waits for it."""
    approvals = list(approvals)
    requested = {(approval.run_id, approval.id) for approval in approvals}
    return [
        approval for approval in approvals if approval.parent is None or (approval.parent, approval.id) not in requested
    ]


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
        "sandbox": {name: intent.fence[name] for name in SANDBOX_SUMMARY_FIELDS if name in intent.fence},
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


def rule_file_of(resolved: Resolved) -> Path:
    """Return where rules are added that hold for every run of this user."""
    return user_rule_file(resolved)


def rule_previews(request: ApprovalRequest, rule_file: Path) -> tuple[list[dict[str, Any]], str]:
    """The rules that could be added, as they would be written, or why there is none."""
    scopes: tuple[RuleScope, ...] = ("run", "skill") if request.intent.skill else ("run", "user")
    try:
        rules: list[tuple[RuleScope, Rule]] = [(scope, rule_for(request, scope)) for scope in scopes]
    except ValidationFailed as error:
        return [], error.message
    return [
        {"scope": scope, "text": rule_record(rule, scope)["text"], "file": None if scope == "run" else str(rule_file)}
        for scope, rule in rules
    ], ""


def approve_with_rule(request: ApprovalRequest, scope: RuleScope, rule_file: Path | None) -> Decision:
    """Approve a call and add the rule that allows such calls; one that outlives the run is in the file already."""
    rule = rule_for(request, scope)
    if scope in PERSISTENT_SCOPES and rule_file is not None:
        add_rule(rule_file, rule)
    return Decision(decision="approved", rule=rule_record(rule, scope))


def rule_for(request: ApprovalRequest, scope: RuleScope) -> Rule:
    """The rule that allows such a call from now on; of a call of high risk none is made."""
    if request.risk.get("level") == "high":
        hint = "approve it once, or write a rule yourself"
        raise ValidationFailed("no rule can be made of this call: it is of high risk", hint=hint)
    return propose_rule(request, scope)
