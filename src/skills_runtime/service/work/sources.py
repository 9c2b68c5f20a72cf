"""The directories of skills that a session uses, as settings.

Pure.
"""

from collections.abc import Sequence
from typing import Any

from skills_runtime.config.skill_models import SkillsSettings
from skills_runtime.skills.bundled import NAMESPACE

SPACE = "session"


def source_settings(sources: Sequence[str], skills: SkillsSettings) -> dict[str, Any]:
    """The settings that add these directories to those of the workspace."""
    if not sources:
        return {}
    names = [f"{SPACE}-{number}" for number in range(1, len(sources) + 1)]
    added = [
        {"id": name, "type": "filesystem", "options": {"root": root}} for name, root in zip(names, sources, strict=True)
    ]
    space = {"id": SPACE, "namespace": NAMESPACE, "sources": names}
    return {
        "skills": {
            "spaces": [*(one.model_dump() for one in skills.spaces), space],
            "sources": [*(one.model_dump() for one in skills.sources), *added],
        }
    }
