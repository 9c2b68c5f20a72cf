"""Skills: found in their sources, called by their mentions, and put into prompts where they cannot pass for more."""

from skills_runtime.skills.configured import library_from
from skills_runtime.skills.library import Library, Rules
from skills_runtime.skills.mentions import mentions_in, parse_mention
from skills_runtime.skills.problems import Problem, SkillError
from skills_runtime.skills.prompt.assemble import HistoryRule, PromptParts, assemble, exposed
from skills_runtime.skills.prompt.injection import Injected, MissingVariable
from skills_runtime.skills.skill import Mention, Skill
from skills_runtime.skills.sources import FilesystemSource, MemorySource, Origin, Report, Row, ScanOptions, Source

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
    "ScanOptions",
    "Skill",
    "SkillError",
    "Source",
    "assemble",
    "exposed",
    "library_from",
    "mentions_in",
    "parse_mention",
]
