"""What a payload shows once secrets are taken out: its words, never the names and digests the log itself stands on."""

from typing import Any, cast

import msgspec

from skills_runtime.events import PAYLOAD_TYPES, Payload, data_of, decode_payload
from skills_runtime.events.payloads import (
    ArtifactManifestWritten,
    LlmRequestStarted,
    LlmResponseFinished,
    ToolCallStarted,
)
from skills_runtime.ports import Secrets, ToolResult

NAMES = frozenset(
    {
        "after", "approval_id", "approval_key", "before", "call_id", "child_run_id", "decision", "delta_type", "effect",
        "error_kind", "finish_reason", "fork", "idempotency_key", "key_id", "kind", "level", "manifest", "media_type",
        "message_id", "model", "name", "op", "profile_id", "request_id", "root", "run_id", "schema", "sent_at",
        "session_id", "snapshots", "status", "task_id", "tool", "touch", "type", "wal_locator", "workspace_root",
    }
)  # fmt: skip
"""Fields that programs read: ids, kinds and places. A word that happens to be a secret too stays what it is here."""
ENDINGS = ("blob", "sha256", "_at", "fingerprint")
KNOWN = frozenset(name for kind in PAYLOAD_TYPES.values() for name in kind.__struct_fields__) | frozenset(
    ToolResult.__struct_fields__
)
"""Names of fields, which are nobody's secret."""

WORDLESS: frozenset[type[Payload]] = frozenset(
    {ArtifactManifestWritten, LlmRequestStarted, LlmResponseFinished, ToolCallStarted}
)
"""Payloads in which nobody has said anything: ids, kinds, digests and counts, so that no secret is looked for."""


def without_secrets(payload: Payload, secrets: Secrets) -> Payload:
    """The payload with secrets taken out of everything that people and models wrote."""
    shown = {name: _shown(name, value, secrets) for name, value in data_of(payload).items()}
    return decode_payload(payload.event_type, msgspec.json.encode(shown))


def _shown(name: str, value: Any, secrets: Secrets) -> Any:
    if name in NAMES or name.endswith(ENDINGS):
        return value
    match value:
        case dict():
            shown: dict[str, Any] = {}
            for inner, one in cast("dict[str, Any]", value).items():
                known = inner in KNOWN or inner in NAMES
                hidden = secrets.value({inner: one}) if not known and not isinstance(one, dict | list) else None
                label = inner if known else secrets.text(inner)
                shown[label] = _shown(inner, one, secrets) if hidden is None else next(iter(hidden.values()))
            return shown
        case list():
            return [_shown("", one, secrets) for one in cast("list[Any]", value)]
        case _:
            return secrets.value(value)
