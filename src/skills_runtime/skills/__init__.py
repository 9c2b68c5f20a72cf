"""Skills: found in their sources, called by their mentions, and put into prompts where they cannot pass for more.

Each part imports only those before it: `problems`, `skill`, `standard` and `archives`, `sources`, `library`,
`mentions`; then `catalog`, `activation`, `actions` and `routing`; then `prompt`, `discovery` and `scan`; then
`configured`, `install`, `watch` and `scan_report`; and `evals` and `reports` above all.

The names below are imported when they are first used: most runs have no skills, and settings are slow to import.
"""

from typing import TYPE_CHECKING

from skills_runtime.lazy import lazy_names

if TYPE_CHECKING:
    from skills_runtime.skills.actions import (
        RESERVED_PREFIX,
        RUN_ACTION,
        Action,
        EntryPoint,
        InlineMetadata,
        UnusableMetadata,
        action_of,
        command_of,
        directory_digest,
        find_entry_point,
        inline_metadata,
        python_allows,
        read_script,
    )
    from skills_runtime.skills.activation import (
        ASSETS,
        MAX_ARGUMENT_CHARS,
        REFERENCES,
        CurrentSkills,
        ForkedSkills,
        ForkSupport,
        Injected,
        MissingVariable,
        inject_skill,
        missing_variables,
        read_skill_file,
        split_forked,
    )
    from skills_runtime.skills.archives import ArchiveLimits, unpack
    from skills_runtime.skills.catalog import (
        MARK_CHARS,
        catalog_of,
        decode_marks,
        delta_since,
        entries_of,
        is_same_file,
        marks_of,
        tokens_of,
    )
    from skills_runtime.skills.configured import BUNDLED_NAMESPACE, bundled_skills, library_from, library_of, preflight
    from skills_runtime.skills.discovery import TrustStore, is_trusted, project_root, resolve_discovery_paths
    from skills_runtime.skills.library import Library, Rules
    from skills_runtime.skills.mentions import resolve_mentions
    from skills_runtime.skills.problems import Problem, SkillError, failure
    from skills_runtime.skills.prompt import (
        SEARCH_TOOL,
        HistoryRule,
        PromptChoices,
        PromptParts,
        apply_template,
        assemble,
        exposed_tools,
        prompt_choices,
        select_skills,
    )
    from skills_runtime.skills.reports import (
        Explained,
        SkillChange,
        SkillList,
        changes_in,
        check_skills,
        describe,
        explain_routing,
        find_at_path,
        find_by_name,
        library_at,
        list_skills,
    )
    from skills_runtime.skills.routing import SkillIndex, index_skills, route_skills, search_index
    from skills_runtime.skills.scan_report import Issue, ScanReport, build_scan_report, issue_of, jsonable
    from skills_runtime.skills.skill import (
        Mention,
        RunDefinition,
        Skill,
        is_name,
        mentions_in,
        parse_mention,
        people_may_call,
        wants_own_run,
    )
    from skills_runtime.skills.sources import (
        FilesystemSource,
        IndexedSource,
        MemorySource,
        Origin,
        Report,
        Row,
        ScanOptions,
        Source,
    )
    from skills_runtime.skills.sources.filesystem import skill_directories
    from skills_runtime.skills.standard.diagnostics import Diagnostic
    from skills_runtime.skills.standard.directories import InspectedSkill, create_skill, inspect_directory
    from skills_runtime.skills.standard.parse import parse_skill
    from skills_runtime.skills.standard.skill_yaml import RUN_FILE
    from skills_runtime.skills.standard.specification import allowed_tools
    from skills_runtime.skills.watch import watch_skills

__getattr__ = lazy_names(
    __name__,
    {
        "actions": (
            "Action EntryPoint InlineMetadata RESERVED_PREFIX RUN_ACTION UnusableMetadata action_of "
            "command_of directory_digest find_entry_point inline_metadata python_allows read_script"
        ),
        "activation": (
            "ASSETS CurrentSkills ForkSupport ForkedSkills Injected MAX_ARGUMENT_CHARS MissingVariable "
            "REFERENCES inject_skill missing_variables read_skill_file split_forked"
        ),
        "archives": "ArchiveLimits unpack",
        "catalog": "MARK_CHARS catalog_of decode_marks delta_since entries_of is_same_file marks_of tokens_of",
        "configured": "BUNDLED_NAMESPACE bundled_skills library_from library_of preflight",
        "discovery": "TrustStore is_trusted project_root resolve_discovery_paths",
        "library": "Library Rules",
        "mentions": "resolve_mentions",
        "problems": "Problem SkillError failure",
        "prompt": (
            "HistoryRule PromptChoices PromptParts SEARCH_TOOL apply_template assemble exposed_tools "
            "prompt_choices select_skills"
        ),
        "reports": (
            "Explained SkillChange SkillList changes_in check_skills describe explain_routing find_at_path "
            "find_by_name library_at list_skills"
        ),
        "routing": "SkillIndex index_skills route_skills search_index",
        "scan_report": "Issue ScanReport build_scan_report issue_of jsonable",
        "skill": "Mention RunDefinition Skill is_name mentions_in parse_mention people_may_call wants_own_run",
        "sources": "FilesystemSource IndexedSource MemorySource Origin Report Row ScanOptions Source",
        "sources.filesystem": "skill_directories",
        "standard.diagnostics": "Diagnostic",
        "standard.directories": "InspectedSkill create_skill inspect_directory",
        "standard.parse": "parse_skill",
        "standard.skill_yaml": "RUN_FILE",
        "standard.specification": "allowed_tools",
        "watch": "watch_skills",
    },
)

__all__ = [
    "ASSETS",
    "BUNDLED_NAMESPACE",
    "MARK_CHARS",
    "MAX_ARGUMENT_CHARS",
    "REFERENCES",
    "RESERVED_PREFIX",
    "RUN_ACTION",
    "RUN_FILE",
    "SEARCH_TOOL",
    "Action",
    "ArchiveLimits",
    "CurrentSkills",
    "Diagnostic",
    "EntryPoint",
    "Explained",
    "FilesystemSource",
    "ForkSupport",
    "ForkedSkills",
    "HistoryRule",
    "IndexedSource",
    "Injected",
    "InlineMetadata",
    "InspectedSkill",
    "Issue",
    "Library",
    "MemorySource",
    "Mention",
    "MissingVariable",
    "Origin",
    "Problem",
    "PromptChoices",
    "PromptParts",
    "Report",
    "Row",
    "Rules",
    "RunDefinition",
    "ScanOptions",
    "ScanReport",
    "Skill",
    "SkillChange",
    "SkillError",
    "SkillIndex",
    "SkillList",
    "Source",
    "TrustStore",
    "UnusableMetadata",
    "action_of",
    "allowed_tools",
    "apply_template",
    "assemble",
    "build_scan_report",
    "bundled_skills",
    "catalog_of",
    "changes_in",
    "check_skills",
    "command_of",
    "create_skill",
    "decode_marks",
    "delta_since",
    "describe",
    "directory_digest",
    "entries_of",
    "explain_routing",
    "exposed_tools",
    "failure",
    "find_at_path",
    "find_by_name",
    "find_entry_point",
    "index_skills",
    "inject_skill",
    "inline_metadata",
    "inspect_directory",
    "is_name",
    "is_same_file",
    "is_trusted",
    "issue_of",
    "jsonable",
    "library_at",
    "library_from",
    "library_of",
    "list_skills",
    "marks_of",
    "mentions_in",
    "missing_variables",
    "parse_mention",
    "parse_skill",
    "people_may_call",
    "preflight",
    "project_root",
    "prompt_choices",
    "python_allows",
    "read_script",
    "read_skill_file",
    "resolve_discovery_paths",
    "resolve_mentions",
    "route_skills",
    "search_index",
    "select_skills",
    "skill_directories",
    "split_forked",
    "tokens_of",
    "unpack",
    "wants_own_run",
    "watch_skills",
]
