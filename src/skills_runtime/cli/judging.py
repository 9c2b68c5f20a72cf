"""What the rules of a workspace say about a call that nobody makes, as a program that asks is told."""

import msgspec

from skills_runtime.errors import EXIT_CODES, ValidationFailed
from skills_runtime.safety.policy import Allow, Ask, Deny
from skills_runtime.safety.policy_preview import PlannedCall, PolicyPreview

CODES = {Allow: 0, Ask: EXIT_CODES["human_required"], Deny: EXIT_CODES["permission"]}
"""What a program that asks us is told."""


def exit_code(preview: PolicyPreview) -> int:
    """0 where the call may run, and one code each for asking and refusing."""
    return CODES[type(preview.explanation.verdict)]


def parse_call(text: str, origin: str) -> PlannedCall:
    """The call that a JSON text describes."""
    try:
        return msgspec.json.decode(text, type=PlannedCall)
    except msgspec.DecodeError as error:
        raise ValidationFailed(
            f"`{origin}` does not describe a call: {error}", hint='write {"tool": "file_write", "arguments": {…}}'
        ) from None
