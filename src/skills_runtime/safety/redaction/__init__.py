"""Secrets stay out of everything a run shows, in every encoding that tools produce and wherever a stream is cut."""

from skills_runtime.safety.redaction.keeper import Keeper
from skills_runtime.safety.redaction.redactor import Redactor
from skills_runtime.safety.redaction.stream import StreamRedactor
from skills_runtime.safety.redaction.text import MARK
from skills_runtime.safety.redaction.values import secrets_of, worth_hiding

__all__ = ["MARK", "Keeper", "Redactor", "StreamRedactor", "secrets_of", "worth_hiding"]
