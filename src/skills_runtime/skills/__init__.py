"""Skills: found in their sources, called by their mentions, and put into prompts where they cannot pass for more.

Each part imports only those before it: `problems`, `skill`, `standard` and `archives`, `sources`, `library`,
`mentions`; then `catalog`, `activation`, `actions` and `routing`; then `prompt`, `discovery` and `scan`; then
`configured`, `install`, `watch` and `scan_report`; and `evals` and `reports` above all.

The names below are imported when they are first used: most runs have no skills, and settings are slow to import.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skills_runtime.skills.activation import Injected, MissingVariable
    from skills_runtime.skills.configured import bundled_skills, library_from, library_of
    from skills_runtime.skills.library import Library, Rules
    from skills_runtime.skills.problems import Problem, SkillError
    from skills_runtime.skills.prompt import HistoryRule, PromptParts, assemble, exposed_tools
    from skills_runtime.skills.skill import Mention, RunDefinition, Skill, is_name, mentions_in, parse_mention
    from skills_runtime.skills.sources import FilesystemSource, MemorySource, Origin, Report, Row, ScanOptions, Source

_HOMES = {
    "FilesystemSource": "sources",
    "HistoryRule": "prompt",
    "Injected": "activation",
    "Library": "library",
    "MemorySource": "sources",
    "Mention": "skill",
    "MissingVariable": "activation",
    "Origin": "sources",
    "Problem": "problems",
    "PromptParts": "prompt",
    "Report": "sources",
    "Row": "sources",
    "Rules": "library",
    "RunDefinition": "skill",
    "ScanOptions": "sources",
    "Skill": "skill",
    "SkillError": "problems",
    "Source": "sources",
    "assemble": "prompt",
    "bundled_skills": "configured",
    "exposed_tools": "prompt",
    "is_name": "skill",
    "library_from": "configured",
    "library_of": "configured",
    "mentions_in": "skill",
    "parse_mention": "skill",
}

__all__ = [
    "FilesystemSource",
    "HistoryRule",
    "Injected",
    "Library",
    "MemorySource",
    "Mention",
    "MissingVariable",
    "Origin",
    "Problem",
    "PromptParts",
    "Report",
    "Row",
    "Rules",
    "RunDefinition",
    "ScanOptions",
    "Skill",
    "SkillError",
    "Source",
    "assemble",
    "bundled_skills",
    "exposed_tools",
    "is_name",
    "library_from",
    "library_of",
    "mentions_in",
    "parse_mention",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
