"""The environment of the process, and the language that it sets; quick to import."""

import os
from collections.abc import Mapping

from skills_runtime.messages import Language, parse_language

LANGUAGE_VARIABLES = ("SKILLS_RUNTIME_SDK_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
"""The variables that set the language of messages; the first that is not empty counts."""


def process_environ(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a copy of the given environment, or of the process's own."""
    return dict(os.environ if environ is None else environ)


def preferred_language(environ: Mapping[str, str] | None = None) -> Language:
    """Return the language of messages that the user prefers."""
    process = process_environ(environ)
    return parse_language(next(filter(None, map(process.get, LANGUAGE_VARIABLES)), ""))
