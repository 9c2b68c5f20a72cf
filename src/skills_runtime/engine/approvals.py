"""Approval requests of runs: the open ones, what the approver is shown, and the rules they suggest."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from skills_runtime.config import Resolved
from skills_runtime.errors import SkillsRuntimeError, ValidationFailed
from skills_runtime.ports import ApprovalRequest, Decision, DecisionKind, Inbox, Intent
from skills_runtime.projections import PendingApproval, RunView
from skills_runtime.runs import LogPorts, RunPaths, blobs_of, read_view
from skills_runtime.safety.approvals import NETWORK, RuleScope, propose_rule, rule_record
from skills_runtime.safety.policy import Rule, add_rule, load_rules, user_rule_file
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
"""Summary fields of the sandbox; `intent.fence` has all of them."""
PERSISTENT_SCOPES = ("folder", "skill", "user")
"""The scopes of rules that outlive their run."""
ApprovalScope = Literal["once", "session", "folder", "always", "skill"]
"""How far an approval reaches: from `folder` on it adds a rule."""
SCOPE_DECISIONS: Mapping[ApprovalScope, tuple[DecisionKind, RuleScope | None]] = {
    "once": ("approved", None),
    "session": ("approved_for_session", None),
    "folder": ("approved", "folder"),
    "always": ("approved", "user"),
    "skill": ("approved", "skill"),
}
"""The decision and the rule of each scope."""


class OpenApproval(msgspec.Struct, frozen=True, kw_only=True):
    """A call that waits for a decision, and the run that requests it."""

    paths: RunPaths
    run_id: str
    session_id: str
    parent: str | None = None
    """The run that started this one as its sub-agent."""
    pending: PendingApproval
    sent_decision: dict[str, Any] | None = None
    """A decision that the run has not applied yet."""
    task: str = ""
    workspace: str = ""

    @property
    def id(self) -> str:
        """Return the id that a decision has to name."""
        return self.pending.approval_id

    def request(self) -> ApprovalRequest:
        """Read everything that the approver is shown."""
        return read_request(self.paths, self.run_id, self.pending)

    def document(self) -> dict[str, Any]:
        """Return the request as clients read it."""
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
            "decided": self.sent_decision,
        }


def read_request(paths: RunPaths, run_id: str, pending: PendingApproval) -> ApprovalRequest:
    """Read exactly what the approver is shown; older logs have only the summary."""
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
    """A user's decision on a request they have seen."""

    decision: DecisionKind
    decided_by: str
    approval_key: str | None = None
    """The key of the request they have seen; `None` means the current one."""
    note: str = ""
    arguments: dict[str, Any] | None = None
    """Run the call with these arguments instead."""
    rule: RuleScope | None = None
    """Also allow such calls from now on: in this run, in this folder, or always, by the same skill or by any."""

    def decision_on(self, approval: OpenApproval) -> Decision:
        """Build the decision that is sent to the run."""
        rule: dict[str, Any] = {}
        if self.rule is not None:
            if self.decision != "approved" or self.arguments is not None:
                raise ValidationFailed("a rule goes with a plain `approved`")
            rule = rule_record(build_rule(approval.request(), self.rule), self.rule)
        return Decision(
            decision=self.decision, note=self.note, decided_by=self.decided_by, arguments=self.arguments, rule=rule
        )


def open_approvals(paths: RunPaths, inbox: Inbox, ports: LogPorts) -> Iterator[OpenApproval]:
    """Return the open requests of a run; an unreadable run has none."""
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
            sent_decision=_find_sent_decision(view, pending.approval_id, inbox),
            task=view.state.task,
            workspace=view.state.workspace_root,
        )


def _find_sent_decision(view: RunView, approval_id: str, inbox: Inbox) -> dict[str, Any] | None:
    """Return the decision that was sent and not applied yet, from the log or the inbox."""
    received = view.pending.approvals.find_decision(approval_id)
    if received is not None:
        return received.body
    for message in inbox.pending(view.state.run_id):
        if message.kind == "approve" and message.body.get("approval_id") == approval_id:
            return dict(message.body)
    return None


def deduplicate(approvals: Iterable[OpenApproval]) -> list[OpenApproval]:
    """Drop duplicates: once a run waits for its sub-agent's request, only the run's own entry is kept."""
    approvals = list(approvals)
    requested = {(approval.run_id, approval.id) for approval in approvals}
    return [
        approval for approval in approvals if approval.parent is None or (approval.parent, approval.id) not in requested
    ]


def build_approval_view(request: ApprovalRequest, rule_file: Path) -> dict[str, Any]:
    """Return the parts of a request that a page shows."""
    intent = request.intent
    rules, no_rule = preview_rules(request, rule_file)
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
    """Return the exact command as typed in a shell, or nothing if the call runs none."""
    if intent.line is not None:
        return intent.line
    if intent.typed is not None:
        return intent.typed
    return shlex.join(intent.argv) if intent.argv else None


def rule_file_of(resolved: Resolved) -> Path:
    """Return the file of the rules for all runs of this user."""
    return user_rule_file(resolved)


def preview_rules(request: ApprovalRequest, rule_file: Path) -> tuple[list[dict[str, Any]], str]:
    """Return the rules that could be added, as they would be written, or why there are none."""
    rules, problem = build_rules(request)
    return [
        {"scope": scope, "text": rule_record(rule, scope)["text"], "file": None if scope == "run" else str(rule_file)}
        for scope, rule in rules.items()
    ], problem.message if problem is not None else ""


def build_rules(request: ApprovalRequest) -> tuple[dict[RuleScope, Rule], ValidationFailed | None]:
    """Return the rules that could be added, by scope, narrowest first, or why there are none."""
    rules: dict[RuleScope, Rule] = {}
    problem: ValidationFailed | None = None
    scopes: tuple[RuleScope, ...] = ("run", "folder", "skill" if request.intent.skill else "user")
    for scope in scopes:
        try:
            rules[scope] = build_rule(request, scope)
        except ValidationFailed as error:
            problem = problem or error
    return rules, None if rules else problem


def approve_with_rule(request: ApprovalRequest, scope: RuleScope, rule_file: Path | None) -> Decision:
    """Approve a call and add a rule for such calls; a rule that outlives the run must be in the file already."""
    rule = build_rule(request, scope)
    if scope in PERSISTENT_SCOPES and rule_file is not None:
        add_rule(rule_file, rule)
    return Decision(decision="approved", rule=rule_record(rule, scope))


def read_rules(record: Mapping[str, Any]) -> tuple[Rule, ...]:
    """Return the rules that a decision added; none where they are from another version."""
    try:
        return load_rules(str(record.get("text", "")), origin="")
    except SkillsRuntimeError:
        return ()


def build_rule(request: ApprovalRequest, scope: RuleScope) -> Rule:
    """Return the rule that allows such calls from now on; a high-risk call is refused."""
    if request.tool == NETWORK:
        hint = "add it to `sandbox.egress.allow` in your own configuration"
        raise ValidationFailed("no rule can be made of this call: rules do not decide about hosts", hint=hint)
    if request.risk.get("level") == "high":
        hint = "approve it once, or write a rule yourself"
        raise ValidationFailed("no rule can be made of this call: it is of high risk", hint=hint)
    return propose_rule(request, scope)
