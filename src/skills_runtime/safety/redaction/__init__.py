"""Redact secrets in everything a run shows, in the encodings that tools produce and across stream chunks."""

from skills_runtime.safety.redaction.redactor import (
    MARK,
    Redactor,
    SecretRegistry,
    StreamRedactor,
    find_secrets,
    is_redactable,
)

__all__ = ["MARK", "Redactor", "SecretRegistry", "StreamRedactor", "find_secrets", "is_redactable"]
