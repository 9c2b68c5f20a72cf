"""From a call to the request somebody decides on, whose key holds for exactly this call as things are now.

Pure.
"""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from skills_runtime.ports import ApprovalRequest, Intent, Secrets, ToolSpec
from skills_runtime.safety.guard import Facts
from skills_runtime.safety.policy import Ask, approval_key
from skills_runtime.safety.sanitize import Fingerprint, sanitize

SUMMARY_CHARS = 500
FENCE_FACTS = ("effective", "adapter", "profile", "policy", "cwd")
"""What of a fence an approval holds for; the rest differs from one start to the next."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A request before anybody has seen it."""

    key: str
    tool: str
    summary: str
    shown: dict[str, Any]
    """What the log may hold of it."""
    arguments: Mapping[str, Any]
    intent: Intent
    risk: dict[str, str]
    asked_by: Ask


def request_of(
    spec: ToolSpec, arguments: Mapping[str, Any], intent: Intent, facts: Facts, asked_by: Ask, fingerprint: Fingerprint
) -> Wanted:
    """The request for a call; whatever would make it another call changes its key."""
    visible = sanitize(spec, arguments, fingerprint)
    shown = {"arguments": visible, **_bound(intent, fingerprint)}
    # What a tool hides is not told by the part of it that is a risk; whoever decides sees all of it anyway.
    part = facts.risk.part if any(facts.risk.part in text for text in _texts(visible)) else ""
    risk = {"level": facts.risk.level, "reason": facts.risk.reason, "part": part}
    return Wanted(
        key=approval_key(spec.name, shown),
        tool=spec.name,
        summary=summary_of(spec.name, intent, visible),
        shown=shown,
        arguments=arguments,
        intent=intent,
        risk={name: text for name, text in risk.items() if text},
        asked_by=asked_by,
    )


def shown_to_approver(
    wanted: Wanted, *, approval_id: str, run_id: str, call_id: str, expires_at: str
) -> ApprovalRequest:
    """Everything somebody needs to see to decide, to the letter."""
    return ApprovalRequest(
        approval_key=wanted.key,
        tool=wanted.tool,
        summary=wanted.summary,
        details=dict(wanted.arguments),
        approval_id=approval_id,
        run_id=run_id,
        call_id=call_id,
        rule=wanted.asked_by.rule,
        why=wanted.asked_by.justification,
        risk=wanted.risk,
        intent=wanted.intent,
        expires_at=expires_at,
    )


def masked(request: ApprovalRequest, secrets: Secrets) -> ApprovalRequest:
    """The request without secrets in anything that people or models wrote."""
    intent = request.intent
    texts = {name: secrets.value(getattr(intent, name)) for name in ("line", "argv", "typed", "justification", "fence")}
    files = tuple(
        msgspec.structs.replace(one, path=secrets.text(one.path), diff=secrets.text(one.diff)) for one in intent.files
    )
    environment = {name: secrets.text(value) for name, value in intent.environment.items()}
    return msgspec.structs.replace(
        request,
        summary=secrets.text(request.summary),
        details=secrets.value(dict(request.details)),
        risk={name: secrets.text(text) for name, text in request.risk.items()},
        intent=msgspec.structs.replace(intent, files=files, environment=environment, **texts),
    )


def summary_of(tool: str, intent: Intent, shown: Mapping[str, Any]) -> str:
    """The call in one line, without what may not be shown."""
    if intent.line is not None:
        what = intent.line
    elif intent.argv:
        what = shlex.join(intent.argv)
    elif intent.files:
        what = ", ".join(f"{one.touch} {one.path}" for one in intent.files)
    else:
        what = msgspec.json.encode(shown).decode()
    return f"{tool} {what}"[:SUMMARY_CHARS]


def _bound(intent: Intent, fingerprint: Fingerprint) -> dict[str, Any]:
    """What the arguments do not say, and an approval holds for all the same."""
    before = {touch.path: touch.before_sha256 for touch in intent.files if touch.before_sha256}
    real = {touch.path: touch.real for touch in intent.files if touch.real}
    bound: dict[str, Any] = {
        "script": dict(intent.digests),
        "before": before,
        "real": real,
        "fence": {name: intent.fence[name] for name in FENCE_FACTS if name in intent.fence},
        "environment": fingerprint.of(dict(intent.environment)) | {"keys": sorted(intent.environment)}
        if intent.environment
        else None,
    }
    filled = {name: value for name, value in bound.items() if value}
    return {"bound": filled} if filled else {}


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
