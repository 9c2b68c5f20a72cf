"""Secrets stay out of everything a run shows, in the encodings that tools produce and wherever a stream is cut."""

from skills_runtime.safety.redaction.redactor import (
    MARK,
    Redactor,
    SecretRegistry,
    StreamRedactor,
    is_redactable,
    secrets_of,
)

__all__ = ["MARK", "Redactor", "SecretRegistry", "StreamRedactor", "is_redactable", "secrets_of"]
