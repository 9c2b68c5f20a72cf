"""Build the approval request of a call, and the rule that would have allowed it.

The key of a request holds for exactly this call as things are now; a proposed rule is narrowed to what was seen. Pure.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Literal, cast

import msgspec

from skills_runtime.errors import ValidationFailed
from skills_runtime.ports import ApprovalRequest, Intent, Secrets, ToolSpec
from skills_runtime.safety.guard import Facts, read_argv, read_line
from skills_runtime.safety.policy import END, Ask, Rule, approval_key, render_rule
from skills_runtime.safety.sanitize import Fingerprint, sanitize

SUMMARY_CHARS = 500
SANDBOX_FACTS = ("effective", "adapter", "profile", "policy", "cwd")
"""The facts of a sandbox that an approval is bound to; the others differ from one start to the next."""


class RequestDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A request before it is recorded and shown."""

    key: str
    tool: str
    summary: str
    loggable: dict[str, Any]
    """What the log may hold of it."""
    arguments: Mapping[str, Any]
    intent: Intent
    risk: dict[str, str]
    asked_by: Ask


def draft_request(
    spec: ToolSpec, arguments: Mapping[str, Any], intent: Intent, facts: Facts, asked_by: Ask, fingerprint: Fingerprint
) -> RequestDraft:
    """Draft the approval request of a call; every change that makes it another call changes its key."""
    visible = sanitize(spec, arguments, fingerprint)
    loggable = _loggable_request(visible, intent, fingerprint)
    # A risk must not reveal what a tool hides; the approver sees the whole call anyway.
    part = facts.risk.part if any(facts.risk.part in text for text in _texts(visible)) else ""
    risk = {"level": facts.risk.level, "reason": facts.risk.reason, "part": part}
    return RequestDraft(
        key=approval_key(spec.name, loggable),
        tool=spec.name,
        summary=summarize_call(spec.name, intent, visible),
        loggable=loggable,
        arguments=arguments,
        intent=intent,
        risk={name: text for name, text in risk.items() if text},
        asked_by=asked_by,
    )


def request_key(spec: ToolSpec, visible: Mapping[str, Any], intent: Intent | None, fingerprint: Fingerprint) -> str:
    """Compute the key of the request for a call from its visible arguments."""
    return approval_key(spec.name, _loggable_request(visible, intent or Intent(), fingerprint))


def _loggable_request(visible: Mapping[str, Any], intent: Intent, fingerprint: Fingerprint) -> dict[str, Any]:
    return {"arguments": visible, **_bound_facts(intent, fingerprint)}


def build_approval_request(
    draft: RequestDraft, *, approval_id: str, run_id: str, call_id: str, expires_at: str
) -> ApprovalRequest:
    """Everything an approver needs to decide, exactly."""
    return ApprovalRequest(
        approval_key=draft.key,
        tool=draft.tool,
        summary=draft.summary,
        details=dict(draft.arguments),
        approval_id=approval_id,
        run_id=run_id,
        call_id=call_id,
        rule=draft.asked_by.rule,
        why=draft.asked_by.justification,
        risk=draft.risk,
        intent=draft.intent,
        expires_at=expires_at,
    )


def mask_secrets(request: ApprovalRequest, secrets: Secrets) -> ApprovalRequest:
    """Remove secrets from everything in the request that people or models wrote."""
    intent = request.intent
    texts = {name: secrets.value(getattr(intent, name)) for name in ("line", "argv", "typed", "justification", "fence")}
    files = tuple(
        msgspec.structs.replace(touch, path=secrets.text(touch.path), diff=secrets.text(touch.diff))
        for touch in intent.files
    )
    environment = {name: secrets.text(value) for name, value in intent.environment.items()}
    return msgspec.structs.replace(
        request,
        summary=secrets.text(request.summary),
        details=secrets.value(dict(request.details)),
        risk={name: secrets.text(text) for name, text in request.risk.items()},
        intent=msgspec.structs.replace(intent, files=files, environment=environment, **texts),
    )


def summarize_call(tool: str, intent: Intent, visible: Mapping[str, Any]) -> str:
    """Summarize a call in one line, without hidden values."""
    if intent.line is not None:
        action = intent.line
    elif intent.argv:
        action = shlex.join(intent.argv)
    elif intent.files:
        action = ", ".join(f"{touch.touch} {touch.path}" for touch in intent.files)
    else:
        action = msgspec.json.encode(visible).decode()
    return f"{tool} {action}"[:SUMMARY_CHARS]


def _bound_facts(intent: Intent, fingerprint: Fingerprint) -> dict[str, Any]:
    """Return what an approval is bound to besides the arguments."""
    before_digests = {touch.path: touch.before_sha256 for touch in intent.files if touch.before_sha256}
    real = {touch.path: touch.real for touch in intent.files if touch.real}
    facts: dict[str, Any] = {
        "script": dict(intent.digests),
        "before": before_digests,
        "real": real,
        "fence": {name: intent.fence[name] for name in SANDBOX_FACTS if name in intent.fence},
        "environment": fingerprint.of(dict(intent.environment)) | {"keys": sorted(intent.environment)}
        if intent.environment
        else None,
    }
    present = {name: value for name, value in facts.items() if value}
    return {"bound": present} if present else {}


def _texts(value: Any) -> Iterator[str]:
    """Every text in plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in cast("Mapping[Any, Any]", value).values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in cast("list[Any]", value):
            yield from _texts(inner)


RuleScope = Literal["run", "folder", "skill", "user"]
_SPECIAL = re.compile(r"[*?\[\]\\!]")


def propose_rule(request: ApprovalRequest, scope: RuleScope) -> Rule:
    """Build an allow rule for exactly this call; raise where no rule would say exactly that.

    A skill's program is allowed with any input, as long as nothing in the skill changes.
    """
    intent = request.intent
    if scope == "skill" and not intent.skill:
        raise ValidationFailed("the call belongs to no skill", hint="choose another scope")
    folder = (request.folder or request.workspace) if scope == "folder" else ""
    if scope == "folder" and not (folder.startswith("/") and folder.isprintable()):
        raise _no_rule("no rule can name its folder")
    # Names are unique within a file, and the same call may be allowed in several folders.
    folder_suffix = f"-{sha256(folder.encode()).hexdigest()[:6]}" if folder else ""
    # A rule for the content of a skill holds in an active sandbox only.
    digest = (intent.skill_digest,) if intent.skill_digest and intent.fence.get("active") else ()
    command = () if digest else _command(intent)
    if any(_SPECIAL.search(file.path) for file in intent.files):
        raise _no_rule("a name in it would mean other files too")
    return Rule(
        effect="allow",
        name=f"approved-{request.approval_key[:12]}{folder_suffix}",
        tool=(request.tool,),
        command=command,
        path=tuple(
            file.path if file.path.startswith("/") else f"./{file.path.removeprefix('./')}" for file in intent.files
        ),
        host=intent.hosts,
        skill=(intent.skill,) if intent.skill else (),
        digest=digest,
        folder=folder,
        justification="approved by hand",
    )


def rule_record(rule: Rule, scope: RuleScope) -> dict[str, Any]:
    """Return the rule as a decision carries it."""
    return {"scope": scope, "text": f"rules:\n{render_rule(rule)}"}


def _command(intent: Intent) -> tuple[tuple[str, ...], ...]:
    if intent.typed is not None:
        raise _no_rule("what is typed into a program cannot be told beforehand")
    if intent.line is None and not intent.argv:
        return ()
    if intent.environment or intent.directory not in (".", ""):
        raise _no_rule("a rule does not say where a command starts, or with which variables")
    reading = read_line(intent.line) if intent.line is not None else read_argv(intent.argv)
    if reading.unclear or reading.risk.level == "high":
        raise _no_rule(reading.unclear or reading.risk.reason)
    if len(reading.commands) != 1 or reading.writes or reading.reads:
        raise _no_rule("the line does several things")
    words = [word for word in reading.commands[0].words if word is not None]
    if len(words) != len(reading.commands[0].words):
        raise _no_rule("some of its words are known only to the shell that runs it")
    if {"*", "**", END} & set(words):
        raise _no_rule("a star or a dollar sign in a rule stands for something else")
    return ((*words, END),)


def _no_rule(reason: str) -> ValidationFailed:
    hint = "approve it once, or write a rule yourself"
    return ValidationFailed(f"no rule can be made of this call: {reason}", hint=hint)
